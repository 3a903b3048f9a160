import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { addressGuard } from '@decorum/politeness/admission'
import { systemClock } from '@decorum/protocol'
import { judge, parseRobots, policies, ROBOTS_MAX_BYTES, type RobotsEvent, step, unknownOrigin } from '@decorum/robots'
import { type Address, freshForMs, openConnections } from '@decorum/sending/testing'
import { describe, expect, test } from 'vitest'
import { onStoppedClock, whenDeadlinePasses } from '../../fetcher/support/clock.ts'
import { connectProxy } from '../../fetcher/support/connect-proxy.ts'
import { leaseOf, NOW, robots } from '../../fetcher/support/orders.ts'
import { type Asked, answerOf, type RawOrigin, rawOrigin } from '../../fetcher/support/raw-origin.ts'
import { agentsOf, nameless, testConnections } from '../../fetcher/support/tools.ts'

const connections = testConnections()
const RULES = 'User-agent: *\nDisallow: /private\n'
const serve = (status: number, headers: Record<string, string> = {}, body: string | Buffer = '') =>
  rawOrigin((socket) => void socket.write(answerOf(status, headers, body)))
const text = (rules: Uint8Array | undefined): string | undefined => rules && Buffer.from(rules).toString('latin1')

test('200: the rules, their hash, validators and freshness', async () => {
  const site = await serve(
    200,
    { etag: '"v1"', 'last-modified': 'Fri, 20 Nov 2026 10:00:00 GMT', 'cache-control': 'max-age=600', age: '60' },
    RULES,
  )
  const { event, rules, bodyBytes } = await robots(connections, site.origin)
  expect(text(rules)).toBe(RULES)
  expect(bodyBytes).toBe(RULES.length)
  expect(event).toEqual({
    kind: 'answered',
    status: 200,
    jitter: 0.5,
    hash: expect.stringMatching(/^[0-9a-f]{32}$/),
    etag: '"v1"',
    lastModified: 'Fri, 20 Nov 2026 10:00:00 GMT',
    freshForMs: 540_000,
  })
  expect(site.asked[0]?.head).toMatch(/^GET \/robots\.txt HTTP\/1\.1\r\n/)
  expect(site.asked[0]?.head).not.toMatch(/if-none-match/i)
})

test('a refresh names what is known; 304 renews it', async () => {
  const site = await rawOrigin(
    (socket, { head }) =>
      void socket.write(
        /if-none-match: "v1"\r\nif-modified-since: then/.test(head)
          ? answerOf(304, { 'cache-control': 'max-age=900' })
          : answerOf(200, { etag: '"v1"', 'last-modified': 'then' }, RULES),
      ),
  )
  const first = await robots(connections, site.origin)
  if (first.event === undefined) throw new Error('no event')
  const state = step(unknownOrigin, first.event, NOW)
  const { event, rules } = await robots(connections, site.origin, { state })
  expect(event).toEqual({ kind: 'answered', status: 304, jitter: 0.5, freshForMs: 900_000 })
  expect(rules).toBeUndefined()
  if (event === undefined) return
  expect(step(state, event, NOW + 1_000).copy).toMatchObject({ hash: state.copy?.hash, at: NOW + 1_000 })
})

describe('gzip that no Content-Encoding names', () => {
  const packed = gzipSync(RULES)
  test('is kept as it came, without its trailer too, for its readers to unpack', async () => {
    for (const body of [packed, packed.subarray(0, -8)]) {
      const site = await serve(200, { 'content-type': 'text/plain' }, body)
      const { event, rules } = await robots(connections, site.origin)
      expect(event).toMatchObject({ kind: 'answered', status: 200 })
      expect(body.equals(rules as Uint8Array)).toBe(true)
      expect(parseRobots(rules as Uint8Array).isAllowed('/private/x', 'a')).toBe(false)
    }
  })
  test('is packed once more where one coding is named of two', async () => {
    const site = await serve(200, { 'content-encoding': 'gzip' }, gzipSync(packed))
    const { rules } = await robots(connections, site.origin)
    expect(parseRobots(rules as Uint8Array).isAllowed('/private/x', 'a')).toBe(false)
  })
  test('has failed when its end is missing: the rule that forbids may stand there', async () => {
    const site = await serve(200, {}, packed.subarray(0, -12))
    expect((await robots(connections, site.origin)).event).toMatchObject({ kind: 'unanswered', reason: 'decoding' })
  })
})

test('a 304 that nobody asked for is no answer', async () => {
  const site = await serve(304)
  expect((await robots(connections, site.origin)).event).toMatchObject({ kind: 'unanswered', reason: 'protocol' })
})

test.each([201, 204, 206, 400, 401, 403, 404, 410, 429, 500, 502, 503, 504, 600, 999])(
  'status %i is reported as it is',
  async (status) => {
    const site = await serve(status, { 'retry-after': '30' })
    const { event } = await robots(connections, site.origin)
    expect(event).toMatchObject({ kind: 'answered', status, retryAfterMs: 30_000 })
  },
)

test('the date in a Retry-After of a robots.txt is reported as it is; one that is past closes no lane', async () => {
  const dates = ['Fri, 20 Nov 2099 12:00:00 GMT', 'Fri, 20 Nov 2020 12:00:00 GMT']
  for (const [n, date] of dates.entries()) {
    const site = await serve(503, { 'retry-after': date })
    const { event, load } = await robots(connections, site.origin)
    expect(event).toMatchObject({ kind: 'answered', retryAfterAt: Date.parse(date) })
    expect(load).toMatchObject(n === 0 ? { retryAfterAt: Date.parse(date) } : { kind: 'normal' })
  }
})

describe('redirects', () => {
  const chain = (hops: number): Promise<RawOrigin> =>
    rawOrigin((socket, { path }) => {
      const n = path === '/robots.txt' ? 0 : Number(path.slice(2))
      socket.write(n < hops ? answerOf(301, { location: `/h${n + 1}` }) : answerOf(200, {}, RULES))
    })

  test('five are followed, the sixth is one too many', async () => {
    const five = await chain(5)
    expect(text((await robots(connections, five.origin)).rules)).toBe(RULES)
    const six = await chain(6)
    expect((await robots(connections, six.origin)).event).toMatchObject({
      kind: 'unanswered',
      reason: 'too-many-redirects',
    })
    expect(six.asked.length).toBe(6) // five redirects followed: the request and five hops
  })

  test('across origins, on a connection of its own, without the validators of the first', async () => {
    const other = await serve(200, {}, RULES)
    const site = await serve(308, { location: `${other.origin}/elsewhere.txt` })
    const state = step(unknownOrigin, { kind: 'answered', status: 200, hash: 'x', etag: '"mine"', jitter: 0 }, NOW)
    const { event, rules } = await robots(connections, site.origin, { state })
    expect(text(rules)).toBe(RULES)
    expect(event).toMatchObject({ status: 200 })
    expect(site.asked[0]?.head).toContain('if-none-match: "mine"')
    expect(other.asked[0]?.head).not.toContain('if-none-match')
    await expect.poll(() => other.open).toBe(0)
  })

  test.each([
    ['to itself', 'redirect-loop', () => '/robots.txt'],
    ['to another scheme', 'blocked-scheme', () => 'ftp://127.0.0.1/robots.txt'],
    ['to a script', 'blocked-scheme', () => 'javascript:1'],
    ['to a guarded address', 'blocked-hop', () => 'http://10.0.0.1/robots.txt'],
    ['to the metadata service', 'blocked-hop', () => 'http://169.254.169.254/latest/'],
    ['to a refused port', 'blocked-hop', (port: number) => `http://127.0.0.${port % 200}:25/robots.txt`],
    ['to nonsense', 'protocol', () => 'http://'],
    ['with user info', 'protocol', () => 'http://u:p@127.0.0.1/robots.txt'],
  ] as const)('%s: %s', async (_, reason, location) => {
    const site = await rawOrigin((socket) => void socket.write(answerOf(302, { location: location(7) })))
    const { event, rules } = await robots(connections, site.origin)
    expect(event).toMatchObject({ kind: 'unanswered', reason })
    expect(rules).toBeUndefined()
    expect(site.asked.length).toBe(1)
  })

  test.each(['another origin', 'the same origin'])(
    'the validators of a file found at %s are not kept: the URL that is asked next never sent them',
    async (where) => {
      const validators = { etag: '"v1"', 'last-modified': 'Fri, 20 Nov 2026 10:00:00 GMT' }
      const other = await serve(200, validators, RULES)
      const base = where === 'another origin' ? other.origin : ''
      const site = await rawOrigin((socket, { path }) => {
        const isMoved = path === '/robots.txt'
        socket.write(isMoved ? answerOf(301, { location: `${base}/rules.txt` }) : answerOf(200, validators, RULES))
      })
      const { event, rules } = await robots(connections, site.origin)
      expect(text(rules)).toBe(RULES)
      expect(event).not.toHaveProperty('etag')
      expect(event).not.toHaveProperty('lastModified')
    },
  )

  test('a 304 of a hop confirms nothing: its request was not conditional', async () => {
    const state = step(unknownOrigin, { kind: 'answered', status: 200, hash: 'x', etag: '"mine"', jitter: 0 }, NOW)
    const other = await serve(304)
    const site = await serve(301, { location: `${other.origin}/robots.txt` })
    const within = await rawOrigin(
      (socket, { path }) =>
        void socket.write(path === '/robots.txt' ? answerOf(301, { location: '/r' }) : answerOf(304)),
    )
    for (const { origin } of [site, within])
      expect((await robots(connections, origin, { state })).event).toMatchObject({ reason: 'protocol' })
  })

  test('a hop into an origin that is blocked, or to a URL that is forbidden there, is not made', async () => {
    const other = await serve(200, {}, RULES)
    const site = await serve(301, { location: `${other.origin}/private/x` })
    const asked: string[] = []
    const forbidsHop = async (origin: string, path: string) => {
      asked.push(origin + path)
      return 'forbidden'
    }
    const blocked = await robots(connections, site.origin, { acquireHop: async () => 'blocked' })
    const forbidden = await robots(connections, site.origin, { forbidsHop })
    for (const { event } of [blocked, forbidden]) {
      expect(event).toMatchObject({ kind: 'unanswered', reason: 'blocked-hop' })
      const state = step(unknownOrigin, event as RobotsEvent, NOW)
      const verdicts = Object.values(policies).map((p) => judge(state, `${site.origin}/`, 'bot', p, NOW).kind)
      expect(verdicts).toEqual(['wait', 'wait', 'allowed', 'allowed', 'allowed']) // as a hop to a guarded address
    }
    expect(asked).toEqual([`${other.origin}/private/x`])
    expect(other.connections).toBe(0)
  })

  test('every hop is looked at, also one within the origin, and one to any spelling of robots.txt is a robots fetch', async () => {
    const there = await serve(200, {}, RULES)
    const site = await rawOrigin((socket, { path }) => {
      const next = ['/robots.txt', '/a', '/b'].indexOf(path)
      const to = ['/a', '/b', `${there.origin}/%72obots.TXT?x`][next]
      socket.write(answerOf(302, { location: to ?? '' }))
    })
    const hops: unknown[] = []
    const looked: string[] = []
    const ended: unknown[] = []
    await robots(connections, site.origin, {
      acquireHop: async ({ origin, isRobots }) => {
        hops.push([origin, isRobots])
        const confirm = () => undefined
        return {
          delayMs: 0,
          isShared: false,
          lastCheck: () => undefined,
          confirm,
          owe: () => {},
          complete: async () => void ended.push(origin),
          release: async () => {},
        }
      },
      forbidsHop: async (_, path) => void looked.push(path),
    })
    const own = [site.origin, false]
    expect(hops).toEqual([own, own, [there.origin, true]])
    expect(looked).toEqual(['/a', '/b', '/%72obots.TXT?x'])
    expect(ended).toEqual([site.origin, site.origin, there.origin])
  })

  test('back and forth between two origins is a loop', async () => {
    let back = ''
    const a = await rawOrigin((socket) => void socket.write(answerOf(302, { location: back })))
    const b = await serve(302, { location: `${a.origin}/robots.txt` })
    back = `${b.origin}/robots.txt`
    expect((await robots(connections, a.origin)).event).toMatchObject({ reason: 'redirect-loop' })
    expect([a.asked.length, b.asked.length]).toEqual([1, 1])
  })

  test('a hop to an address that is not opened, without a contact, is our own lack: it opens nothing under any profile', async () => {
    const lookup = async (): Promise<Address[]> => [{ address: '203.0.114.1', family: 4 }]
    const site = await serve(301, { location: 'http://public.example/robots.txt' })
    const { event, unsent } = await robots(testConnections({ lookup }), site.origin, { agent: nameless })
    expect([event, unsent]).toEqual([{ kind: 'unanswered', reason: 'no-contact', jitter: 0.5 }, undefined])
    if (event === undefined) return
    const state = step(unknownOrigin, event, NOW)
    for (const policy of Object.values(policies))
      expect(judge(state, `${site.origin}/`, 'bot', policy, NOW)).toMatchObject({ kind: 'wait' })
  })

  test('a hop back into the origin whose address is guarded by now speaks of the origin itself', async () => {
    let port = 0
    let asked = 0
    const site = await rawOrigin((socket) => {
      asked++
      socket.end(`HTTP/1.1 302 F\r\nLocation: http://moves.example:${port}/again\r\nConnection: close\r\n\r\n`)
    })
    port = site.port
    const guard = addressGuard(['127.0.0.1/32'])
    const lookup = async (): Promise<Address[]> => [{ address: asked === 0 ? '127.0.0.1' : '10.0.0.1', family: 4 }]
    const rebinding = openConnections({ clock: systemClock, guard, lookup })
    const { event } = await robots(rebinding, `http://moves.example:${port}`)
    await rebinding.close()
    expect(event).toMatchObject({ kind: 'unanswered', reason: 'blocked-address' })
  })

  test('a hop to a name that does not exist says nothing of the name here', async () => {
    const nowhere = testConnections({
      lookup: () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })),
    })
    const site = await serve(301, { location: 'http://gone.example/robots.txt' })
    expect((await robots(nowhere, site.origin)).event).toMatchObject({ kind: 'unanswered', reason: 'dns' })
  })

  test('without a Location it is an answer of that status', async () => {
    expect((await robots(connections, (await serve(302)).origin)).event).toMatchObject({
      kind: 'answered',
      status: 302,
    })
  })

  test('all hops share one deadline', async () => {
    const { event, asked } = await onStoppedClock(async (pass) => {
      const site = await rawOrigin((socket, { path }: Asked) => {
        const n = path === '/robots.txt' ? 0 : Number(path.slice(2))
        pass(120)
        socket.write(answerOf(302, { location: `/h${n + 1}` }))
      })
      return { ...(await robots(connections, site.origin, { lease: leaseOf(300) })), asked: site.asked.length }
    })
    expect(event).toMatchObject({ reason: 'timeout' })
    expect(asked).toBe(3) // each hop alone would be in time, and five would be followed
  })
})

describe('Retry-After beside other answers', () => {
  test.each([200, 404, 500, 502])('%i asks all to wait, whatever becomes of the rules', async (status) => {
    const site = await serve(status, { 'retry-after': '30' }, status === 200 ? RULES : '')
    const { event, load } = await robots(connections, site.origin)
    expect(event).toMatchObject({ kind: 'answered', status, retryAfterMs: 30_000 })
    expect(load).toEqual({ kind: 'asked-to-wait', retryAfterMs: 30_000 })
  })

  const leading = (asked: string) =>
    rawOrigin(
      (socket, { path }) =>
        void socket.write(
          path === '/robots.txt'
            ? answerOf(302, { location: '/rules', 'retry-after': asked })
            : answerOf(200, {}, RULES),
        ),
    )
  const pathsOf = ({ asked }: RawOrigin): string[] => asked.map(({ path }) => path)

  test('a redirect that asks to wait longer than the robots fetch lasts ends it, and closes nothing', async () => {
    const site = await leading('3600')
    const { event, load } = await robots(connections, site.origin)
    expect(event).toMatchObject({ kind: 'unanswered', reason: 'timeout', retryAfterMs: 3_600_000 })
    expect(load).toEqual({ kind: 'normal' })
    expect(pathsOf(site)).toEqual(['/robots.txt'])
  })

  test('the next robots fetch, when that time is over, follows it at once; one that comes sooner does not', async () => {
    const site = await leading('3600')
    const soon = await robots(connections, site.origin, { state: { notBefore: NOW + 1 } })
    expect(soon.event).toMatchObject({ kind: 'unanswered', reason: 'timeout' })
    const then = await robots(connections, site.origin, { state: { notBefore: NOW } })
    expect(text(then.rules)).toBe(RULES)
    expect(pathsOf(site)).toEqual(['/robots.txt', '/robots.txt', '/rules'])
  })

  test('a redirect that asks to wait for a moment is followed within the robots fetch', async () => {
    const site = await leading('0.05')
    expect(text((await robots(connections, site.origin)).rules)).toBe(RULES)
  })
})

describe('bodies', () => {
  test.each([
    ['gzip', gzipSync(RULES)],
    ['x-gzip', gzipSync(RULES)],
    ['deflate', deflateSync(RULES)],
    ['deflate', deflateRawSync(RULES)],
    ['br', brotliCompressSync(RULES)],
    ['zstd', zstdCompressSync(RULES)],
    [' GZip ', gzipSync(RULES)],
    ['identity', Buffer.from(RULES)],
    ['', Buffer.from(RULES)],
  ])('coded as %s', async (coding, body) => {
    const site = await serve(200, { 'content-encoding': coding }, body)
    const { rules, event } = await robots(connections, site.origin)
    expect(text(rules)).toBe(RULES)
    const plain = await robots(connections, (await serve(200, {}, RULES)).origin)
    expect(event).toMatchObject({ hash: plain.event?.kind === 'answered' ? plain.event.hash : '' })
  })

  const broken = gzipSync(RULES.repeat(100))
  broken[broken.length - 6] = (broken[broken.length - 6] ?? 0) ^ 255
  test.each([
    ['a coding that is not read', 'compress', Buffer.from([0x1f, 0x9d, 0x90, 0x00, 0x02])],
    ['six codings', 'gzip, gzip, gzip, gzip, gzip, gzip', gzipSync(RULES)],
    ['gzip of which nothing but the head came', 'gzip', gzipSync(RULES).subarray(0, 10)],
    ['gzip with a wrong checksum', 'gzip', broken],
    ['gzip that breaks off', 'gzip', gzipSync(RULES.repeat(50)).subarray(0, -12)],
    ['br that breaks off', 'br', brotliCompressSync(RULES.repeat(20)).subarray(0, -3)],
    ['zstd that breaks off', 'zstd', zstdCompressSync(RULES.repeat(20)).subarray(0, -3)],
    ['deflate that is none', 'deflate', Buffer.from([0xff, 0x00, 0xff])],
    ['deflate that breaks off', 'deflate', deflateSync(RULES.repeat(20)).subarray(0, -9)],
    ['deflate without its wrapper that breaks off', 'deflate', deflateRawSync(RULES.repeat(20)).subarray(0, -3)],
  ])('%s is no answer, never half a file', async (_, coding, body) => {
    const site = await serve(200, { 'content-encoding': coding }, body)
    const { event, rules } = await robots(connections, site.origin)
    expect(event).toMatchObject({ kind: 'unanswered', reason: 'decoding' })
    expect(rules).toBeUndefined()
  })

  test('gzip that nobody declared is bytes like any other', async () => {
    const packed = gzipSync(RULES)
    const { rules } = await robots(connections, (await serve(200, {}, packed)).origin)
    expect(Buffer.compare(Buffer.from(rules ?? []), packed)).toBe(0)
  })

  const packed = gzipSync(RULES)
  // oxfmt-ignore
  test.each<[string, string, Buffer, string[]]>([
    ['in gzip twice', 'gzip, gzip', gzipSync(packed), []],
    ['said to be gzip twice, and packed once', 'gzip, gzip', packed, ['coding-misnamed']],
    ['in gzip without a checksum', 'gzip', packed.subarray(0, -8), ['coding-no-trailer']],
    ['in gzip with half a checksum', 'gzip', packed.subarray(0, -3), ['coding-no-trailer']],
    ['in gzip with a line break behind', 'gzip', Buffer.concat([packed, Buffer.from('\r\n')]), ['coding-trailing-octets']],
    ['in two members of gzip', 'gzip', Buffer.concat([gzipSync(RULES.slice(0, 9)), gzipSync(RULES.slice(9))]), []],
    ['in deflate without a checksum', 'deflate', deflateSync(RULES).subarray(0, -4), ['coding-no-trailer']],
    ['in bare deflate with a line break behind', 'deflate', Buffer.concat([deflateRawSync(RULES), Buffer.from('\r\n')]), ['coding-trailing-octets']],
    ['in br with a line break behind', 'br', Buffer.concat([brotliCompressSync(RULES), Buffer.from('\r\n')]), ['coding-trailing-octets']],
    ['in zstd with a line break behind', 'zstd', Buffer.concat([zstdCompressSync(RULES), Buffer.from('\r\n')]), ['coding-trailing-octets']],
    ['in two frames of zstd', 'zstd', Buffer.concat([zstdCompressSync(RULES.slice(0, 9)), zstdCompressSync(RULES.slice(9))]), []],
    ...['gzip', 'deflate', 'br', 'zstd'].map((coding): [string, string, Buffer, string[]] => [
      `in plain text that is said to be ${coding}`, coding, Buffer.from(RULES), ['coding-misnamed'],
    ]),
    ...['none', 'UTF-8', 'binary', 'text/html', 'compress', 'none, identity'].map((word): [string, string, Buffer, string[]] => [
      `under Content-Encoding: ${word}`, word, Buffer.from(RULES), ['coding-unknown'],
    ]),
    ['with a comma behind the coding', 'gzip,', packed, []],
    ['with a word beside the coding', 'none, gzip', packed, ['coding-unknown']],
    ['in gzip that is said to be deflate', 'deflate', packed, ['coding-misnamed']],
    ['in deflate that is said to be gzip', 'gzip', deflateSync(RULES), ['coding-misnamed']],
  ])('rules %s are read, and what was overlooked is marked', async (_, coding, body, marks) => {
    const site = await serve(200, { 'content-encoding': coding }, body)
    const { rules, event, hops } = await robots(connections, site.origin)
    expect(event).toMatchObject({ kind: 'answered', status: 200 })
    expect(text(rules)).toBe(RULES)
    expect(hops[0]?.answer.tolerated).toEqual(marks)
  })

  test('a coding that stands in two lines was applied twice', async () => {
    const body = gzipSync(gzipSync(RULES))
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\ncontent-encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`
    const site = await rawOrigin((socket) => void socket.write(Buffer.concat([Buffer.from(head), body])))
    expect(text((await robots(connections, site.origin)).rules)).toBe(RULES)
  })

  test('500 KiB are read, the rest is cut, and that is an answer', async () => {
    const line = 'Disallow: /0123456789\n'
    const large = `User-agent: *\n${line.repeat(30_000)}`
    const { event, rules, bodyBytes } = await robots(connections, (await serve(200, {}, large)).origin)
    expect(event).toMatchObject({ kind: 'answered', status: 200 })
    expect(rules?.length).toBe(ROBOTS_MAX_BYTES + 1)
    expect(bodyBytes).toBe(large.length)
  })

  test('a line that the limit cuts is dropped, not shortened: half of it would say something else', async () => {
    const head = 'User-agent: *\nAllow: /\n'
    const rule = 'Disallow: /shop'
    const filler = `#${'x'.repeat(ROBOTS_MAX_BYTES - head.length - 2 - 'Disallow: /'.length)}\n`
    const text = `${head}${filler}${rule}\n`
    expect(text.slice(0, ROBOTS_MAX_BYTES).endsWith('Disallow: /')).toBe(true)
    const { rules } = await robots(connections, (await serve(200, {}, text)).origin)
    if (rules === undefined) throw new Error('no rules')
    const parsed = parseRobots(rules)
    expect(parsed.isAllowed('http://a.example/other', 'bot')).toBe(true)
    expect(parsed.warnings.map(({ kind }) => kind)).toContain('over-limit')
  })

  test('a gigabyte is cut at 1 MiB on the wire, the socket is closed, the first 500 KiB count', async () => {
    const site = await rawOrigin((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n')
      const flood = () => {
        while (socket.writable && socket.write('Disallow: /x\n'.repeat(2_000)));
      }
      socket.on('drain', flood)
      flood()
    })
    const { rules, bodyBytes } = await robots(connections, site.origin)
    expect([rules?.length, bodyBytes]).toEqual([ROBOTS_MAX_BYTES + 1, 1024 * 1024])
    await expect.poll(() => site.open).toBe(0)
    expect(site.written).toBeLessThan(1024 * 1024 + 8 * 1024 * 1024) // what the kernel's buffers took besides
  })

  test.each([
    ['gzip', gzipSync(Buffer.alloc(50_000_000))],
    ['br', brotliCompressSync(Buffer.alloc(50_000_000))],
    ['zstd', zstdCompressSync(Buffer.alloc(50_000_000))],
  ])('a bomb in %s comes out as 500 KiB', async (coding, bomb) => {
    const site = await serve(200, { 'content-encoding': coding }, bomb)
    expect((await robots(connections, site.origin)).rules?.length).toBe(ROBOTS_MAX_BYTES + 1)
  })

  test.each([
    [
      'breaks off',
      'reset',
      (s: import('node:net').Socket) => s.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nUser-agent: *\n'),
    ],
    [
      'breaks off in a chunk',
      'reset',
      (s: import('node:net').Socket) =>
        s.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n20\r\nUser-agent: *\n'),
    ],
    [
      'has a bad chunk size',
      'protocol',
      (s: import('node:net').Socket) =>
        s.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nUser-agent: *\n'),
    ],
    [
      'has two lengths',
      'protocol',
      (s: import('node:net').Socket) =>
        s.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef'),
    ],
    [
      'is chunked, but not last',
      'protocol',
      (s: import('node:net').Socket) =>
        s.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n'),
    ],
  ] as const)('a body that %s is no answer: %s', async (_, reason, say) => {
    const site = await rawOrigin((socket) => void say(socket))
    const { event, rules } = await robots(connections, site.origin)
    expect(event).toMatchObject({ kind: 'unanswered', reason })
    expect(rules).toBeUndefined()
  })

  test('rules in chunks beside a length, under a folded header, are read, and the answer names both faults', async () => {
    const rules = 'User-agent: *\nDisallow: /private\n'
    const head = 'HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n'
    const site = await rawOrigin(`${head}${rules.length.toString(16)}\r\n${rules}\r\n0\r\n\r\n`)
    const answer = await robots(connections, site.origin)
    expect(answer.event).toMatchObject({ kind: 'answered', status: 200 })
    expect(Buffer.from(answer.rules ?? []).toString()).toBe(rules)
    expect(answer.hops.map(({ answer: { tolerated } }) => tolerated)).toEqual([
      ['folded-header', 'length-beside-chunked'],
    ])
    expect(site.asked).toHaveLength(1)
  })

  test('a body that drips beyond the deadline is no answer', async () => {
    const site = await rawOrigin((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\nUser-agent: *\n')
      const timer = setInterval(() => socket.write('#'), 20)
      socket.on('close', () => clearInterval(timer))
    })
    const isAsked = () => site.asked.length === 1
    const asking = () => robots(connections, site.origin, { lease: leaseOf(200) })
    expect((await whenDeadlinePasses(200, isAsked, asking)).event).toMatchObject({
      kind: 'unanswered',
      reason: 'timeout',
    })
  })
})

describe('no answer', () => {
  const failing = (code: string) =>
    testConnections({ lookup: async () => Promise.reject(Object.assign(new Error(code), { code })) })
  test.each([
    ['ENOTFOUND', 'nxdomain'],
    ['EAI_AGAIN', 'dns'],
    ['ESERVFAIL', 'dns'],
    ['ETIMEOUT', 'dns'],
  ])('a look-up that fails with %s is %s', async (code, reason) => {
    expect((await robots(failing(code), 'http://a.example')).event).toMatchObject({ kind: 'unanswered', reason })
  })

  test('a guarded address of the origin itself is reported as such', async () => {
    const lookup = async (): Promise<Address[]> => [{ address: '192.168.1.1', family: 4 }]
    expect((await robots(testConnections({ lookup }), 'http://a.example')).event).toMatchObject({
      reason: 'blocked-address',
    })
  })

  test('an agent without contact learns nothing of the site', async () => {
    const lookup = async (): Promise<Address[]> => [{ address: '203.0.114.1', family: 4 }]
    const answer = await robots(testConnections({ lookup }), 'http://a.example', { agent: nameless })
    expect(answer).toMatchObject({ unsent: 'no-contact', what: 'no-contact' })
    expect(answer.event).toBeUndefined()
  })

  test('what was not sent says nothing of the site', async () => {
    const site = await serve(200, {}, RULES)
    const answer = await robots(connections, site.origin, { lease: { ...leaseOf(), lastCheck: () => 'late' } })
    expect(answer).toMatchObject({ what: 'not-sent', unsent: 'not-sent', detail: 'late' })
    expect(answer.event).toBeUndefined()
    expect(site.asked.length).toBe(0)
  })
})

test('a hop that fails at the proxy of EGRESS is nothing that the first origin did: no event, its delay is owed, and it is not asked again at once', async () => {
  const proxy = await connectProxy()
  const egress = { '*': { proxy: proxy.url } }
  const own = testConnections({ egress })
  const elsewhere = await serve(200, {}, RULES)
  const site = await rawOrigin((socket) => {
    proxy.door = 'cut'
    socket.end(answerOf(302, { location: `${elsewhere.origin}/robots.txt`, connection: 'close' }))
  })
  const answer = await robots(own, site.origin)
  expect(answer.event).toBeUndefined()
  expect(answer).toMatchObject({ unsent: 'not-sent', what: 'egress', tookMs: expect.any(Number) })
  const [agent] = agentsOf().list
  for (const origin of [site.origin, elsewhere.origin])
    if (agent !== undefined) expect(own.egressWaitMs(agent, origin)).toBeGreaterThan(0)
  proxy.door = 'open'
  expect(text((await robots(own, elsewhere.origin)).rules)).toBe(RULES)
})

describe('freshness, as http-cache-semantics reads it', () => {
  // oxfmt-ignore
  const cases: [Record<string, string> | [string, string][], number | undefined][] = [
    [{}, undefined],
    [{ 'last-modified': 'Fri, 20 Nov 2020 10:00:00 GMT' }, undefined],
    [{ 'cache-control': 'public' }, undefined],
    [{ 'cache-control': 'max-age=60', age: '20' }, 40_000],
    [{ 'cache-control': 'max-age=60', age: '100' }, 0],
    [{ 'cache-control': 'max-age="60"' }, 60_000],
    [{ 'cache-control': 'max-age=1, stale-if-error=600' }, 1_000],
    [{ 'cache-control': 'no-store' }, 0],
    [{ 'cache-control': 'no-cache' }, 0],
    [{ 'cache-control': 'max-age=-5' }, 0],
    [{ 'cache-control': 'max-age=999999999' }, 999_999_999_000],
    [{ expires: '0' }, 0],
    [{ pragma: 'no-cache' }, 0],
    [[['Cache-Control', 'public'], ['CACHE-CONTROL', 'max-age=5']], 5_000],
    [[['__proto__', 'max-age=5']], undefined],
  ]
  test.each(cases)('%j → %j ms', (headers, ms) => {
    expect(freshForMs(Array.isArray(headers) ? headers : Object.entries(headers))).toBe(ms)
  })

  test('Expires counts from Date', () => {
    const date = new Date(Date.now()).toUTCString()
    const expires = new Date(Date.now() + 3_600_000).toUTCString()
    expect(freshForMs(Object.entries({ date, expires }))).toBeGreaterThan(3_590_000)
  })

  test('freshness of a 404 or a 403 is reported as well', async () => {
    for (const status of [404, 403]) {
      const site = await serve(status, { 'cache-control': 'max-age=7200' })
      expect((await robots(connections, site.origin)).event).toMatchObject({ status, freshForMs: 7_200_000 })
    }
  })
})
