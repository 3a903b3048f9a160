/** One robots fetch of an origin at a time, whichever request makes it: an order for its rules, a page, a hop. */

import type { NextRequest, ReservedLane, SecondaryRequest } from '@decorum/ledger'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import {
  AGENT,
  type Bench,
  emptyLedger,
  keys,
  LEASE,
  ORIGIN,
  QUARANTINE,
  recordDelay,
  url,
  urls,
} from './ledger-for-test.ts'

const redis = await redisForTest()
const DELAY = 1_000
const OTHER = 'other'
const by = { origin: ORIGIN, by: 'ann', reason: 'a test' }
const lane = { agent: AGENT, origin: ORIGIN }
const hop: SecondaryRequest = { lanes: [lane], kind: 'hop', delayMs: DELAY }
const robotsHop: SecondaryRequest = { ...hop, isRobots: true }

/** Both agents' lanes, reserved. */
async function two({ ledger, reserve }: Bench): Promise<[ReservedLane, ReservedLane]> {
  await ledger.store(0, [...urls('a'), url('b', { agent: OTHER })])
  const lanes = await reserve()
  return [AGENT, OTHER].map((agent) => lanes.find((one) => one.agent === agent)) as [ReservedLane, ReservedLane]
}
const granted = async (entry: ReturnType<Bench['ledger']['acquire']>) => {
  const found = await entry
  if (found.kind !== 'granted') throw new Error(JSON.stringify(found))
  return found
}

test.each([
  ['robots', 'robots-page'],
  ['robots-page', 'robots'],
  ['robots-page', 'robots-page'],
] as const)('while %s is in flight, %s waits for its end', async (first, second) => {
  const bench = await emptyLedger(redis)
  const [one, another] = await two(bench)
  expect(await bench.startPage(one, { kind: first })).toMatchObject({ kind: 'granted' })
  expect(await bench.startPage(another, { kind: second })).toEqual({ kind: 'refused', why: 'robots-in-flight' })
  expect(await bench.dueOf(OTHER)).toBe(bench.clock.now + LEASE + QUARANTINE)
})

test('a robots.txt that was fetched as a page teaches nothing, and wakes who waits for it', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock } = bench
  const [page, waiting] = await two(bench)
  const opened = clock.now
  await bench.startPage(page, { kind: 'robots-page' })
  await bench.startPage(waiting, { kind: 'robots' })
  clock.pass(300)
  await bench.finish(page)
  const end = { origin: ORIGIN, fence: page.fence, agents: [AGENT, OTHER] }
  expect(await ledger.endRobotsFetch({ ...end, fence: page.fence - 1 })).toBe('stale')
  expect(await ledger.endRobotsFetch(end)).toBe('completed')
  expect(await ledger.endRobotsFetch(end)).toBe('stale')
  expect(await bench.dueOf(OTHER)).toBe(opened)
  expect(await ledger.robotsStates(0, [ORIGIN])).toEqual([{ version: 0, state: {} }])
  const asker = await bench.reserveOne()
  expect(await bench.startPage(asker, { kind: 'robots' })).toMatchObject({ kind: 'granted' })
})

test('only an order for the rules may teach them', async () => {
  const bench = await emptyLedger(redis)
  const [page] = await two(bench)
  await bench.startPage(page, { kind: 'robots-page' })
  const robotsRecord = { ...lane, fence: page.fence, state: {}, delays: [], delayMs: DELAY, elapsedMs: 0 }
  expect(await bench.ledger.record(robotsRecord)).toBe('stale')
})

test('a fetcher that dies with it costs the page an attempt; the robots fetch ends by itself, and the rules are not judged by it', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock } = bench
  const [page] = await two(bench)
  await bench.startPage(page, { kind: 'robots-page' })
  clock.pass(LEASE)
  expect(await ledger.reap(0)).toMatchObject({ started: 1, robotsFetches: [] })
  clock.pass(QUARANTINE + DELAY)
  const again = (await bench.reserve()).find(({ agent }) => agent === AGENT)
  expect([again?.tries, again?.robots.state]).toEqual([1, {}])
})

test.each([
  ['a hop to robots.txt', robotsHop],
  ['a hop to another path', hop],
])('%s waits while somebody asks for the robots.txt of that origin', async (_, request) => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, [url('b', { agent: OTHER })])
  const asker = await bench.reserveOne()
  await bench.startPage(asker, { kind: 'robots' })
  expect(await bench.ledger.acquire(request)).toEqual({ kind: 'wait', waitMs: 250, gate: 'robots-in-flight' })
  await bench.ledger.record({ ...asker, state: {}, delays: [], delayMs: 0, elapsedMs: 0 })
  expect(await bench.ledger.acquire(request)).toMatchObject({ kind: 'granted' })
})

test('a hop that fetches robots.txt is the only robots fetch; a hop to another path is none', async () => {
  const bench = await emptyLedger(redis)
  const { ledger } = bench
  const { fence, delayMs } = await granted(ledger.acquire(hop))
  const settled = { ...lane, delayMs, load: { kind: 'normal' as const }, elapsedMs: 0, secondary: true as const }
  await ledger.store(0, [url('b', { agent: OTHER })])
  expect((await bench.reserveOne()).robots.state).toEqual({})
  await ledger.complete({ ...settled, fence })
  bench.clock.pass(delayMs + 30_000)
  await ledger.reap(0)
  const second = await granted(ledger.acquire(robotsHop))
  const asker = await bench.reserveOne()
  expect(asker.robots.state).toMatchObject({ question: { fence: second.fence } })
  expect(await bench.startPage(asker, { kind: 'robots' })).toEqual({ kind: 'refused', why: 'robots-in-flight' })
  await ledger.complete({ ...settled, fence: second.fence })
  await ledger.endRobotsFetch({ origin: ORIGIN, fence: second.fence, agents: [OTHER] })
  expect(await bench.startPage(await bench.reserveOne(), { kind: 'robots' })).toMatchObject({ kind: 'granted' })
})

test('a robots fetch that did not end does not hold later ones', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock } = bench
  await ledger.acquire(robotsHop)
  clock.pass(LEASE)
  expect(await ledger.reap(0)).toMatchObject({ started: 1, robotsFetches: [] })
  clock.pass(QUARANTINE)
  await ledger.operate({ ...by, action: 'refetch' }, [OTHER])
  await ledger.store(0, [url('b', { agent: OTHER })])
  expect(await bench.reserveOne()).toMatchObject({ refetch: true, robots: { state: {} } })
})

// --- the gates of an origin whose lane the visitor holds already ---------------------------------------------------

/** The lane is held as that of the host, for a request to another port of it; its delay is over. */
async function held({ ledger, clock }: Bench): Promise<NextRequest> {
  const { fence } = await granted(ledger.acquire({ lanes: [lane], kind: 'pace-group', delayMs: DELAY }))
  clock.pass(DELAY)
  return { kind: 'hop', lane, held: [{ ...lane, fence }], elapsedMs: DELAY, delayMs: DELAY, isRobots: true }
}

test('a hop into a lane that is held already leases nothing, and is the robots fetch of its origin', async () => {
  const bench = await emptyLedger(redis)
  const request = await held(bench)
  expect(await bench.ledger.next(request)).toMatchObject({ kind: 'granted', waitMs: 0 })
  expect(await bench.raw.scard(keys.slotless)).toBe(1)
  expect((await bench.ledger.viewOrigin(ORIGIN, [])).state.question?.fence).toBe(request.held[0]?.fence)
  expect(await bench.ledger.next(request), 'its own robots fetch keeps it from nothing').toMatchObject({
    kind: 'turn',
  })
})

test('a hop in a lane that is held waits for the longest delay that the lane owes', async () => {
  const bench = await emptyLedger(redis)
  const request = await held(bench)
  const sitePolicies = [{ site: 'site.test', delayMs: 9_000, hasConsent: false, shown: {} }]
  await bench.ledger.setRates({ version: 1, leastDelays: [], sitePolicies })
  expect(await bench.ledger.next(request)).toMatchObject({ kind: 'turn', waitMs: 9_000 - DELAY })
})

test('one request at a time under a lease: while one waits for its delay, another is refused', async () => {
  const bench = await emptyLedger(redis)
  const request = { ...(await held(bench)), elapsedMs: 0 }
  const first = await bench.ledger.next(request)
  if (first.kind !== 'turn') throw new Error(first.kind)
  expect(first.waitMs).toBe(DELAY)
  expect(await bench.ledger.next(request)).toEqual({ kind: 'busy' })
  bench.clock.pass(DELAY)
  expect(await bench.ledger.next({ ...request, turn: first.turn })).toMatchObject({ kind: 'granted', waitMs: 0 })
  expect(await bench.ledger.next(request)).toMatchObject({ kind: 'turn', waitMs: DELAY })
  expect(await bench.ledger.next({ ...request, turn: first.turn }), 'its turn is over').toEqual({ kind: 'busy' })
})

test('what changes while a request waits for its turn counts when that comes: a longer delay, and a gate', async () => {
  const bench = await emptyLedger(redis)
  const request = { ...(await held(bench)), elapsedMs: 0 }
  const first = await bench.ledger.next(request)
  if (first.kind !== 'turn') throw new Error(first.kind)
  await bench.ledger.operate({ ...by, action: 'delay', delayMs: 4 * DELAY, until: bench.clock.now + 60_000 }, [AGENT])
  bench.clock.pass(DELAY)
  const later = await bench.ledger.next({ ...request, turn: first.turn })
  if (later.kind !== 'turn') throw new Error(later.kind)
  expect(later.waitMs, 'from the end of the request before').toBe(3 * DELAY)
  bench.clock.pass(3 * DELAY)
  await bench.ledger.operate({ ...by, action: 'pause', until: bench.clock.now + 60_000 }, [AGENT])
  expect(await bench.ledger.next({ ...request, turn: later.turn })).toMatchObject({ kind: 'wait', gate: 'paused' })
  await bench.ledger.operate({ ...by, action: 'resume' }, [AGENT])
  expect(await bench.ledger.next({ ...request, turn: later.turn })).toMatchObject({ kind: 'granted', waitMs: 0 })
})

test.each(['block', 'pause'] as const)('an operator’s %s holds there, too', async (action) => {
  const bench = await emptyLedger(redis)
  const request = await held(bench)
  await bench.ledger.operate({ ...by, action, until: bench.clock.now + 60_000 }, [AGENT])
  const answer = action === 'block' ? { kind: 'blocked' } : { kind: 'wait', waitMs: 60_000, gate: 'paused' }
  expect(await bench.ledger.next(request)).toEqual(answer)
})

test('so does the back-off of the site, and somebody else’s robots fetch', async () => {
  const bench = await emptyLedger(redis)
  const { ledger } = bench
  await ledger.store(0, [url('b', { agent: OTHER }), url('c', { agent: 'third' })])
  const [other, third] = (await bench.reserve()) as [ReservedLane, ReservedLane]
  await bench.startPage(other)
  await bench.startPage(third, { kind: 'robots' })
  const request = await held(bench)
  expect(await ledger.next(request)).toMatchObject({ kind: 'wait', gate: 'robots-in-flight' })
  await ledger.record({ ...third, state: {}, delays: [], delayMs: 0, elapsedMs: 0 })
  await bench.finish(other, { load: { kind: 'asked-for-less', retryAfterMs: 20_000 } } as object)
  const closed = await ledger.next(request)
  expect(closed.kind === 'wait' && closed.waitMs).toBeGreaterThanOrEqual(20_000)
})

test('a request whose lease is over is given no further one', async () => {
  const bench = await emptyLedger(redis)
  const request = await held(bench)
  bench.clock.pass(LEASE)
  expect(await bench.ledger.next(request)).toEqual({ kind: 'stale' })
  await bench.ledger.reap(0)
  expect(await bench.ledger.next(request)).toEqual({ kind: 'stale' })
})

// --- the longest delay known -----------------------------------------------------------------------------------------

test('the pace lane of a hop owes the delay that is known of the origin where it leads', async () => {
  const bench = await emptyLedger(redis)
  await recordDelay(bench, 9_000)
  const host = { agent: AGENT, origin: 'https://site.test' }
  const clock: SecondaryRequest = { lanes: [host], kind: 'pace-group', delayMs: DELAY }
  expect(await bench.ledger.acquire({ ...clock, of: lane })).toMatchObject({ kind: 'granted', delayMs: 9_000 })
  expect(await bench.ledger.acquire(hop)).toMatchObject({ kind: 'granted', delayMs: 9_000 })
})

test('a reserved lane comes with the delay known of it, in force or not', async () => {
  const bench = await emptyLedger(redis)
  await recordDelay(bench, 9_000)
  await bench.ledger.store(0, urls('a', 'b'))
  const lanes = await bench.reserve()
  expect(lanes.find(({ agent }) => agent === AGENT)).toMatchObject({ delayMs: 9_000 })
  await bench.ledger.operate({ ...by, action: 'pause', until: bench.clock.now + 5 }, [AGENT]) // the slower path of take
  bench.clock.pass(60_000)
  await bench.ledger.reap(0)
  expect((await bench.reserve()).find(({ agent }) => agent === AGENT)).toMatchObject({ delayMs: 9_000 })
})
