import { randomBytes } from 'node:crypto'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { FAILURE_REASONS, hopId, MAX_PATH_BYTES, type Outcome } from '@decorum/protocol'
import type { Address } from '@decorum/sending/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { whenDeadlinePasses } from '../support/clock.ts'
import { leaseOf, NOW, page, pageOrder } from '../support/orders.ts'
import { answerOf, rawOrigin } from '../support/raw-origin.ts'
import { nameless, testConnections } from '../support/tools.ts'

const connections = testConnections()
const FENCE = 1_800_000_000_000_001

test('fetched: what the contract says, and the truth of it', async () => {
  const site = await rawOrigin(answerOf(200, { 'content-type': 'text/html' }, 'hello').toString('latin1'))
  const { outcome, load, candidate } = await page(
    connections,
    pageOrder(site.origin, '/a?b', { meta: { depth: 3 }, attempt: 2 }),
  )
  expect(load).toEqual({ kind: 'normal' })
  expect(candidate).toBeUndefined()
  expect(outcome).toMatchObject({
    kind: 'fetched',
    id: 'id-1',
    url: `${site.origin}/a?b`,
    agent: 'decorum',
    at: NOW,
    attempts: 2,
    meta: { depth: 3 },
    status: 200,
    headers: [
      ['content-length', '5'],
      ['content-type', 'text/html'],
    ],
    bytes: 5,
    decodedBytes: 5,
    truncated: '',
    digest: 'sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N',
    address: '127.0.0.1',
    protocol: 'http/1.1',
  })
  if (outcome?.kind !== 'fetched') return
  expect(outcome.startedAt + outcome.ms, 'of one clock with `at`').toBeLessThanOrEqual(NOW + 1)
  expect(outcome.ms).toBeGreaterThan(0)
})

test('fetched over TLS by name: where the time went, phase by phase; a kept connection has none of the first three', async () => {
  const site = await rawOrigin((socket) => void setTimeout(() => socket.write(answerOf(200, {}, 'x')), 30), {
    cert: 'good',
  })
  const lookup = () => new Promise<Address[]>((found) => setTimeout(found, 20, [{ address: '127.0.0.1', family: 4 }]))
  const named = testConnections({ trust: true, lookup })
  const origin = site.origin.replace('127.0.0.1', 'localhost')
  const [first, second] = [await page(named, pageOrder(origin)), await page(named, pageOrder(origin))]
  if (first.outcome?.kind !== 'fetched' || second.outcome?.kind !== 'fetched') throw new Error(JSON.stringify(first))
  const { timing } = first.outcome
  expect(timing).toEqual({
    dnsMs: expect.any(Number),
    connectMs: expect.any(Number),
    tlsMs: expect.any(Number),
    firstByteMs: expect.any(Number),
    totalMs: expect.any(Number),
  })
  const { dnsMs = 0, connectMs = 0, tlsMs = 0, firstByteMs = 0, totalMs = 0 } = timing ?? {}
  expect(dnsMs).toBeGreaterThanOrEqual(19)
  expect(connectMs).toBeGreaterThanOrEqual(0)
  expect(tlsMs).toBeGreaterThanOrEqual(0)
  expect(firstByteMs).toBeGreaterThanOrEqual(29)
  expect(dnsMs + connectMs + tlsMs + firstByteMs).toBeLessThanOrEqual(totalMs + 3) // each is rounded
  expect(first.outcome.ms).toBe(totalMs)
  expect(Object.keys(second.outcome.timing ?? {}).sort()).toEqual(['firstByteMs', 'totalMs'])
})

describe('octets on the wire and decoded', () => {
  // A page that takes long to decode has no such length: here none does, however busy the machine is.
  beforeEach(() => void vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => new AbortController().signal))
  afterEach(() => void vi.restoreAllMocks())

  const TEXT = 'as plain as it gets, again and again. '.repeat(300)
  const [zipped, large] = [gzipSync(TEXT), randomBytes(300_000)]
  const marked = (...tolerated: string[]) => ({ tolerated })
  // oxfmt-ignore
  const cases: [string, Record<string, string>, Buffer, number | undefined, object?][] = [
    ['no coding', {}, Buffer.from(TEXT), TEXT.length],
    ['identity', { 'content-encoding': 'identity' }, Buffer.from(TEXT), TEXT.length],
    ['gzip', { 'content-encoding': 'gzip' }, zipped, TEXT.length],
    ['deflate', { 'content-encoding': 'deflate' }, deflateSync(TEXT), TEXT.length],
    ['br', { 'content-encoding': 'br' }, brotliCompressSync(TEXT), TEXT.length],
    ['zstd', { 'content-encoding': 'zstd' }, zstdCompressSync(TEXT), TEXT.length],
    ['gzip of more than stays in memory', { 'content-encoding': 'gzip' }, gzipSync(large), large.length],
    ['gzip of nothing at all', { 'content-encoding': 'gzip' }, Buffer.alloc(0), 0],
    ['two codings', { 'content-encoding': 'gzip, gzip' }, gzipSync(zipped), TEXT.length],
    ['a coding that is said and not applied', { 'content-encoding': 'compress' }, Buffer.from(TEXT), TEXT.length, marked('coding-unknown')],
    ['a coding that is not read', { 'content-encoding': 'compress' }, Buffer.from([0x1f, 0x9d, 0x90, 0]), undefined],
    ['gzip that is none', { 'content-encoding': 'gzip' }, Buffer.from(TEXT), TEXT.length, marked('coding-misnamed')],
    ['gzip without its checksum', { 'content-encoding': 'gzip' }, zipped.subarray(0, -8), TEXT.length, marked('coding-no-trailer')],
    ['gzip with a wrong checksum', { 'content-encoding': 'gzip' }, Buffer.concat([zipped.subarray(0, -8), Buffer.alloc(8)]), TEXT.length, marked('coding-bad-checksum')],
    ['gzip that breaks off', { 'content-encoding': 'gzip' }, zipped.subarray(0, -9), TEXT.length - 7, { truncated: 'disconnect', ...marked('coding-cut') }],
    ['a bomb', { 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(30_000_000)), undefined],
  ]
  test.each(cases)('%s', async (_, headers, body, decoded, more = {}) => {
    const site = await rawOrigin((socket) => void socket.write(answerOf(200, headers, body)))
    const { outcome } = await page(connections, pageOrder(site.origin))
    expect(outcome).toMatchObject({ kind: 'fetched', bytes: body.length, truncated: '', ...more })
    if (!('tolerated' in more)) expect(outcome).not.toHaveProperty('tolerated')
    expect(outcome?.kind === 'fetched' ? outcome.decodedBytes : Number.NaN).toBe(decoded)
  })

  test('of a body that broke off, what can be read of it', async () => {
    const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${zipped.length}\r\n\r\n`
    const half = zipped.subarray(0, zipped.length - 20)
    const site = await rawOrigin((socket) => void socket.end(Buffer.concat([Buffer.from(head), half])))
    const { outcome } = await page(connections, pageOrder(site.origin))
    expect(outcome).toMatchObject({ kind: 'fetched', bytes: half.length, truncated: 'disconnect' })
    if (outcome?.kind !== 'fetched') return
    expect(outcome.decodedBytes).toBeGreaterThan(0)
    expect(outcome.decodedBytes).toBeLessThan(TEXT.length)
  })
})

test('the request names the agent and asks for nothing that cannot be read; no cookie comes back', async () => {
  const site = await rawOrigin(answerOf(200, { 'set-cookie': 'a=1' }).toString('latin1'))
  await page(connections, pageOrder(site.origin))
  await page(connections, pageOrder(site.origin, '/next'))
  expect(site.asked[1]?.head.split('\r\n')).toEqual([
    'GET /next HTTP/1.1',
    `host: 127.0.0.1:${site.port}`,
    'connection: keep-alive',
    'user-agent: Mozilla/5.0 (compatible; decorum/0.2; +https://example.com/bot)',
    'accept: */*',
    'accept-encoding: gzip, deflate, br, zstd',
    '',
    '',
  ])
})

test.each(
  [100, 101]
    .map((n) => n + 100)
    .concat([204, 206, 300, 304, 305, 306, 400, 401, 404, 410, 418, 451, 500, 502, 504, 599, 999]),
)('status %i is an answer', async (status) => {
  const site = await rawOrigin(answerOf(status).toString('latin1'))
  const { outcome, load } = await page(connections, pageOrder(site.origin))
  expect(outcome).toMatchObject({ kind: 'fetched', status })
  expect(load).toEqual({ kind: 'normal' })
})

test('status 403 is an answer that may be about the crawler: several in a row slow it down', async () => {
  const site = await rawOrigin(answerOf(403).toString('latin1'))
  const { outcome, load } = await page(connections, pageOrder(site.origin))
  expect(outcome).toMatchObject({ kind: 'fetched', status: 403 })
  expect(load).toEqual({ kind: 'turned-away' })
})

describe('429 and 503 close the lane', () => {
  // oxfmt-ignore
  const waits: [string | undefined, number | Date | undefined][] = [
    [undefined, undefined], ['0', undefined], ['1', 1_000], ['120', 120_000], ['-1', undefined], ['1.5', 1_500], ['6s', 6_000],
    ['5, 10', 10_000], ['5\r\nRetry-After: 10', 10_000], [' 5 ', 5_000], ['99999999999999999999', 86_400_000],
    ['Fri, 20 Nov 2026 12:00:30 GMT', new Date('2026-11-20T12:00:30Z')], ['Fri, 31 Dec 9999 23:59:59 GMT', new Date('9999-12-31T23:59:59Z')],
    ['Friday, 20-Nov-26 12:00:30 GMT', new Date('2026-11-20T12:00:30Z')], ['Fri Nov 20 12:00:30 2026', new Date('2026-11-20T12:00:30Z')],
  ]
  test.each(waits)('Retry-After %j asks for %j: ms, or the date as it is', async (value, asked) => {
    const site = await rawOrigin(answerOf(429, value === undefined ? {} : { 'retry-after': value }).toString('latin1'))
    const { outcome, load } = await page(connections, pageOrder(site.origin))
    expect(outcome).toBeUndefined()
    const more =
      asked instanceof Date ? { retryAfterAt: asked.getTime() } : asked === undefined ? {} : { retryAfterMs: asked }
    expect(load).toEqual({ kind: 'asked-for-less', ...more })
  })

  test.each(['1e3', '0x10', 'soon', '120 or so'])('Retry-After %j is not read, and named', async (value) => {
    const site = await rawOrigin(answerOf(429, { 'retry-after': value }).toString('latin1'))
    const { load } = await page(connections, pageOrder(site.origin))
    expect(load).toEqual({ kind: 'asked-for-less', retryAfterUnread: value })
  })

  test.each([
    [429, 'rate-limited'],
    [503, 'server-error'],
  ] as const)('%i ends as %s when the attempts are spent, and still closes the lane', async (status, reason) => {
    const site = await rawOrigin(answerOf(status, { 'retry-after': '7' }).toString('latin1'))
    const early = await page(connections, pageOrder(site.origin, '/', { attempt: 4 }))
    expect(early.outcome).toBeUndefined()
    const { outcome, load } = await page(connections, pageOrder(site.origin, '/', { attempt: 5 }))
    expect(outcome).toMatchObject({ kind: 'failed', reason, status, attempts: 5 })
    expect(load).toEqual({ kind: 'asked-for-less', retryAfterMs: 7_000 })
  })
})

test.each([200, 202, 304, 401, 404, 420, 500, 502, 504, 509, 529])(
  'a Retry-After beside %i is kept',
  async (status) => {
    const site = await rawOrigin(answerOf(status, { 'retry-after': '7' }).toString('latin1'))
    const { outcome, load } = await page(connections, pageOrder(site.origin))
    expect(outcome).toMatchObject({ kind: 'fetched', status })
    expect(load).toEqual({ kind: 'asked-to-wait', retryAfterMs: 7_000 })
  },
)

test('a Retry-After beside 403 is kept, and the request was turned away', async () => {
  const site = await rawOrigin(answerOf(403, { 'retry-after': '7' }).toString('latin1'))
  expect((await page(connections, pageOrder(site.origin))).load).toEqual({ kind: 'turned-away', retryAfterMs: 7_000 })
})

test('a Retry-After beside a redirect delays its target, not the origin; without a target the answer is like any other', async () => {
  const leading = await rawOrigin(answerOf(302, { location: '/next', 'retry-after': '7' }).toString('latin1'))
  const found = await page(connections, pageOrder(leading.origin))
  expect(found).toMatchObject({ load: { kind: 'normal' }, candidateAfter: { retryAfterMs: 7_000 } })
  const request = { redirects: 'report' } as const
  expect(await page(connections, pageOrder(leading.origin, '/', { request }))).toMatchObject({
    load: { kind: 'normal' },
  })
  const leadingNowhere = await rawOrigin(answerOf(302, { 'retry-after': '7' }).toString('latin1'))
  const stays = await page(connections, pageOrder(leadingNowhere.origin))
  expect(stays).toMatchObject({ load: { kind: 'asked-to-wait', retryAfterMs: 7_000 }, outcome: { kind: 'fetched' } })
})

describe('redirects become candidates', () => {
  // oxfmt-ignore
  const targets: [string, string][] = [
    ['/next', 'ORIGIN/next'], ['next?x=1', 'ORIGIN/dir/next?x=1'], ['?q', 'ORIGIN/dir/page?q'], ['//other.example/a', 'http://other.example/a'],
    ['https://Other.Example:443/A#frag', 'https://other.example/A'], ['http://other.example./', 'http://other.example/'],
    ['../up', 'ORIGIN/up'], ['http://a.example/a b', 'http://a.example/a%20b'], ['/caf\xc3\xa9', 'ORIGIN/caf%C3%A9'], ['/caf\xe9', 'ORIGIN/caf%E9'], ['/?q=\xe9\xff', 'ORIGIN/?q=%E9%FF'],
    ['http://\xc3\xa9.example/', 'http://xn--9ca.example/'], ['http://2130706433/', 'http://127.0.0.1/'], ['./#top', 'ORIGIN/dir/'],
  ]
  test.each(targets)('Location %j leads to %s', async (location, to) => {
    const site = await rawOrigin(
      (socket) =>
        void socket.write(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`, 'latin1'),
    )
    const { outcome, candidate, load } = await page(
      connections,
      pageOrder(site.origin, '/dir/page', { fence: FENCE, priority: 'high', expiresAt: 5, meta: { a: 1 } }),
    )
    const url = to.replace('ORIGIN', site.origin)
    const isElsewhere = new URL(url).hostname !== '127.0.0.1'
    expect(outcome).toMatchObject({ kind: 'redirected', status: 302, to: url, candidate: hopId('id-1', 0, FENCE) })
    expect(candidate).toEqual({
      id: hopId('id-1', 0, FENCE),
      url,
      agent: 'decorum',
      hops: 1,
      priority: 'high',
      expiresAt: 5,
      meta: { a: 1 },
      ...(isElsewhere ? { from: '127.0.0.1' } : {}),
    })
    expect(load).toEqual({ kind: 'normal' })
  })

  test.each([
    'ftp://a.example/',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'data:,x',
    'http://',
    'http://a..b/',
    'http://user:pw@a.example/',
    `http://a.example/${'x'.repeat(MAX_PATH_BYTES)}`,
    'mailto:a@b.c',
    'ws://a.example/',
  ])('Location %s ends as bad-redirect', async (location) => {
    const site = await rawOrigin(answerOf(301, { location }).toString('latin1'))
    const { outcome } = await page(connections, pageOrder(site.origin))
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'bad-redirect', status: 301 })
    expect(JSON.stringify(outcome)).not.toContain('pw@')
  })

  test('two Locations that differ are bad, two that agree are one', async () => {
    const site = await rawOrigin(
      (socket, { path }) =>
        void socket.write(`HTTP/1.1 302 F\r\nLocation: /a\r\nLocation: /${path.at(-1)}\r\nContent-Length: 0\r\n\r\n`),
    )
    expect((await page(connections, pageOrder(site.origin, '/to/b'))).outcome).toMatchObject({
      kind: 'failed',
      reason: 'bad-redirect',
    })
    expect((await page(connections, pageOrder(site.origin, '/to/a'))).outcome).toMatchObject({ kind: 'redirected' })
  })

  test.each([301, 302, 303, 307, 308])('%i without a Location is an answer like any other', async (status) => {
    const site = await rawOrigin(answerOf(status).toString('latin1'))
    expect((await page(connections, pageOrder(site.origin))).outcome).toMatchObject({ kind: 'fetched', status })
  })

  test.each(['/a?b=%C3%A9', '/a?b=é', '/a?b=%C3%A9#top', '/x/../a?b=%C3%A9', '?b=%C3%A9'])(
    'a redirect to itself, as %s, ends at once and says so',
    async (location) => {
      const site = await rawOrigin(
        `HTTP/1.1 302 F\r\nLocation: ${Buffer.from(location).toString('latin1')}\r\nContent-Length: 0\r\n\r\n`,
      )
      const { outcome, candidate } = await page(connections, pageOrder(site.origin, '/a?b=%C3%A9'))
      expect(outcome).toMatchObject({
        kind: 'failed',
        reason: 'too-many-redirects',
        status: 302,
        detail: 'it redirects to itself',
      })
      expect(candidate).toBeUndefined()
    },
  )

  test('one to the same path of another origin, or with another query, is a redirect like any', async () => {
    for (const location of ['http://b.example/a', '/a?b', '/A', '/a/']) {
      const site = await rawOrigin(answerOf(301, { location }).toString('latin1'))
      const { outcome } = await page(connections, pageOrder(site.origin, '/a'))
      expect(outcome, location).toMatchObject({ kind: 'redirected' })
    }
  })

  test('the tenth hop is the last', async () => {
    const site = await rawOrigin(answerOf(302, { location: '/again' }).toString('latin1'))
    const tenth = await page(connections, pageOrder(site.origin, '/', { hops: 9, id: hopId('x', 8, FENCE) }))
    expect(tenth.outcome).toMatchObject({ kind: 'redirected', candidate: expect.stringMatching(/^x~10~/) })
    const { outcome, candidate } = await page(connections, pageOrder(site.origin, '/', { hops: 10, id: 'x~10' }))
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'too-many-redirects', status: 302 })
    expect(candidate).toBeUndefined()
  })
})

describe('each reason of a failure can be had', () => {
  const name = (addresses: Address[] | Error) =>
    testConnections({ lookup: async () => (addresses instanceof Error ? Promise.reject(addresses) : addresses) })
  const coded = (code: string) => Object.assign(new Error(code), { code })
  const raw = async (bytes: string) => (await rawOrigin((socket) => void socket.end(bytes, 'latin1'))).origin
  const trusting = testConnections({ trust: true })
  const last = (over = {}) => ({ attempt: 5, ...over })

  const cases: Record<string, () => Promise<Outcome | undefined>> = {
    dns: async () => (await page(name(coded('EAI_AGAIN')), pageOrder('http://a.example', '/', last()))).outcome,
    connect: async () => {
      const site = await rawOrigin('')
      await site.close()
      return (await page(connections, pageOrder(site.origin, '/', last()))).outcome
    },
    tls: async () => {
      const site = await rawOrigin(answerOf(200).toString('latin1'), { cert: 'wrong-host' })
      return (await page(trusting, pageOrder(site.origin, '/', last()))).outcome
    },
    timeout: async () => {
      const site = await rawOrigin(() => {})
      const asking = () => page(connections, pageOrder(site.origin, '/', last()), { lease: leaseOf(150) })
      return (await whenDeadlinePasses(150, () => site.asked.length === 1, asking)).outcome
    },
    reset: async () => {
      const site = await rawOrigin((socket) => void socket.resetAndDestroy())
      return (await page(connections, pageOrder(site.origin, '/', last()))).outcome
    },
    protocol: async () =>
      (await page(connections, pageOrder(await raw('SSH-2.0-OpenSSH_9.2\r\n'), '/', last()))).outcome,
    'too-many-redirects': async () => {
      const site = await rawOrigin(answerOf(302, { location: '/' }).toString('latin1'))
      return (await page(connections, pageOrder(site.origin, '/', { hops: 10 }))).outcome
    },
    'bad-redirect': async () => {
      const site = await rawOrigin(answerOf(302, { location: 'x:' }).toString('latin1'))
      return (await page(connections, pageOrder(site.origin))).outcome
    },
    'blocked-address': async () =>
      (await page(name([{ address: '10.0.0.1', family: 4 }]), pageOrder('http://a.example'))).outcome,
    'blocked-port': async () => (await page(connections, pageOrder('http://127.0.0.1:25'))).outcome,
    'rate-limited': async () => {
      const site = await rawOrigin(answerOf(429).toString('latin1'))
      return (await page(connections, pageOrder(site.origin, '/', last()))).outcome
    },
    'server-error': async () => {
      const site = await rawOrigin(answerOf(503).toString('latin1'))
      return (await page(connections, pageOrder(site.origin, '/', last()))).outcome
    },
  }
  test.each(Object.keys(cases))('%s', async (reason) => {
    const outcome = await cases[reason]?.()
    expect(outcome).toMatchObject({ kind: 'failed', reason })
    if (outcome?.kind === 'failed') expect(outcome.detail.length).toBeGreaterThan(5)
  })

  test('the list is closed: what is not here is said by the gateway alone (test/gateway/unit/decide.test.ts)', () => {
    expect([...Object.keys(cases), 'lease-expired'].sort()).toEqual([...FAILURE_REASONS].sort())
  })

  test('a network failure is tried again through the lane until the attempts are spent', async () => {
    const site = await rawOrigin((socket) => void socket.resetAndDestroy())
    const first = await page(connections, pageOrder(site.origin, '/', { attempt: 1 }))
    expect(first).toMatchObject({ load: { kind: 'no-answer' }, what: 'reset' })
    expect(first.outcome).toBeUndefined()
    expect(site.asked.length).toBe(1) // undici itself tried once
  })

  test('a name that does not exist is dns, tried again', async () => {
    const first = await page(name(coded('ENOTFOUND')), pageOrder('http://a.example'))
    expect(first).toMatchObject({ load: { kind: 'no-answer' }, what: 'nxdomain' })
    expect((await page(name(coded('ENOTFOUND')), pageOrder('http://a.example', '/', last()))).outcome).toMatchObject({
      reason: 'dns',
    })
  })

  test('blocked addresses and ports end at the first attempt and do not speak against the site', async () => {
    expect(await page(connections, pageOrder('http://127.0.0.1:25', '/', { attempt: 1 }))).toMatchObject({
      load: { kind: 'normal' },
      outcome: { kind: 'failed' },
    })
  })

  test('an agent without contact is refused, not failed', async () => {
    const { outcome, load } = await page(name([{ address: '203.0.114.1', family: 4 }]), pageOrder('http://a.example'), {
      agent: nameless,
    })
    expect(outcome).toMatchObject({ kind: 'refused', reason: 'no-contact' })
    expect(load).toEqual({ kind: 'normal' })
  })

  test.each(['expired', 'wrong-host', 'good'])(
    'a certificate that is %s and not trusted is refused, whatever NODE_TLS_REJECT_UNAUTHORIZED says',
    async (cert) => {
      const site = await rawOrigin(answerOf(200).toString('latin1'), { cert })
      const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
      try {
        expect((await page(connections, pageOrder(site.origin, '/', last()))).outcome).toMatchObject({
          kind: 'failed',
          reason: 'tls',
        })
      } finally {
        if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
        else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
      }
      expect(site.asked.length).toBe(0)
    },
  )

  test('a trusted certificate opens the way; the outcome says over what', async () => {
    const site = await rawOrigin(answerOf(200, {}, 'secret').toString('latin1'), { cert: 'good' })
    expect((await page(trusting, pageOrder(site.origin))).outcome).toMatchObject({
      kind: 'fetched',
      bytes: 6,
      tls: 'TLSv1.3',
      protocol: 'http/1.1',
    })
  })
})

test('not sent: the URL stays, the site is not blamed', async () => {
  const site = await rawOrigin(answerOf(200).toString('latin1'))
  const lease = { ...leaseOf(), lastCheck: () => 'the lease is older than 5000 ms' }
  const result = await page(connections, pageOrder(site.origin), { lease })
  expect(result).toMatchObject({ load: { kind: 'normal' }, what: 'not-sent' })
  expect(result.outcome).toBeUndefined()
  expect(site.asked.length).toBe(0)
})

test('a sink that fails costs the reference, not the outcome', async () => {
  const site = await rawOrigin(answerOf(200, {}, 'x').toString('latin1'))
  const errors: unknown[] = []
  const sink = { keepsBodies: true, store: async () => Promise.reject(new Error('disk full')), close: async () => {} }
  const { outcome } = await page(connections, pageOrder(site.origin), {
    sink,
    stats: { sinkFailed: (error) => errors.push(error) },
  })
  expect(outcome).toMatchObject({ kind: 'fetched', bytes: 1 })
  expect(outcome).not.toHaveProperty('archive')
  expect(errors).toHaveLength(1)
})
