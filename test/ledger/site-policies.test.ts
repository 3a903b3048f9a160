/** Policies of sites on a real ledger: what a site is granted or asks for holds whoever asks, and a change holds at once. */
import type { ReservedLane, SitePolicyRecord } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { policyOf, sitesOf } from '@decorum/politeness'
import { expect, test } from 'vitest'
import { random as diceOf } from '../robots/support/files.ts'
import { redisForTest } from '../support/redis.ts'
import { AGENT, emptyLedger, keys, ORIGIN, recordDelay, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const HOUR = 3_600_000
const DAY = 24 * HOUR

type Policy = Partial<Omit<SitePolicyRecord, 'site' | 'shown' | 'hasConsent'>> & { consent?: string }
const listOf = (policies: Record<string, Policy>): SitePolicyRecord[] =>
  Object.entries(policies).map(([site, { consent, ...policy }]) => ({
    site,
    ...policy,
    hasConsent: consent !== undefined,
    shown: { delayMs: policy.delayMs, consent, requestsPerDay: policy.requestsPerDay },
  }))
const tell = (ledger: LedgerWithViews, version: number, policies: Record<string, Policy>): Promise<void> =>
  ledger.setRates({ version, leastDelays: [], sitePolicies: listOf(policies) })

/** One request that takes no time; its lane owes this delay. */
async function delayAfterOne(policies: Record<string, Policy>, orderMs = 1_000, origin = ORIGIN): Promise<number> {
  const { ledger, clock, reserveOne, startPage, finish, dueOf } = await emptyLedger(redis)
  const leastDelays = [{ agent: AGENT, delayMs: 1_000 }]
  await ledger.setRates({ version: 1, leastDelays, sitePolicies: listOf(policies) })
  clock.pass(DAY)
  await ledger.store(0, [url('a', { origin }), url('b', { origin })])
  const lane = await reserveOne()
  expect(await startPage(lane, { delayMs: orderMs })).toMatchObject({ kind: 'granted' })
  await finish(lane, { delayMs: orderMs })
  return ((await dueOf(AGENT, origin)) ?? 0) - clock.now
}

test('a longer delay counts, whatever the order says; a shorter one without consent does not', async () => {
  expect(await delayAfterOne({ 'site.test': { delayMs: 5_000 } })).toBe(5_000)
  expect(await delayAfterOne({ 'site.test': { delayMs: 100 } })).toBe(1_000)
})

test('with consent the delay takes the place of what agent and robots.txt ask, down to none', async () => {
  expect(await delayAfterOne({ 'site.test': { delayMs: 100, consent: 'ann of site.test' } }, 9_000)).toBe(100)
  expect(await delayAfterOne({ 'site.test': { delayMs: 0, consent: 'ann of site.test' } }, 9_000)).toBe(0)
})

test('the most specific policy counts, as a whole', async () => {
  const policies = {
    'www.site.test': { delayMs: 2_000 },
    '*.site.test': { delayMs: 3_000 },
    'domain:site.test': { delayMs: 4_000 },
    '*.test': { delayMs: 5_000 },
  }
  const of = (host: string) => delayAfterOne(policies, 1_000, `http://${host}`)
  expect(await of('www.site.test')).toBe(2_000)
  expect(await of('other.site.test')).toBe(3_000)
  expect(await of('a.www.site.test')).toBe(3_000)
  expect(await of('site.test')).toBe(4_000)
  expect(await of('another.test')).toBe(5_000)
  expect(await of('xsite.test')).toBe(5_000)
})

test('the scripts and @decorum/politeness find the same policy for any host', async () => {
  const { ledger } = await emptyLedger(redis)
  const seed = Date.now() % 1_000_000
  const random = diceOf(seed)
  const label = (): string => ['a', 'b', 'www'][Math.floor(random() * 3)] as string
  const host = (): string => [...Array.from({ length: Math.floor(random() * 4) }, label), 'site', 'test'].join('.')
  for (let version = 1; version <= 20; version++) {
    const sites = Array.from({ length: 4 }, () => {
      const names = sitesOf(host())
      return names[Math.floor(random() * names.length)] as string
    })
    const policies = Object.fromEntries(sites.map((site, n) => [site, { delayMs: 1_000 + n }]))
    await tell(ledger, version, policies)
    for (let tries = 0; tries < 10; tries++) {
      const name = host()
      const { policy } = await ledger.viewOrigin(`https://${name}:8443`, [])
      expect(policy?.site, `${name}, seed ${seed}`).toBe(policyOf(policies, name)?.site)
    }
  }
})

test('a longer delay holds at once, also for a delay that runs; a shorter one from the next delay on', async () => {
  const { ledger, clock, reserveOne, startPage, finish, dueOf, visit } = await emptyLedger(redis)
  await visit('a', 1_000)
  await ledger.store(0, urls('b', 'c', 'd'))
  await tell(ledger, 1, { 'site.test': { delayMs: 5_000 } })
  const changed = clock.now
  clock.pass(1_000)
  const early = await reserveOne()
  expect(await startPage(early)).toMatchObject({ kind: 'refused', why: 'delay' })
  expect(await dueOf()).toBe(changed + 5_000)
  clock.pass(4_000)
  const lane = await reserveOne()
  expect(await startPage(lane)).toMatchObject({ kind: 'granted' })
  await finish(lane)
  expect(await dueOf()).toBe(clock.now + 5_000)
  await tell(ledger, 2, {})
  expect(await dueOf()).toBe(clock.now + 5_000)
  clock.pass(5_000)
  const next = await reserveOne()
  expect(await startPage(next)).toMatchObject({ kind: 'granted' })
  await finish(next)
  expect(await dueOf()).toBe(clock.now + 1_000)
})

/** The lane of AGENT beside that of the agent that brought the rules. */
function ownOf(lanes: ReservedLane[]): ReservedLane {
  const own = lanes.find(({ agent }) => agent === AGENT)
  if (own === undefined) throw new Error('the lane is not due')
  return own
}

test('a consent that is withdrawn while a request is in flight: the crawl-delay is owed after it', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, reserve, startPage, finish, dueOf } = bench
  await tell(ledger, 1, { 'site.test': { delayMs: 0, consent: 'ann of site.test' } })
  await recordDelay(bench, 7_000)
  await ledger.store(0, urls('a', 'b'))
  const lane = ownOf(await reserve())
  const { version } = lane.robots
  expect(await startPage(lane, { delayMs: 7_000, version })).toMatchObject({ kind: 'granted' })
  await tell(ledger, 2, {})
  await finish(lane, { delayMs: 7_000 })
  expect(await dueOf()).toBe(clock.now + 7_000)
})

test('a consent that is withdrawn while its short delay runs: the next request waits for the whole crawl-delay', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, reserve, startPage, finish, dueOf } = bench
  await tell(ledger, 1, { 'site.test': { delayMs: 100, consent: 'ann of site.test' } })
  clock.pass(100)
  await recordDelay(bench, 7_000)
  await ledger.store(0, urls('a', 'b'))
  const lane = ownOf(await reserve())
  const { version } = lane.robots
  await startPage(lane, { delayMs: 7_000, version })
  await finish(lane, { delayMs: 7_000 })
  expect(await dueOf()).toBe(clock.now + 100)
  await tell(ledger, 2, {})
  const withdrawn = clock.now
  clock.pass(100)
  expect(await startPage(ownOf(await reserve()), { delayMs: 7_000, version })).toMatchObject({ kind: 'refused' })
  expect(await dueOf()).toBe(withdrawn + 7_000)
})

test('an older version changes nothing, and the same one written again changes no instant', async () => {
  const { ledger, clock, raw, another } = await emptyLedger(redis)
  await tell(ledger, 3, { 'site.test': { delayMs: 5_000 } })
  const stored = await raw.hgetall(keys.policies)
  clock.pass(1_000)
  await tell(ledger, 2, { 'site.test': { delayMs: 0, consent: 'nobody' } })
  await tell(ledger, 3, { 'site.test': { delayMs: 5_000 } })
  await tell(await another(), 2, { 'site.test': { delayMs: 0, consent: 'nobody' } })
  await tell(await another(), 3, { 'site.test': { delayMs: 5_000 } })
  expect(await raw.hgetall(keys.policies)).toEqual(stored)
})

test('a lane that a policy held is woken by the next reservation after the policy was changed', async () => {
  const { ledger, clock, reserve, dueOf } = await emptyLedger(redis)
  await tell(ledger, 1, { 'site.test': { hours: { from: 22 * 60, to: 23 * 60 } } })
  await ledger.store(0, urls('a'))
  expect(await reserve()).toEqual([])
  expect(await dueOf()).toBeGreaterThan(clock.now)
  await tell(ledger, 2, {})
  expect(await reserve()).toMatchObject([{ urls: [{ id: 'a' }] }])
})

test('without policies nothing is stored', async () => {
  const { ledger, raw } = await emptyLedger(redis)
  await tell(ledger, 3, {})
  expect(await raw.hget(keys.epoch, 'policies')).toBeNull()
  expect(await raw.exists(keys.policies)).toBe(0)
})

/** 8:00 UTC: the clock of these tests begins there, a second after the first hold. */
test.each([
  ['later the same day', { from: 22 * 60, to: 23 * 60 }, 14 * HOUR],
  ['over midnight', { from: 22 * 60, to: 6 * 60 }, 14 * HOUR],
  ['the next morning', { from: 6 * 60, to: 7 * 60 }, 22 * HOUR],
])('visiting hours %s: the lane is due when they begin, and is not looked at before', async (_, hours, inMs) => {
  const { ledger, clock, reserve, reserveOne, startPage, dueOf } = await emptyLedger(redis)
  await tell(ledger, 1, { 'site.test': { hours } })
  await ledger.store(0, urls('a'))
  const eight = clock.now - (clock.now % HOUR)
  expect(await reserve()).toEqual([])
  expect(await dueOf()).toBe(eight + inMs)
  expect((await ledger.viewOrigin(ORIGIN, [AGENT])).lanes[0]?.heldBy).toBe('visiting-hours')
  clock.pass(eight + inMs - clock.now)
  expect(await startPage(await reserveOne())).toMatchObject({ kind: 'granted' })
})

test('hours that end between reservation and start: nothing is sent, and the URL waits for the next day', async () => {
  const { ledger, clock, reserveOne, startPage, dueOf } = await emptyLedger(redis)
  await tell(ledger, 1, { 'site.test': { hours: { from: 8 * 60, to: 8 * 60 + 1 } } })
  await ledger.store(0, urls('a'))
  const eight = clock.now - (clock.now % HOUR)
  const lane = await reserveOne()
  clock.pass(eight + 60_000 - clock.now)
  expect(await startPage(lane)).toMatchObject({ kind: 'refused', why: 'visiting-hours' })
  expect(await dueOf()).toBe(eight + DAY)
})

test('a request that took long to connect is not sent once the hours have ended; the answer to a permit in hand says so', async () => {
  const { ledger, clock, reserveOne, startPage } = await emptyLedger(redis)
  await tell(ledger, 1, { 'site.test': { hours: { from: 8 * 60, to: 8 * 60 + 1 }, requestsPerDay: 2 } })
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await startPage(lane)
  const held = [{ agent: AGENT, origin: ORIGIN, fence: lane.fence }]
  const by = { agent: 'one:ant', origin: ORIGIN }
  const asked = { agent: 'ant', origin: ORIGIN, version: 0, delayMs: 0, leaseMs: 120_000, by }
  const permit = await ledger.grant(asked)
  if (permit.kind !== 'granted') throw new Error(permit.kind)
  expect(await ledger.confirm(held)).toBe('granted') // the budget is spent, by these two
  clock.pass(60_000)
  const permits = [{ agent: 'ant', origin: ORIGIN, fence: permit.fence }]
  expect(await ledger.extend(permits, 1_000)).toEqual({ kind: 'extended', stop: 'visiting-hours', leftMs: 1_000 })
  expect(await ledger.grant({ ...asked, agent: 'bee' })).toMatchObject({ kind: 'wait', gate: 'visiting-hours' })
  expect(await ledger.claim({ agent: 'bee', origin: ORIGIN })).toMatchObject({ kind: 'wait', gate: 'visiting-hours' })
})

test('a budget is for a host, all its ports and agents, pages, robots fetches, hops and permits; it is new at midnight UTC', async () => {
  const { ledger, clock, reserve, startPage } = await emptyLedger(redis)
  await tell(ledger, 1, { 'domain:site.test': { requestsPerDay: 4 } })
  const origins = ['http://site.test', 'https://site.test', 'http://site.test:8080', 'http://www.site.test']
  await ledger.store(
    0,
    [...origins, 'http://site.test:81', 'http://site.test:82'].map((origin, n) => url(`u${n}`, { origin })),
  )
  const answers = new Map<string, string>()
  const [robots, ...pages] = (await reserve()).sort((a, b) => a.origin.length - b.origin.length)
  if (robots === undefined) throw new Error('no lane is due')
  answers.set(robots.origin, (await startPage(robots, { kind: 'robots' })).kind)
  const by = { agent: 'one:ant', origin: ORIGIN }
  expect(
    await ledger.grant({ agent: 'ant', origin: ORIGIN, version: 0, delayMs: 0, leaseMs: 60_000, by }),
  ).toMatchObject({ kind: 'granted' })
  expect(
    await ledger.acquire({ lanes: [{ agent: 'bee', origin: ORIGIN }], kind: 'pace-group', delayMs: 0 }),
  ).toMatchObject({
    kind: 'granted',
  })
  for (const lane of pages) answers.set(lane.origin, (await startPage(lane)).kind)
  expect([...answers.values()].filter((kind) => kind === 'granted')).toHaveLength(4) // three of the host, and www
  expect(answers.get('http://www.site.test')).toBe('granted')
  expect((await ledger.viewOrigin(ORIGIN, [])).policy).toMatchObject({ requestsPerDay: 4, requestsToday: 4 })
  expect((await ledger.viewOrigin('http://www.site.test', [])).policy).toMatchObject({ requestsToday: 1 })
  const midnight = clock.now - (clock.now % DAY) + DAY
  clock.pass(midnight - clock.now - 1)
  expect(
    await ledger.grant({ agent: 'cat', origin: ORIGIN, version: 0, delayMs: 0, leaseMs: 60_000, by }),
  ).toMatchObject({ kind: 'wait', gate: 'budget' })
  clock.pass(1)
  expect(
    await ledger.grant({ agent: 'cat', origin: ORIGIN, version: 0, delayMs: 0, leaseMs: 60_000, by }),
  ).toMatchObject({ kind: 'granted' })
})

test('a change of the policies wakes every lane that they held, at its own time; others stay', async () => {
  const { ledger, clock, raw, reserve, dueOf } = await emptyLedger(redis)
  const origins = Array.from({ length: 450 }, (_, n) => `http://h${n}.site.test`)
  await tell(ledger, 1, { 'domain:site.test': { hours: { from: 0, to: 60 } } })
  for (let at = 0; at < origins.length; at += 150)
    await ledger.store(
      0,
      origins.slice(at, at + 150).map((origin) => url(origin.slice(7), { origin })),
    )
  const waking = `${keys.tag}:waking`
  while ((await raw.zcount(keys.due, 0, clock.now)) > 0) expect(await reserve()).toEqual([])
  expect(await raw.scard(keys.heldByPolicy)).toBe(450)
  await tell(ledger, 2, { 'h0.site.test': { hours: { from: 0, to: 60 } } })
  expect(await raw.scard(waking)).toBe(450)
  let reserved = 0
  while ((await raw.scard(waking)) + (await raw.zcount(keys.due, 0, clock.now)) > 0)
    reserved += (await reserve({ limit: 200 })).length
  expect(reserved).toBe(449)
  expect(await dueOf(AGENT, 'http://h0.site.test')).toBe(clock.now - (clock.now % DAY) + DAY)
  expect(await raw.smembers(keys.heldByPolicy)).toEqual([`${AGENT} http://h0.site.test`])
})

test('a URL that expires while a policy holds its lane ends with that reason', async () => {
  const { ledger, clock, reserve } = await emptyLedger(redis)
  await tell(ledger, 1, { 'site.test': { hours: { from: 0, to: 60 } } })
  const expiresAt = clock.now + HOUR
  await ledger.store(0, [url('a', { expiresAt })])
  expect(await reserve()).toEqual([])
  clock.pass(HOUR)
  expect(await reserve()).toMatchObject([{ heldBy: 'visiting-hours', urls: [{ id: 'a' }] }])
})
