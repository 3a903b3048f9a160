/** A real gateway and a real fetcher on a real Redis, in this process; the origin writes down what it sees. */

import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { main as fetcherMain } from '@decorum/fetcher'
import { main as gatewayMain } from '@decorum/gateway'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { type Candidate, MAX_PATH_BYTES, type Outcome, partitionTags } from '@decorum/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { producer, watchOutcomes } from '../gateway/support/outcomes.ts'
import { redisForTest } from '../support/redis.ts'
import { python } from './support/python.ts'
import { answerOf, rawOrigin } from './support/raw-origin.ts'

const redis = await redisForTest()
const tags = partitionTags(1)
const archive = await mkdtemp(join(tmpdir(), 'decorum-journey-'))
const settings = {
  REDIS_URL: redis.url,
  DECORUM_AGENTS: JSON.stringify([
    { name: 'decorum', userAgent: 'decorum/1 (+https://example.com/bot)' },
    { name: 'gentle', userAgent: 'gentle/1 (+https://example.com/bot)', adaptiveDelay: { factor: 4 } },
  ]),
  DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
  DEFAULT_DELAY_MS: '50',
  MAX_ATTEMPTS: '2',
  BACK_OFF_MS: '300',
  LOG_LEVEL: 'silent',
  FETCH_PROCESSES: '0', // in this process
  ARCHIVE_DIR: archive,
}
let services: Awaited<ReturnType<typeof fetcherMain>>[]
let outcomes: ReturnType<typeof watchOutcomes>
let queue: ReturnType<typeof producer>
let ledger: LedgerWithViews
beforeAll(async () => {
  services = [await gatewayMain(settings), await fetcherMain(settings)]
  outcomes = watchOutcomes(redis.url, tags)
  queue = producer(redis.url, tags[0] as string)
  ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1, leaseMs: 20_000, quarantineMs: 1_000 })
})
afterAll(async () => {
  for (const service of services) await service.stop()
  await queue.close()
  await ledger.close()
  outcomes.close()
  await rm(archive, { recursive: true, force: true })
})

const enqueue = (...candidates: Candidate[]) => queue.add('candidates', { candidates })
const ends = async (id: string) => {
  await expect.poll(async () => (await outcomes.all()).filter((one) => one.id === id).length).toBe(1)
  return (await outcomes.all()).find((one) => one.id === id)
}

test('URLs go in, robots.txt is asked first and obeyed, delays are kept, each URL has its outcome', async () => {
  const site = await rawOrigin((socket, { path }) => {
    if (path === '/robots.txt')
      socket.write(answerOf(200, { etag: '"a"' }, 'User-agent: *\nDisallow: /no\nCrawl-delay: 0.2\n'))
    else socket.write(answerOf(200, { 'content-type': 'text/html' }, `page ${path}`))
  })
  await enqueue(
    ...['/a', '/no/b', '/c', '/d'].map((path) => ({ id: `one${path}`, url: site.origin + path, meta: { n: path } })),
  )
  expect(await ends('one/a')).toMatchObject({
    kind: 'fetched',
    status: 200,
    bytes: 7,
    meta: { n: '/a' },
    archive: { offset: expect.any(Number) },
  })
  expect(await ends('one/no/b')).toMatchObject({ kind: 'disallowed', line: 2 })
  await ends('one/c')
  await ends('one/d')
  expect(site.asked.map(({ path }) => path)).toEqual(['/robots.txt', '/a', '/c', '/d'])
  const delays = site.asked.slice(1).map(({ at }, i) => at - (site.asked[i]?.at ?? 0))
  // After robots.txt the silence is the one owed before its rules were known, or the longer one that they ask for.
  expect(Math.min(...delays.slice(1))).toBeGreaterThanOrEqual(200)
  expect(delays[0]).toBeGreaterThanOrEqual(50)
})

test('an agent that rests in proportion leaves a slow site alone for as many times as long as its answers took', async () => {
  const SLOW_MS = 150
  const site = await rawOrigin((socket, { path }) => {
    if (path === '/robots.txt') socket.write(answerOf(404))
    else setTimeout(() => socket.write(answerOf(200)), SLOW_MS)
  })
  const pages = ['/1', '/2', '/3']
  await enqueue(...pages.map((path) => ({ id: `slow${path}`, url: site.origin + path, agent: 'gentle' })))
  for (const path of pages) await ends(`slow${path}`)
  const visits = site.asked.filter(({ path }) => path !== '/robots.txt').map(({ at }) => at)
  const delays = visits.slice(1).map((at, i) => at - (visits[i] ?? 0))
  expect(delays).toHaveLength(2)
  expect(Math.min(...delays)).toBeGreaterThanOrEqual((SLOW_MS - 1) * 5) // the answer, and four times that; a timer may be 1 ms early
})

test('429 closes the lane and ends as rate-limited after the attempts; the site sees each attempt once', async () => {
  const site = await rawOrigin(
    (socket, { path }) => void socket.write(path === '/robots.txt' ? answerOf(404) : answerOf(429)),
  )
  await enqueue({ id: 'fast', url: `${site.origin}/x` })
  expect(await ends('fast')).toMatchObject({ kind: 'failed', reason: 'rate-limited', status: 429, attempts: 2 })
  expect(site.asked.map(({ path }) => path)).toEqual(['/robots.txt', '/x', '/x'])
})

test('a redirect is a candidate of its own, under the rules of its own origin', async () => {
  const there = await rawOrigin(
    (socket, { path }) =>
      void socket.write(path === '/robots.txt' ? answerOf(200, {}, 'User-agent: *\nDisallow: /shut') : answerOf(200)),
  )
  const here = await rawOrigin(
    (socket, { path }) =>
      void socket.write(path === '/robots.txt' ? answerOf(404) : answerOf(301, { location: `${there.origin}${path}` })),
  )
  await enqueue({ id: 'r1', url: `${here.origin}/open` }, { id: 'r2', url: `${here.origin}/shut` })
  const targetOf = async (id: string): Promise<string> => {
    const outcome = await ends(id)
    expect(outcome).toMatchObject({ kind: 'redirected', candidate: expect.stringMatching(`^${id}~1~`) })
    return (outcome as Extract<Outcome, { kind: 'redirected' }>).candidate
  }
  expect(await ends(await targetOf('r1'))).toMatchObject({ kind: 'fetched', url: `${there.origin}/open` })
  expect(await ends(await targetOf('r2'))).toMatchObject({ kind: 'disallowed' })
  expect(there.asked.map(({ path }) => path)).toEqual(['/robots.txt', '/open'])
})

test('a path of the longest length goes the whole way: stored, requested, redirected to, archived, judged', async () => {
  const long = (name: string): string => `/${name}?${'%E0%B8%81'.repeat(900)}`.padEnd(MAX_PATH_BYTES, 'x')
  const site = await rawOrigin((socket, { path }) => {
    if (path === '/robots.txt') socket.write(answerOf(200, {}, `User-agent: *\nDisallow: ${long('no').slice(0, -1)}`))
    else if (path.startsWith('/moved')) socket.write(answerOf(301, { location: long('target') }))
    else socket.write(answerOf(200))
  })
  await enqueue(...['moved', 'no'].map((id) => ({ id, url: site.origin + long(id) })))
  const moved = await ends('moved')
  expect(moved).toMatchObject({
    kind: 'redirected',
    url: site.origin + long('moved'),
    to: site.origin + long('target'),
  })
  const target = await ends((moved as Extract<Outcome, { kind: 'redirected' }>).candidate)
  expect(target).toMatchObject({ kind: 'fetched', url: site.origin + long('target'), archive: expect.anything() })
  expect(await ends('no')).toMatchObject({ kind: 'disallowed', line: 2 })
  expect(site.asked.map(({ path }) => path)).toEqual(['/robots.txt', long('moved'), long('target')])
  await enqueue({ id: 'longer', url: `${site.origin}${long('moved')}x` })
  expect(await ends('longer')).toMatchObject({ kind: 'invalid', reason: 'url-too-long' })
})

test('a robots.txt that is packed, in UTF-16, or has rules that no URL matches as written is obeyed, and noted at its origin', async () => {
  const rules = 'User-agent: *\nDisallow: /media library/\nDisallow: about\n'
  const utf16 = Buffer.from(rules, 'utf16le')
  for (const [n, [body, noted]] of [
    [gzipSync(rules), 'gzip without Content-Encoding: the google profiles find no rule in it; line 3: "about" has no'],
    [utf16, 'UTF-16: the google profiles find no rule in it; line 3: "about" has no'],
    [Buffer.from(rules), 'line 3: "about" has no'],
  ].entries() as IterableIterator<[number, [Buffer, string]]>) {
    const site = await rawOrigin(
      (socket, { path }) => void socket.write(path === '/robots.txt' ? answerOf(200, {}, body) : answerOf(200)),
    )
    const [library, about, open] = ['/media library/x', '/about/us', '/open'].map((path) => site.origin + path)
    await enqueue(
      { id: `library${n}`, url: library as string },
      { id: `about${n}`, url: about as string },
      { id: `open${n}`, url: open as string },
    )
    expect(await ends(`library${n}`)).toMatchObject({ kind: 'disallowed', rule: 'disallow: /media library/', line: 2 })
    expect(await ends(`about${n}`)).toMatchObject({ kind: 'disallowed', line: 3 })
    expect(await ends(`open${n}`)).toMatchObject({ kind: 'fetched' })
    expect(site.asked.map(({ path }) => path)).toEqual(['/robots.txt', '/open'])
    const notes = () => ledger.notesOf(site.origin)
    await expect
      .poll(async () => (await notes()).find(({ what }) => what === 'robots'))
      .toMatchObject({ answer: 'ok', detail: expect.stringContaining(noted) })
  }
})

test('a redirect’s target and a candidate with an id of its own that looks like one are two candidates', async () => {
  const site = await rawOrigin((socket, { path }) => {
    const target = path === '/moved' ? answerOf(301, { location: '/target' }) : answerOf(200)
    socket.write(path === '/robots.txt' ? answerOf(404) : target)
  })
  // `m~1` waits behind `m`: it is stored when the target is stored.
  await enqueue({ id: 'm', url: `${site.origin}/moved` }, { id: 'm~1', url: `${site.origin}/own` })
  const moved = await ends('m')
  expect(moved).toMatchObject({ kind: 'redirected' })
  expect(await ends('m~1')).toMatchObject({ kind: 'fetched', url: `${site.origin}/own` })
  expect(await ends((moved as Extract<Outcome, { kind: 'redirected' }>).candidate)).toMatchObject({
    kind: 'fetched',
    url: `${site.origin}/target`,
  })
})

test('a guarded origin ends at its robots.txt, at once, without a connection', async () => {
  await enqueue({ id: 'inside', url: 'http://10.0.0.1/' }, { id: 'port', url: 'http://127.0.0.1:6379/' })
  expect(await ends('inside')).toMatchObject({ kind: 'failed', reason: 'blocked-address' })
  expect(await ends('port')).toMatchObject({ kind: 'failed', reason: 'blocked-port' })
})

test('a lost connection is tried again, then failed with its reason', async () => {
  const site = await rawOrigin(
    (socket, { path }) => void (path === '/robots.txt' ? socket.write(answerOf(404)) : socket.resetAndDestroy()),
  )
  await enqueue({ id: 'lost', url: `${site.origin}/x` })
  expect(await ends('lost')).toMatchObject({ kind: 'failed', reason: 'reset', attempts: 2 })
})

test("a redirect's Retry-After delays its target, and closes neither the site that asked nor the one that it leads to", async () => {
  const at = new Map<string, number>()
  const other = await rawOrigin((socket, { path }) => {
    at.set(path, Date.now())
    socket.write(answerOf(path === '/robots.txt' ? 404 : 200))
  })
  const waits: Record<string, string> = { '/in-an-hour': '3600', '/in-a-second': '1' }
  const site = await rawOrigin((socket, { path }) => {
    const wait = waits[path]
    if (wait === undefined) return void socket.write(answerOf(path === '/robots.txt' ? 404 : 200))
    at.set(`answer to ${path}`, Date.now())
    socket.write(answerOf(302, { location: other.origin + path, 'retry-after': wait }))
  })
  await enqueue({ id: 'in-an-hour', url: `${site.origin}/in-an-hour` })
  expect(await ends('in-an-hour')).toMatchObject({ kind: 'redirected' })
  await enqueue({ id: 'in-a-second', url: `${site.origin}/in-a-second` })
  await enqueue({ id: 'same', url: `${site.origin}/same` }, { id: 'elsewhere', url: `${other.origin}/elsewhere` })
  await Promise.all([ends('same'), ends('elsewhere')])
  const soon = await ends('in-a-second')
  if (soon?.kind !== 'redirected') throw new Error(JSON.stringify(soon))
  expect(await ends(soon.candidate)).toMatchObject({ kind: 'fetched', url: `${other.origin}/in-a-second` })
  expect((at.get('/in-a-second') ?? 0) - (at.get('answer to /in-a-second') ?? Number.NaN)).toBeGreaterThanOrEqual(1_000)
  expect(at.has('/in-an-hour')).toBe(false)
})

test('the archive is complete after stop: pages, redirects, and robots.txt with what was concluded from it', async () => {
  await services[1]?.stop()
  const names = await readdir(archive)
  const [file] = names.filter((name) => name.endsWith('.warc.gz'))
  const { out, code } = await python('check', join(archive, file ?? ''))
  expect(code, out).toBe(0)
  expect(out).toContain('warcinfo response request metadata response request')
  expect(names.filter((name) => name.endsWith('.open'))).toEqual([])
  services = services.slice(0, 1)
})
