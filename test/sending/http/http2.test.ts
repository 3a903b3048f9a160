/** HTTP/2 with a real server of it: where it is spoken, that it is one request at a time, and that nothing of HTTP/1.1's care is lost. */

import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { failureOf } from '@decorum/sending/testing'
import { describe, expect, test } from 'vitest'
import { whenDeadlinePasses } from '../../fetcher/support/clock.ts'
import { DATA, END_STREAM, frame, h2Frames, headers, RST_STREAM } from '../../fetcher/support/h2-frames.ts'
import { type H2Origin, h2Origin } from '../../fetcher/support/h2-origin.ts'
import { page, pageOrder } from '../../fetcher/support/orders.ts'
import { answerOf, rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { agentsOf, ask, polite, testConnections, textOf } from '../../fetcher/support/tools.ts'

const connections = testConnections({ trust: true })
const fresh = (): ReturnType<typeof testConnections> => testConnections({ trust: true })

const why = (result: Awaited<ReturnType<typeof ask>>): string =>
  result.kind === 'unanswered' ? failureOf(result.error, result.phase) : result.kind
const versions = ({ asked }: H2Origin): string[] => asked.map(({ version }) => version)

describe('where the site offers it', () => {
  test('an answer comes back whole, over one connection for all requests of the lane', async () => {
    const site = await h2Origin((request, response) => {
      response.writeHead(203, { 'content-type': 'text/plain', 'x-latin': 'caf\xe9', 'set-cookie': ['a=1', 'b=2'] })
      response.end(`hello ${request.url}`)
    })
    for (let nth = 1; nth <= 20; nth++) {
      const result = await ask(connections, site.origin, { path: `/${nth}?b=%20c` })
      expect(result).toMatchObject({
        kind: 'answered',
        status: 203,
        protocol: 'h2',
        tls: 'TLSv1.3',
        address: '127.0.0.1',
        truncated: '',
      })
      expect(await textOf(result)).toBe(`hello /${nth}?b=%20c`)
      if (result.kind !== 'answered') return
      expect(result.headers.filter(([name]) => name === 'set-cookie')).toEqual([
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ])
      expect(result.headers).toContainEqual(['x-latin', 'caf\xe9'])
      expect(result.timing.tlsMs === undefined).toBe(nth > 1)
    }
    expect(site.sessions).toHaveLength(1)
    expect(versions(site)).toEqual(Array(20).fill('2.0'))
    expect(site.asked[0]?.headers).toMatchObject({
      'user-agent': polite.userAgent,
      ':authority': new URL(site.origin).host,
    })
    expect(Object.keys(site.asked[0]?.headers ?? {})).not.toContain('connection')
  })

  test('the outcome says so, and the agent setting turns it off', async () => {
    const site = await h2Origin((_, response) => void response.end('x'))
    const { outcome } = await page(connections, pageOrder(site.origin, '/'))
    expect(outcome).toMatchObject({ kind: 'fetched', protocol: 'h2', tls: 'TLSv1.3' })
    const [without] = agentsOf({
      agents: JSON.stringify([{ name: 'without', userAgent: 'without/1 (+https://example.com/bot)', http2: false }]),
    }).list
    if (without === undefined) return
    expect(await ask(connections, site.origin, { agent: without })).toMatchObject({ protocol: 'http/1.1' })
    expect(versions(site)).toEqual(['2.0', '1.1'])
  })

  test('a site that offers none is spoken to in HTTP/1.1', async () => {
    const site = await rawOrigin(answerOf(200, {}, 'x').toString('latin1'), { cert: 'good' })
    expect(await ask(connections, site.origin)).toMatchObject({ kind: 'answered', protocol: 'http/1.1' })
  })

  test('HEAD, 304, 204 and an empty body end as they do in HTTP/1.1', async () => {
    const site = await h2Origin((request, response) => {
      const status = Number(request.url.slice(1))
      response.writeHead(status, status === 200 ? { 'content-length': '5000' } : {})
      response.end()
    })
    expect(await ask(connections, site.origin, { path: '/200', method: 'HEAD' })).toMatchObject({
      status: 200,
      truncated: '',
    })
    for (const path of ['/304', '/204', '/404'])
      expect(await ask(connections, site.origin, { path })).toMatchObject({
        status: Number(path.slice(1)),
        truncated: '',
      })
  })
})

describe('one request at a time', () => {
  test('a request that the site refuses (REFUSED_STREAM) is not sent again by itself, and the next one is HTTP/1.1', async () => {
    const own = fresh()
    const site = await h2Origin((request, response) => {
      if (request.httpVersion === '2.0') request.stream.close(7)
      else response.end('x')
    })
    expect(why(await ask(own, site.origin))).toBe('reset')
    expect(versions(site)).toEqual(['2.0'])
    expect(await ask(own, site.origin)).toMatchObject({ kind: 'answered', protocol: 'http/1.1' })
    expect(versions(site)).toEqual(['2.0', '1.1'])
    await expect.poll(() => site.sessions.every(({ destroyed }) => destroyed)).toBe(true)
  })

  test('a site that goes away before it has answered (GOAWAY): no second request, no second connection', async () => {
    const own = fresh()
    const site = await h2Origin((request, response) => {
      if (request.url === '/first') response.end('x')
      else request.stream.session?.goaway(0, 1) // the first stream was the last that it took
    })
    await ask(own, site.origin, { path: '/first' })
    expect(why(await ask(own, site.origin))).toBe('reset')
    expect(site.asked).toHaveLength(2)
    expect(site.connections).toBe(1)
  })

  test('a site that goes away once this answer is done: it is read to its end, and the next request has a new connection', async () => {
    const own = fresh()
    const site = await h2Origin((request, response) => {
      response.writeHead(200)
      response.write('begun ')
      request.stream.session?.goaway(0, request.stream.id)
      setTimeout(() => response.end('and ended'), 50)
    })
    expect(await textOf(await ask(own, site.origin))).toBe('begun and ended')
    expect(await ask(own, site.origin)).toMatchObject({ kind: 'answered', protocol: 'h2', address: '127.0.0.1' })
    expect(site.connections).toBe(2)
    expect(site.most).toBe(1)
  })

  test('a request that was given up is off the wire: its connection is closed, and no answer is waited for', async () => {
    const own = fresh()
    const site = await h2Origin((request, response) => {
      if (request.url === '/silent') return
      response.writeHead(200, { 'content-type': 'image/png' })
      response.write('begun')
    })
    const silent = { path: '/silent', deadlineMs: 300 }
    const isAsked = () => site.asked.length === 1
    expect(why(await whenDeadlinePasses(300, isAsked, () => ask(own, site.origin, silent)))).toBe('timeout')
    await expect.poll(() => site.open).toBe(0)
    let hasHead = false
    const keepBody = () => {
      hasHead = true
      return true
    }
    const drip = { path: '/drip', deadlineMs: 300, keepBody }
    const begun = () => hasHead
    expect(await whenDeadlinePasses(300, begun, () => ask(own, site.origin, drip))).toMatchObject({
      truncated: 'time',
      protocol: 'h2',
    })
    await expect.poll(() => site.open).toBe(0)
    expect(await ask(own, site.origin, { path: '/type', wantsBody: () => false })).toMatchObject({ truncated: 'type' })
    await expect.poll(() => site.open).toBe(0)
  })

  test('nothing leaves when the lease no longer holds in the tick of sending', async () => {
    const site = await h2Origin((_, response) => void response.end('x'))
    const refused = { kind: 'not-sent', why: 'the lease is over' }
    expect(await ask(connections, site.origin, { lastCheck: () => 'the lease is over' })).toMatchObject(refused)
    expect(await ask(connections, site.origin)).toMatchObject({ kind: 'answered' })
    expect(await ask(connections, site.origin, { lastCheck: () => 'the lease is over' })).toMatchObject(refused)
    expect(site.asked).toHaveLength(1)
  })

  test('connecting took long: the lease is asked for again before a frame is sent, and a no is a no', async () => {
    const held: (() => void)[] = []
    const site = await h2Origin((_, response) => void response.end('x'), {
      holdConnections: (go) => void held.push(go),
    })
    let asked = 0
    const confirm = (answer: string | undefined) => () => {
      asked += 1
      return asked % 2 === 1 ? undefined : Promise.resolve(answer) // before the dial the last word is fresh, after it is not
    }
    const refused = ask(connections, site.origin, { confirm: confirm('the site said 429 meanwhile') })
    await expect.poll(() => held.length).toBe(1)
    held.shift()?.()
    expect(await refused).toMatchObject({ kind: 'not-sent', why: 'the site said 429 meanwhile' })
    await expect.poll(() => site.open).toBe(0)
    const granted = ask(connections, site.origin, { confirm: confirm(undefined) })
    await expect.poll(() => held.length).toBe(1)
    held.shift()?.()
    expect(await granted).toMatchObject({ kind: 'answered', protocol: 'h2' })
    expect(asked).toBe(4)
    expect(site.asked).toHaveLength(1)
  })

  test('the guard sees the address: nothing is sent to one that is not opened', async () => {
    const site = await h2Origin((_, response) => void response.end('x'))
    const guarded = testConnections({ trust: true, allow: ['127.0.0.9/32'] })
    const named = testConnections({
      trust: true,
      allow: ['127.0.0.9/32'],
      lookup: async () => [{ address: '127.0.0.1', family: 4 }],
    })
    expect(why(await ask(guarded, site.origin))).toBe('blocked-address')
    expect(why(await ask(named, `https://localhost:${site.port}`))).toBe('blocked-address')
    expect(site.connections).toBe(0)
  })
})

describe('limits', () => {
  test('a body is cut at its cap, and large ones pause the site instead of filling memory', async () => {
    const own = fresh()
    const endless = (_: Http2ServerRequest, response: Http2ServerResponse): void => {
      response.writeHead(200)
      const more = (): void => {
        while (!response.destroyed && response.write('y'.repeat(16_384)));
      }
      response.on('drain', more)
      more()
    }
    // Seen by a socket in front of it: a server of node:http2 that waits to write may never notice that its peer has hung up.
    const site = await h2Origin(endless, { holdConnections: (go) => go() })
    const result = await ask(own, site.origin, { maxBytes: 3_000_000 })
    expect(result).toMatchObject({ kind: 'answered', truncated: 'length', protocol: 'h2' })
    if (result.kind === 'answered') expect(result.body.bytes).toBe(3_000_000)
    expect((await textOf(result)) === 'y'.repeat(3_000_000)).toBe(true)
    if (result.kind === 'answered') await result.body.discard()
    await expect.poll(() => site.open).toBe(0)
  })

  test.each<[string, (request: Parameters<Parameters<typeof h2Origin>[0]>[0]) => void, unknown]>([
    ['a reset in the middle of a body', ({ stream }) => stream.close(2), { truncated: 'disconnect' }],
    [
      'a connection cut in the middle of a body',
      ({ stream }) => stream.session?.socket.destroy(),
      { truncated: 'disconnect' },
    ],
    ['a body shorter than announced', ({ stream }) => stream.end(), { kind: 'unanswered' }],
  ])('%s: what came is kept, or it is no answer', async (_, breakOff, expected) => {
    for (const length of ['100', undefined]) {
      const own = fresh()
      const site = await h2Origin((request, response) => {
        response.writeHead(200, length === undefined ? {} : { 'content-length': length })
        response.write('this much')
        setTimeout(() => breakOff(request), 30)
      })
      const result = await ask(own, site.origin)
      if (length === undefined && (expected as { kind?: string }).kind === 'unanswered') continue // it ends well
      expect(result).toMatchObject(expected as object)
      if (result.kind === 'answered') expect(await textOf(result)).toBe('this much')
    }
  })

  test.each<[string, (request: Http2ServerRequest, response: Http2ServerResponse) => void]>([
    [
      'a flood of 1xx answers',
      ({ stream }) => {
        for (let nth = 0; nth < 200; nth++) stream.additionalHeaders({ ':status': 103, link: '</a>; rel=preload' })
      },
    ],
  ])('%s ends the exchange', async (_, answer) => {
    const own = fresh()
    const site = await h2Origin(answer)
    expect(why(await ask(own, site.origin))).toBe('protocol')
    await expect.poll(() => site.open).toBe(0)
  })

  test('a head of 60 KB is read, and marked', async () => {
    const site = await h2Origin((_, response) => void response.writeHead(200, { 'x-long': 'x'.repeat(60_000) }).end())
    const result = await ask(fresh(), site.origin)
    expect(result).toMatchObject({ kind: 'answered', status: 200, tolerated: ['large-head'] })
  })

  test('fields come in their order with all repeats, as they were sent', async () => {
    const fields: [string, string][] = [
      ['x-b', '1'],
      ['location', '/one'],
      ['x-a', 'caf\xe9'],
      ['location', '/two'],
      ['x-b', '2'],
    ]
    const site = await h2Frames((socket, stream) => void socket.write(headers(stream, '200', fields, END_STREAM)))
    expect(await ask(fresh(), site.origin)).toMatchObject({ headers: fields })
  })

  test.each([
    ['cancelled', 8, '50'],
    ['cancelled, without a length', 8, undefined],
    ['broken off by the site', 2, undefined],
    ['broken off without an error (RFC 9113 §8.1: no END_STREAM)', 0, undefined],
    ['broken off without an error, with a length', 0, '50'],
    ['broken off without an error, at its length', 0, '9'],
  ])('a body that is %s (RST_STREAM) is kept as far as it came, and marked', async (_, code, length) => {
    const site = await h2Frames((socket, stream) => {
      socket.write(headers(stream, '200', length === undefined ? [] : [['content-length', length]]))
      socket.write(frame(DATA, 0, stream, Buffer.from('this much')))
      setTimeout(() => socket.write(frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, code]))), 30)
    })
    const result = await ask(fresh(), site.origin)
    expect(result).toMatchObject({ kind: 'answered', truncated: 'disconnect' })
    expect(await textOf(result)).toBe('this much')
  })

  test('a field whose value holds a line end, or whose name a colon, is not handed on', async () => {
    const fields: [string, string][] = [
      ['x-good', 'kept'],
      ['x-bad', 'a\r\nset-cookie: b'],
      ['x-nul', 'a\0b'],
      ['x:y', 'c'],
    ]
    const site = await h2Frames((socket, stream) => void socket.write(headers(stream, '200', fields, END_STREAM)))
    const result = await ask(fresh(), site.origin)
    expect(result.kind === 'answered' && result.headers).toEqual([['x-good', 'kept']])
  })

  const flood = (socket: TLSSocket): void => {
    while (socket.writable && socket.write(frame(0xfa, 0, 0, Buffer.alloc(16_000))));
  }
  test.each<[string, string, (socket: TLSSocket, stream: number) => unknown]>([
    ['that is a RST_STREAM', 'reset', (to, nth) => to.write(frame(RST_STREAM, 0, nth, Buffer.from([0, 0, 0, 13])))],
    ['of a status below 100', 'reset', (to, nth) => to.write(headers(nth, '042', [], END_STREAM))],
    ['of a status that is none', 'reset', (to, nth) => to.write(headers(nth, '2x0', [], END_STREAM))],
    ['that never goes beyond 1xx', 'timeout', (to, nth) => to.write(headers(nth, '103'))],
    ['of a name in upper case', 'reset', (to, nth) => to.write(headers(nth, '200', [['X-Upper', 'a']], END_STREAM))],
    ['of bytes that are no frames', 'reset', (to) => to.write(Buffer.alloc(40, 0xff))],
    ['before which the connection is cut', 'reset', (to) => to.destroy()],
    ['behind a flood of frames', 'protocol', (to) => flood(to.on('drain', () => flood(to)))],
  ])('an answer %s is no answer', async (_, expected, answer) => {
    const site = await h2Frames(answer)
    const asking = () => ask(fresh(), site.origin, { deadlineMs: 120_000 })
    const isAsked = () => site.requests === 1
    const result = await (expected === 'timeout' ? whenDeadlinePasses(120_000, isAsked, asking) : asking())
    expect([result.kind, why(result)]).toEqual(['unanswered', expected])
    await expect.poll(() => site.open).toBe(0)
    expect(site.requests).toBe(1)
  })

  test('frames between two exchanges are counted: a flood closes the connection, and the site is asked over HTTP/1.1', async () => {
    const own = fresh()
    let idle: TLSSocket | undefined
    const site = await h2Frames((socket, stream) => {
      socket.write(headers(stream, '200', [], END_STREAM))
      idle = socket
    })
    expect(await ask(own, site.origin)).toMatchObject({ kind: 'answered', protocol: 'h2' })
    flood(idle?.on('drain', () => flood(idle as TLSSocket)) as TLSSocket)
    await expect.poll(() => site.open).toBe(0)
    expect((await ask(own, site.origin)).kind, 'which this site does not speak').toBe('unanswered')
    expect(site.requests).toBe(1)
  })

  test('silence over HTTP/2 ends at the deadline, and says nothing against HTTP/2', async () => {
    const own = fresh()
    const site = await h2Origin((request, response) => void (request.url === '/' ? undefined : response.end('x')))
    const isAsked = () => site.asked.length === 1
    const silent = await whenDeadlinePasses(300, isAsked, () => ask(own, site.origin, { deadlineMs: 300 }))
    expect(why(silent)).toBe('timeout')
    expect(await ask(own, site.origin, { path: '/x' })).toMatchObject({ protocol: 'h2' })
  })
})
