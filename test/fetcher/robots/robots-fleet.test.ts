/**
 * robots.txt as sites see it: a real gateway, a real fetcher with two agents and a real Redis, in this process. The sites write
 * down when each exchange began and ended; nothing here waits for a length of time.
 */

import type { Socket } from 'node:net'
import { main as fetcherMain } from '@decorum/fetcher'
import { main as gatewayMain } from '@decorum/gateway'
import { keysOf } from '@decorum/ledger'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { type Candidate, partitionTags } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { producer, watchOutcomes } from '../../gateway/support/outcomes.ts'
import { PATIENT } from '../../support/patient.ts'
import { redisForTest } from '../../support/redis.ts'
import { type Asked, answerOf, rawOrigin } from '../support/raw-origin.ts'

const redis = await redisForTest()
const tags = partitionTags(1)
const keys = keysOf(tags[0] as string)
const FLOOR_MS = 50
const settings = {
  REDIS_URL: redis.url,
  DECORUM_AGENTS: JSON.stringify(
    ['one', 'two'].map((name) => ({ name, userAgent: `${name}/1 (+https://example.com/bot)` })),
  ),
  DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
  DEFAULT_DELAY_MS: String(FLOOR_MS),
  ROBOTS_RETRY_MS: '100',
  LOG_LEVEL: 'silent',
  FETCH_PROCESSES: '0', // in this process
}
let services: { stop(): Promise<void> }[] = []
const start = async () => {
  services = [await gatewayMain(settings), await fetcherMain(settings)]
}
const stop = async () => {
  for (const service of services) await service.stop()
}
const raw = new Redis(redis.url)
const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1, ...PATIENT })
const outcomes = watchOutcomes(redis.url, tags)
const queue = producer(redis.url, tags[0] as string)
beforeAll(start)
afterAll(async () => {
  await stop()
  await queue.close()
  await ledger.close()
  outcomes.close()
  raw.disconnect()
  raw.disconnect()
})

const enqueue = (...candidates: Candidate[]) => queue.add('candidates', { candidates })
/** By its id, or by the beginning of one that a redirect's target was given. */
const kindOf = async (id: string) =>
  (await outcomes.all()).find((one) => one.id === id || one.id.startsWith(`${id}~`))?.kind
const ends = (id: string, kind: string) => expect.poll(() => kindOf(id)).toBe(kind)

type Exchange = { path: string; start: number; end: number }
let hosts = 0
/** A site at an address of its own, or at one of those: `heard` says what it was asked, and until when it took. */
async function site(answer: (asked: Asked) => Buffer, more: { host?: string; robotsTakesMs?: number } = {}) {
  const host = more.host ?? `127.61.0.${++hosts}`
  const heard: Exchange[] = []
  const open = async (socket: Socket, asked: Asked) => {
    const exchange: Exchange = { path: asked.path, start: performance.now(), end: Infinity }
    heard.push(exchange)
    if (asked.path === '/robots.txt') await new Promise((done) => setTimeout(done, more.robotsTakesMs ?? 0))
    exchange.end = performance.now()
    socket.write(answer(asked))
  }
  const { origin } = await rawOrigin((socket, asked) => void open(socket, asked), { host })
  return { origin, host, heard, robots: () => heard.filter(({ path }) => path === '/robots.txt') }
}
/** Of exchanges in the order in which they began: the shortest silence between the end of one and the next beginning. */
const shortest = (heard: Exchange[]) =>
  Math.min(...heard.slice(1).map(({ start: next }, n) => next - (heard[n]?.end ?? 0)))

const rules = (text: string, headers = {}) => answerOf(200, headers, text)
const PRIVATE = 'User-agent: *\nDisallow: /private\n'
const withRules = ({ path }: Asked) => (path === '/robots.txt' ? rules(PRIVATE) : answerOf(200, {}, 'page'))
const movedTo =
  (location: string) =>
  ({ path }: Asked) =>
    path === '/robots.txt' ? answerOf(301, { location }) : answerOf(200, {}, 'page')

test('one fetch of a robots.txt at a time: for its rules, as a page, by a redirect of a page, by one of another robots.txt', async () => {
  const slow = { robotsTakesMs: 250 }
  const asked = await site(withRules, slow)
  const leading = await site(movedTo(`${asked.origin}/robots.txt`))
  const other = await site(({ path }) =>
    path === '/robots.txt' ? answerOf(404) : answerOf(302, { location: `${asked.origin}/robots.txt` }),
  )
  await enqueue(
    { id: 'rules', url: `${asked.origin}/page`, agent: 'one' },
    { id: 'as-page', url: `${asked.origin}/robots.txt`, agent: 'two' },
    { id: 'encoded', url: `${asked.origin}/%72obots.txt`, agent: 'one' },
    { id: 'led', url: `${leading.origin}/page`, agent: 'two' },
    { id: 'moved', url: `${other.origin}/page`, agent: 'one' },
  )
  for (const id of ['rules', 'as-page', 'encoded', 'led', 'moved~1']) await ends(id, 'fetched')
  const fetches = asked.heard.filter(({ path }) => /^\/(r|%72)obots.txt$/.test(path))
  expect(fetches.length).toBeGreaterThanOrEqual(5)
  expect(shortest(fetches)).toBeGreaterThanOrEqual(0)
})

test('a redirect leads to no URL that the known rules of its origin forbid; to one of an unknown origin it does', async () => {
  const known = await site(withRules)
  const unknown = await site(withRules)
  const toKnown = await site(movedTo(`${known.origin}/private/rules`))
  const toUnknown = await site(movedTo(`${unknown.origin}/private/rules`))
  await enqueue({ id: 'forbidden', url: `${known.origin}/private/x` })
  await ends('forbidden', 'disallowed')
  await enqueue({ id: 'blocked-hop', url: `${toKnown.origin}/page` }, { id: 'hop', url: `${toUnknown.origin}/page` })
  await ends('hop', 'fetched')
  await expect.poll(async () => (await ledger.viewOrigin(toKnown.origin, [])).state.answer).toBeDefined()
  expect((await ledger.viewOrigin(toKnown.origin, [])).state.answer).toMatchObject({ reason: 'blocked-hop' })
  expect(known.heard.map(({ path }) => path)).toEqual(['/robots.txt'])
  expect(unknown.heard.map(({ path }) => path)).toEqual(['/private/rules'])
})

test('a redirect of robots.txt does not lead around an operator’s block', async () => {
  const blocked = await site(withRules)
  const leading = await site(movedTo(`${blocked.origin}/robots.txt`))
  await ledger.operate({ origin: blocked.origin, action: 'block', by: 'ann', reason: 'a test' }, [])
  await enqueue({ id: 'around', url: `${leading.origin}/page` })
  await expect.poll(async () => (await ledger.viewOrigin(leading.origin, [])).state.answer).toBeDefined()
  expect((await ledger.viewOrigin(leading.origin, [])).state.answer).toMatchObject({ reason: 'blocked-hop' })
  expect(blocked.heard).toEqual([])
})

test.for([429, 503])(
  'a redirected robots.txt that answers %d with Retry-After closes the origin where it was asked for',
  async (status) => {
    const busy = await site(() => answerOf(status, { 'retry-after': '2' }))
    const leading = await site(movedTo(`${busy.origin}/robots.txt`))
    await enqueue({ id: `led-${status}`, url: `${leading.origin}/1` })
    await expect.poll(() => busy.heard[0]?.end ?? Infinity).toBeLessThan(Infinity)
    await enqueue({ id: `busy-${status}`, url: `${busy.origin}/1` })
    await expect.poll(() => busy.heard.length).toBeGreaterThan(1)
    expect(shortest(busy.heard)).toBeGreaterThanOrEqual(2_000)
  },
)

const HAND_MS = 700
test('a delay by hand is owed between a robots.txt and its redirect, and to all ports of the host', async () => {
  const first = await site(movedTo('/rules.txt'))
  const second = await site(withRules, { host: first.host })
  const until = Date.now() + 3_600_000
  await ledger.operate(
    { origin: first.origin, action: 'delay', delayMs: HAND_MS, until, by: 'ann', reason: 'a test' },
    [],
  )
  await enqueue({ id: 'by-hand', url: `${first.origin}/1` })
  await expect.poll(() => first.heard.length).toBeGreaterThan(1)
  await enqueue({ id: 'other-port', url: `${second.origin}/1` })
  await ends('by-hand', 'fetched')
  await ends('other-port', 'fetched')
  // of the second port itself nobody has asked for more than the floor
  const owed = first.heard.map(({ end }) => end)
  const all = [...first.heard, ...second.heard].map(({ start }) => start).sort((a, b) => a - b)
  for (const end of owed) {
    const next = all.find((start) => start >= end)
    if (next !== undefined) expect(next - end).toBeGreaterThanOrEqual(HAND_MS)
  }
})

const DELAY_MS = 600
const DELAY = `User-agent: *\nCrawl-delay: ${DELAY_MS / 1_000}\n`
/** Gives its file to those who have none, and 304 to others. */
const unchanged = ({ path, head }: Asked) => {
  if (path !== '/robots.txt') return answerOf(200, {}, 'page')
  return head.includes('if-none-match: "v1"') ? answerOf(304) : rules(DELAY, { etag: '"v1"' })
}

test('the request that brought a delay owes it to all ports of the host', async () => {
  const first = await site(() => rules(DELAY))
  const second = await site(withRules, { host: first.host })
  await enqueue({ id: 'first', url: `${first.origin}/1` })
  await expect.poll(() => first.heard[0]?.end ?? Infinity).toBeLessThan(Infinity)
  await enqueue({ id: 'second', url: `${second.origin}/1` })
  await ends('second', 'fetched')
  const [brought] = first.heard as [Exchange]
  const others = [...first.heard.slice(1), ...second.heard].sort((a, b) => a.start - b.start)
  expect((others[0]?.start ?? 0) - brought.end).toBeGreaterThanOrEqual(DELAY_MS)
})

test('the delay in a robots.txt that was read by a redirect is owed where it was read', async () => {
  const there = await site(unchanged)
  const leading = await site(movedTo(`${there.origin}/robots.txt`))
  await enqueue({ id: 'leading', url: `${leading.origin}/1` })
  await expect.poll(() => there.heard[0]?.end ?? Infinity).toBeLessThan(Infinity)
  await enqueue({ id: 'there', url: `${there.origin}/1` })
  await ends('there', 'fetched')
  expect(there.robots()).toHaveLength(2)
  expect(shortest(there.heard)).toBeGreaterThanOrEqual(DELAY_MS)
})

test('so is it where a robots.txt led on to it', async () => {
  const there = await site(unchanged)
  const between = await site(movedTo(`${there.origin}/robots.txt`))
  const leading = await site(movedTo(`${between.origin}/robots.txt`))
  await enqueue({ id: 'from-afar', url: `${leading.origin}/1` })
  await expect.poll(async () => (await ledger.viewOrigin(leading.origin, [])).state.answer).toBeDefined()
  await enqueue({ id: 'between', url: `${between.origin}/1` })
  await ends('between', 'fetched')
  expect(between.robots()).toHaveLength(2)
  expect(shortest(between.heard)).toBeGreaterThanOrEqual(DELAY_MS)
})

test('a body that cannot be read while robots.txt is asked for again: the known delay is kept, and nothing is asked in a row', async () => {
  let busy = false // puts the rules out of force
  const there = await site((asked) => {
    if (!busy || asked.path !== '/robots.txt') return unchanged(asked)
    busy = false
    return answerOf(503)
  })
  const { origin } = there
  await enqueue({ id: 'before', url: `${origin}/1` })
  await ends('before', 'fetched')
  const { hash } = (await ledger.viewOrigin(origin, [])).state.copy ?? {}
  await raw.set(keys.body(hash ?? ''), Buffer.from('\x01 is not deflated'), 'KEEPTTL')
  busy = true
  await ledger.operate({ origin, action: 'refetch', by: 'ann', reason: 'a test' }, [])
  await enqueue({ id: 'meanwhile', url: `${origin}/2` })
  await ends('meanwhile', 'fetched')
  expect(there.robots().length).toBe(3)
  expect(shortest(there.heard)).toBeGreaterThanOrEqual(DELAY_MS)
})

test('31 days on, an origin that an operator once touched is asked once, without its ETag', async () => {
  const sites = await Promise.all([1, 2].map(() => site(unchanged)))
  const [kept, refetched] = sites.map(({ origin }) => origin) as [string, string]
  await enqueue(...sites.map(({ origin }, n) => ({ id: `month-${n}`, url: `${origin}/1` })))
  for (const n of sites.keys()) await ends(`month-${n}`, 'fetched')
  const year = Date.now() + 365 * 86_400_000
  await ledger.operate({ origin: kept, action: 'delay', delayMs: 1, until: year, by: 'ann', reason: 'a test' }, [])
  await ledger.operate({ origin: refetched, action: 'refetch', by: 'ann', reason: 'a test' }, [])
  await stop()
  for (const key of await raw.keys(`${keys.body('')}*`)) await raw.del(key) // their 31 days are over
  for (const one of sites) one.heard.length = 0
  await start()
  await enqueue(...sites.map(({ origin }, n) => ({ id: `later-${n}`, url: `${origin}/2` })))
  for (const [n, one] of sites.entries()) {
    await ends(`later-${n}`, 'fetched')
    expect(one.robots().length).toBe(1)
    expect(shortest(one.heard)).toBeGreaterThanOrEqual(DELAY_MS)
  }
})
