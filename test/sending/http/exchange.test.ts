import { type ExchangeRequest, failureOf } from '@decorum/sending/testing'
import { expect, test } from 'vitest'
import { onStoppedClock, whenDeadlinePasses } from '../../fetcher/support/clock.ts'
import { answerOf, rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { ask, polite, testConnections, textOf } from '../../fetcher/support/tools.ts'

const connections = testConnections()

test('an answer comes back whole: status, headers as received, body, address, timing', async () => {
  const site = await rawOrigin(
    `HTTP/1.1 203 Sort Of\r\nX-MiXed: Caf\xe9\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 5\r\n\r\nhello`,
  )
  const result = await ask(connections, site.origin, { path: '/a?b=%20c' })
  expect(result).toMatchObject({
    kind: 'answered',
    status: 203,
    statusText: 'Sort Of',
    truncated: '',
    address: '127.0.0.1',
  })
  if (result.kind !== 'answered') return
  expect(result.headers).toEqual([
    ['X-MiXed', 'Caf\xe9'],
    ['Set-Cookie', 'a=1'],
    ['Set-Cookie', 'b=2'],
    ['Content-Length', '5'],
  ])
  expect(await textOf(result)).toBe('hello')
  expect(result.body.bytes).toBe(5)
  expect(result.timing.connectMs).toBeGreaterThan(0)
  expect(result.timing.firstByteMs).toBeGreaterThan(0)
  expect(result.timing.dnsMs).toBeUndefined()
  expect(site.asked[0]?.head).toMatch(
    /^GET \/a\?b=%20c HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\nconnection: keep-alive\r\nuser-agent: .*decorum.*\r\n\r\n$/,
  )
})

test('the lane keeps its connection; the second visit has no connect phase', async () => {
  const site = await rawOrigin(answerOf(200, {}, 'x').toString('latin1'))
  await ask(connections, site.origin)
  const second = await ask(connections, site.origin)
  expect(site.connections).toBe(1)
  expect(second).toMatchObject({ kind: 'answered', address: '127.0.0.1' })
  expect(second.timing.connectMs).toBeUndefined()
})

test('a connection that ended is forgotten: the next visit makes its own', async () => {
  const site = await rawOrigin((socket) => void socket.end(answerOf(200, { connection: 'close' }, 'x')))
  for (let visit = 1; visit <= 3; visit++) {
    const result = await ask(connections, site.origin)
    expect(result).toMatchObject({ kind: 'answered', address: '127.0.0.1' })
    expect(result.timing.connectMs).toBeGreaterThan(0)
    await expect.poll(() => site.open).toBe(0)
    expect(site.connections).toBe(visit)
  }
})

test('once all connections are closed nothing is sent any more', async () => {
  const site = await rawOrigin(answerOf(200, {}, 'x').toString('latin1'))
  const own = testConnections()
  await ask(own, site.origin)
  await own.close()
  await expect.poll(() => site.open).toBe(0)
  for (const origin of [site.origin, site.origin.replace('127.0.0.1', '127.0.0.2')])
    expect(await ask(own, origin)).toMatchObject({ kind: 'unanswered' })
  expect(site.connections).toBe(1)
})

test('a body longer than the cap is cut there, marked, and the socket is gone', async () => {
  const site = await rawOrigin((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const flood = () => {
      while (socket.writable && socket.write('y'.repeat(16_384)));
    }
    socket.on('drain', flood)
    flood()
  })
  const result = await ask(connections, site.origin, { maxBytes: 100_000 })
  expect(result).toMatchObject({ kind: 'answered', truncated: 'length' })
  if (result.kind === 'answered') expect(result.body.bytes).toBe(100_000)
  expect(await textOf(result)).toBe('y'.repeat(100_000))
  await expect.poll(() => site.open).toBe(0)
})

test('a body of exactly the cap is whole', async () => {
  const site = await rawOrigin(answerOf(200, {}, 'z'.repeat(1_000)).toString('latin1'))
  expect(await ask(connections, site.origin, { maxBytes: 1_000 })).toMatchObject({ truncated: '' })
})

test('a large body continues in a temporary file and reads back the same', async () => {
  const body = Buffer.alloc(3_000_000, 'abcdefghij')
  const site = await rawOrigin((socket) => void socket.write(answerOf(200, {}, body)))
  const result = await ask(connections, site.origin, { maxBytes: 10_000_000 })
  if (result.kind !== 'answered') throw new Error(JSON.stringify(result))
  expect(result.body.inMemory()).toBeUndefined()
  expect((await textOf(result)) === body.toString('latin1')).toBe(true)
  expect((await result.body.digest()).length).toBe(20)
  await result.body.discard()
})

test('nothing leaves when the lease no longer holds in the tick of sending', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const result = await ask(connections, site.origin, { lastCheck: () => 'the lease is over' })
  expect(result).toMatchObject({ kind: 'not-sent', why: 'the lease is over' })
  expect((await ask(connections, site.origin)).kind).toBe('answered')
  expect(site.asked.length).toBe(1)
})

test('a request that is refused before any byte (bad header value) is a protocol failure, not a throw', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const result = await ask(connections, site.origin, { headers: ['user-agent', 'a\r\nb: c'] })
  expect(result.kind).toBe('unanswered')
  expect(site.asked.length).toBe(0)
})

test('an exchange that this side ends has ended once its connection is closed, and not when that was decided', async () => {
  const silent = await rawOrigin(() => {})
  const talking = await rawOrigin((socket) => void socket.write(answerOf(200, {}, 'x'.repeat(1_000)).subarray(0, -1)))
  const early: [origin: string, over: Partial<ExchangeRequest>, kind: string][] = [
    [talking.origin, { maxBytes: 10 }, 'answered'],
    [talking.origin, { wantsBody: () => false }, 'answered'],
    [talking.origin, {}, 'answered'],
    [silent.origin, {}, 'unanswered'],
  ]
  for (const [origin, over, kind] of early)
    await onStoppedClock(async (pass) => {
      const way = testConnections().lane(polite, origin)
      const dispatch = way.dispatch.bind(way)
      let closedAt = 0
      way.dispatch = (options, handler) => {
        const start = handler.onRequestStart?.bind(handler)
        handler.onRequestStart = (controller, context) => {
          const abort = (reason: Error): void => {
            pass(40) // the process is kept from running before it can close the connection
            controller.abort(reason)
            closedAt = performance.now()
          }
          start?.({ abort } as typeof controller, context)
        }
        dispatch(options, handler)
      }
      const begun = new Set<string>()
      const asked = ask(connections, origin, { way, deadlineMs: 400, keepBody: () => !!begun.add('body'), ...over })
      await expect.poll(() => closedAt > 0 || begun.size + silent.asked.length > 0).toBe(true)
      if (closedAt === 0) pass(400)
      const result = await asked
      expect(result.kind).toBe(kind)
      expect(closedAt).toBeGreaterThan(0)
      expect(result.endedAt).toBe(closedAt)
    })
})

test('silence in every phase ends at the deadline', async () => {
  const silent = await rawOrigin(() => {})
  const dripping = await rawOrigin((socket) => {
    const timer = setInterval(() => socket.write('x'), 20)
    socket.on('close', () => clearInterval(timer))
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n')
  })
  const headDrip = await rawOrigin((socket) => {
    const timer = setInterval(() => socket.write('x-a: b\r\n'), 20)
    socket.on('close', () => clearInterval(timer))
    socket.write('HTTP/1.1 200 OK\r\n')
  })
  const begun = new Set<string>()
  const noTls = await rawOrigin(() => {}, {
    onConnection: (socket) => void socket.once('data', () => begun.add('tls')),
  }) // accepts TCP, never speaks TLS
  const slowName = testConnections({ lookup: () => new Promise(() => void begun.add('name')) })
  const keepBody = () => !!begun.add('body')
  const isUnderWay = () => silent.asked.length + headDrip.asked.length + begun.size === 5
  const [a, b, c, d, e] = await whenDeadlinePasses(400, isUnderWay, () =>
    Promise.all([
      ask(connections, silent.origin, { deadlineMs: 400 }),
      ask(connections, dripping.origin, { deadlineMs: 400, keepBody }),
      ask(connections, headDrip.origin, { deadlineMs: 400 }),
      ask(connections, noTls.origin.replace('http:', 'https:'), { deadlineMs: 400 }),
      ask(slowName, 'http://slow.example', { deadlineMs: 400 }),
    ]),
  )
  const reasons = [a, c, d, e].map((result) =>
    result.kind === 'unanswered' ? failureOf(result.error, result.phase) : result.kind,
  )
  expect(reasons).toEqual(['timeout', 'timeout', 'tls', 'dns'])
  expect(b).toMatchObject({ kind: 'answered', truncated: 'time' })
  await expect.poll(() => silent.open + dripping.open + headDrip.open + noTls.open).toBe(0)
})

test('an attempt that hung does not hold up the next visit of the lane', async () => {
  let hang = true
  const site = await rawOrigin((socket) => void (hang ? undefined : socket.write(answerOf(200))))
  const isAsked = () => site.asked.length === 1
  const hung = await whenDeadlinePasses(150, isAsked, () => ask(connections, site.origin, { deadlineMs: 150 }))
  expect(hung.kind).toBe('unanswered')
  hang = false
  expect((await ask(connections, site.origin)).kind).toBe('answered')
  expect(site.asked.length).toBe(2)
})

test('two agents of one origin have a connection each', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const other = { ...polite, key: 'other', name: 'other' }
  await Promise.all([ask(connections, site.origin), ask(connections, site.origin, { agent: other })])
  expect(site.connections).toBe(2)
})
