/** Answers that llhttp refuses: the second reader takes them over on their connection, and nothing of them gets anywhere else. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { whenDeadlinePasses } from '../../fetcher/support/clock.ts'
import { page, pageOrder } from '../../fetcher/support/orders.ts'
import { rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { ask, testConnections, textOf } from '../../fetcher/support/tools.ts'

const connections = testConnections()
const OK = 'HTTP/1.1 200 OK\r\n'
const FOLDED = `${OK}X-A: b\r\n c\r\n`

async function writeInSteps(socket: Socket, octets: Buffer, step: number): Promise<void> {
  for (let at = 0; at < octets.length && socket.writable; at += step)
    if (!socket.write(octets.subarray(at, at + step)))
      await Promise.race([once(socket, 'drain'), once(socket, 'close')])
}

test('an answer that was read leniently ends its connection; one that was not keeps it', async () => {
  const site = await rawOrigin(
    (socket, { path }) => void socket.write(`${path === '/odd' ? FOLDED : OK}Content-Length: 1\r\n\r\na`),
  )
  expect(await ask(connections, site.origin)).toMatchObject({ tolerated: [] })
  expect(await ask(connections, site.origin, { path: '/odd' })).toMatchObject({ tolerated: ['folded-header'] })
  await expect.poll(() => site.open).toBe(0)
  expect(await ask(connections, site.origin)).toMatchObject({ tolerated: [] })
  expect(site.asked.map(({ connection }) => connection)).toEqual([1, 1, 2])
})

test('nothing behind such an answer is read, whether it comes with it or later', async () => {
  for (const laterMs of [0, 10]) {
    const site = await rawOrigin((socket, _, nth) => {
      const stolen = `${OK}Content-Length: 6\r\n\r\nstolen`
      if (nth > 1) return void socket.write(`${OK}Content-Length: 3\r\n\r\nown`)
      socket.write(`${FOLDED}Content-Length: 1\r\n\r\na${laterMs === 0 ? stolen : ''}`)
      if (laterMs > 0) setTimeout(() => socket.write(stolen), laterMs)
    })
    expect(await textOf(await ask(connections, site.origin))).toBe('a')
    expect(await textOf(await ask(connections, site.origin))).toBe('own')
    expect(site.asked).toHaveLength(2)
  }
})

test('what is left of one answer is no start of the next one', async () => {
  let first: Socket | undefined
  const site = await rawOrigin((socket, _, nth) => {
    first = socket
    socket.write(nth === 1 ? `${OK}Content-Length: 1\r\n\r\na` : `bcd${OK}Content-Length: 3\r\n\r\nown`)
  })
  await ask(connections, site.origin)
  expect(await ask(connections, site.origin)).toMatchObject({ kind: 'unanswered', error: { code: 'HPE_REFUSED' } })
  await expect.poll(() => first?.destroyed).toBe(true)
})

test('a refused answer is one request and its connection is closed', async () => {
  const site = await rawOrigin(`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`)
  expect(await ask(connections, site.origin)).toMatchObject({ kind: 'unanswered', error: { code: 'HPE_REFUSED' } })
  await expect.poll(() => site.open).toBe(0)
  expect(site.asked).toHaveLength(1)
})

test('a fault between chunks: the body goes on where the first reader has stopped, also after the site was paused', async () => {
  const chunk = (size: number, blank: string): Buffer =>
    Buffer.concat([
      Buffer.from(`${size.toString(16)}${blank}\r\n`),
      Buffer.alloc(size, 'abcdefghij'),
      Buffer.from('\r\n'),
    ])
  const octets = Buffer.concat([
    Buffer.from(`${OK}Transfer-Encoding: chunked\r\n\r\n`),
    ...Array.from({ length: 40 }, (_, nth) => chunk(50_000 + nth, nth < 20 ? '' : ' ')),
    Buffer.from('0\r\n\r\n'),
  ])
  for (const keepBody of [true, false])
    for (const step of [octets.length, 7_919]) {
      const site = await rawOrigin((socket) => void writeInSteps(socket, octets, step))
      const result = await ask(connections, site.origin, { maxBytes: 10_000_000, keepBody: () => keepBody })
      expect(result).toMatchObject({ kind: 'answered', truncated: '', tolerated: ['chunk-size-blanks'] })
      if (result.kind !== 'answered') return
      expect(result.body.bytes).toBe(40 * 50_000 + 780)
      const whole = Buffer.concat(Array.from({ length: 40 }, (_, nth) => Buffer.alloc(50_000 + nth, 'abcdefghij')))
      if (keepBody) expect((await textOf(result)) === whole.toString('latin1')).toBe(true)
      await result.body.discard()
    }
})

test('a large body in such an answer is read at the pace of the disk, and whole', async () => {
  const body = Buffer.alloc(5_000_000, 'abcdefghij')
  const site = await rawOrigin((socket) => {
    socket.write(`${FOLDED}Content-Length: ${body.length}\r\n\r\n`)
    socket.write(body)
  })
  const result = await ask(connections, site.origin, { maxBytes: 10_000_000 })
  expect(result).toMatchObject({ truncated: '' })
  expect((await textOf(result)) === body.toString('latin1')).toBe(true)
  if (result.kind === 'answered') await result.body.discard()
})

test('cap, deadline, a break and an unwanted type end it as they end any other answer', async () => {
  const site = await rawOrigin((socket, { path }) => {
    socket.write(`${FOLDED}Content-Length: 100\r\n\r\nabc`)
    if (path === '/cut') setTimeout(() => socket.end(), 20)
    if (path === '/reset') setTimeout(() => socket.resetAndDestroy(), 20)
  })
  expect(await ask(connections, site.origin, { maxBytes: 2 })).toMatchObject({
    truncated: 'length',
    body: { bytes: 2 },
  })
  expect(await ask(connections, site.origin, { path: '/cut' })).toMatchObject({
    truncated: 'disconnect',
    body: { bytes: 3 },
  })
  expect(await ask(connections, site.origin, { path: '/reset' })).toMatchObject({
    truncated: 'disconnect',
    body: { bytes: 3 },
  })
  expect(await ask(connections, site.origin, { wantsBody: () => false })).toMatchObject({ truncated: 'type' })
  expect(await ask(connections, site.origin, { method: 'HEAD' })).toMatchObject({
    truncated: '',
    body: { bytes: 0 },
  })
  await expect.poll(() => site.open).toBe(0)
  let hasHead = false
  const keepBody = (): boolean => {
    hasHead = true
    return true
  }
  const late = await whenDeadlinePasses(
    400,
    () => hasHead,
    () => ask(connections, site.origin, { deadlineMs: 400, keepBody }),
  )
  expect(late).toMatchObject({ truncated: 'time', body: { bytes: 3 } })
  await expect.poll(() => site.open).toBe(0)
})

test('an end in the middle of the head is no answer', async () => {
  const site = await rawOrigin((socket) => void socket.end(`${FOLDED}Content-Le`))
  expect(await ask(connections, site.origin)).toMatchObject({ kind: 'unanswered' })
})

test('closing all connections ends an answer that the second reader reads', async () => {
  const own = testConnections()
  const site = await rawOrigin(`${FOLDED}Content-Length: 100\r\n\r\nabc`)
  let begun: (() => void) | undefined
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve
  })
  const asking = ask(own, site.origin, { keepBody: () => begun?.() === undefined })
  await hasBegun
  await own.close()
  expect(await asking).toMatchObject({ kind: 'answered', truncated: 'disconnect' })
})

test('the outcome of a page names the faults, and keeps of a large head the fields that fit into 16 KiB', async () => {
  const site = await rawOrigin(
    `${OK}X-Long: ${'x'.repeat(20_000)}\r\n${'X-Some: y\r\n'.repeat(3_000)}Content-Type : text/html\r\nContent-Length: 1\r\n\r\na`,
  )
  const { outcome } = await page(connections, pageOrder(site.origin, '/'))
  expect(outcome).toMatchObject({ kind: 'fetched', status: 200, tolerated: ['blank-before-colon', 'large-head'] })
  if (outcome?.kind !== 'fetched') return
  const bytes = outcome.headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0)
  expect(bytes).toBeLessThanOrEqual(16_384)
  expect(bytes).toBeGreaterThan(16_000)
  expect(outcome.headers[0]).toEqual(['X-Some', 'y'])
})

test('the outcome of a redirect and of a request for less name the faults as well', async () => {
  const site = await rawOrigin((socket, { path }) => {
    const [status, location] = path === '/busy' ? ['429 Slow', ''] : ['302 Found', `Location : ${path}/b\r\n`]
    socket.write(`HTTP/1.1 ${status}\r\n${location}X-A: b\r\n c\r\nContent-Length: 0\r\n\r\n`)
  })
  const outcomeOf = async (path: string, over = {}) =>
    (await page(connections, { ...pageOrder(site.origin, path), ...over })).outcome
  const tolerated = ['blank-before-colon', 'folded-header']
  expect(await outcomeOf('/a')).toMatchObject({ kind: 'redirected', to: `${site.origin}/a/b`, tolerated })
  expect(await outcomeOf('/a', { hops: 10 })).toMatchObject({ kind: 'failed', reason: 'too-many-redirects', tolerated })
  expect(await outcomeOf('/a', { request: { redirects: 'report' } })).toMatchObject({ kind: 'fetched', tolerated })
  const busy = await outcomeOf('/busy', { maxAttempts: 1 })
  expect(busy).toMatchObject({ kind: 'failed', reason: 'rate-limited', tolerated: ['folded-header'] })
})

test('version and reason phrase are those of the status line', async () => {
  const lines: [string, string, string][] = [
    ['HTTP/1.0 200 OK', 'http/1.0', 'OK'],
    ['HTTP/1.1 200 Tr\xe8s bien', 'http/1.1', 'Tr\xe8s bien'],
    ['HTTP/1.1 200', 'http/1.1', ''],
    ['HTTP/1.1 103 Early\r\n\r\nHTTP/1.0 200 Alt', 'http/1.0', 'Alt'],
    ['\r\nHTTP/1.0 200 OK', 'http/1.0', 'OK'],
  ]
  for (const [line, protocol, statusText] of lines) {
    const site = await rawOrigin(`${line}\r\nContent-Length: 1\r\n\r\na`)
    expect(await ask(connections, site.origin)).toMatchObject({ status: 200, protocol, statusText, tolerated: [] })
  }
  const inTwo = await rawOrigin((socket) => {
    socket.setNoDelay(true).write('HTTP/1.0 200 All ri')
    setTimeout(() => socket.write('ght\r\nContent-Length: 1\r\n\r\na'), 30)
  })
  expect(await ask(connections, inTwo.origin)).toMatchObject({ protocol: 'http/1.0', statusText: 'All right' })
})
