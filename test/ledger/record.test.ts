/** record: the answer to a robots fetch, under the fence of the lease that made it. */

import type { ReservedLane, RobotsRecord } from '@decorum/ledger'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, emptyLedger, keys, LEASE, ORIGIN, QUARANTINE, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
type Bench = Awaited<ReturnType<typeof emptyLedger>>

const octets = new TextEncoder().encode('user-agent: *\ncrawl-delay: 9\n')
const copy = { kind: 'ok' as const, hash: 'abc', at: 1 }

/** What the asker of `lane` has to say. */
const lessonOf = (lane: ReservedLane, more: Partial<RobotsRecord> = {}): RobotsRecord => ({
  agent: lane.agent,
  origin: lane.origin,
  fence: lane.fence,
  state: { copy },
  body: { hash: 'abc', bytes: octets },
  delays: [],
  delayMs: 1_000,
  elapsedMs: 0,
  ...more,
})

/** A lane that is asking for robots.txt. */
async function asking({ ledger, reserveOne, startPage }: Bench): Promise<ReservedLane> {
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  expect(await startPage(lane, { kind: 'robots', version: lane.robots.version })).toMatchObject({ kind: 'granted' })
  return lane
}

/** A silence of `delayMs` that has just begun in a lane of another agent of the same origin, with a URL waiting behind it. */
async function silentLane(bench: Bench, agent: string, delayMs: number): Promise<void> {
  await bench.ledger.store(0, [url(`${agent}1`, { agent }), url(`${agent}2`, { agent })])
  const lane = (await bench.reserve()).find((one) => one.agent === agent)
  if (lane === undefined) throw new Error('it is due')
  await bench.startPage(lane, { delayMs, version: lane.robots.version })
  await bench.finish(lane, { delayMs })
}

test('state, version and body are known to everybody from then on; the lease ends and the lane owes its delay', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, raw, clock, dueOf, reserveOne } = bench
  const lane = await asking(bench)
  clock.pass(400)
  const state = { copy, answer: { kind: 'ok' as const, status: 200, at: 5, jitter: 0 } }
  expect(await ledger.record(lessonOf(lane, { state: { ...state, question: { fence: 1, until: 2 } } }))).toBe(
    'completed',
  )
  expect(await ledger.robotsStates(0, [ORIGIN, 'http://unknown.test'])).toEqual([
    { version: 1, state },
    { version: 0, state: {} },
  ])
  expect(await ledger.body(0, 'abc')).toEqual(Buffer.from(octets))
  expect(await ledger.body(0, 'none')).toBeUndefined()
  expect(await dueOf()).toBe(clock.now + 1_000)
  expect(await raw.zcard(keys.inFlight)).toBe(0)
  clock.pass(1_000)
  expect((await reserveOne()).robots).toEqual({ version: 1, state })
})

test('the URL that only waited is still first, and no attempt was counted', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.record(lessonOf(await asking(bench)))
  bench.clock.pass(1_000)
  expect(await bench.reserveOne()).toMatchObject({ tries: 0, urls: [{ id: 'a' }] })
})

test('rested silence counts, but never more than the exchange could have left', async () => {
  const bench = await emptyLedger(redis)
  const lane = await asking(bench)
  const startedAt = bench.clock.now
  bench.clock.pass(100)
  await bench.ledger.record(lessonOf(lane, { elapsedMs: 5_000 }))
  expect(await bench.dueOf()).toBe(startedAt + 1_000)
})

test('a body survives octets of every value', async () => {
  const bench = await emptyLedger(redis)
  const all = Uint8Array.from({ length: 512 }, (_, i) => i % 256)
  await bench.ledger.record(lessonOf(await asking(bench), { body: { hash: 'abc', bytes: all } }))
  expect(new Uint8Array((await bench.ledger.body(0, 'abc'))!)).toEqual(all)
})

test('an empty body is a body', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.record(lessonOf(await asking(bench), { body: { hash: 'abc', bytes: new Uint8Array(0) } }))
  expect(await bench.ledger.body(0, 'abc')).toEqual(Buffer.alloc(0))
})

test('a copy confirmed without a body lives on as long as a new one', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, raw, clock, reserveOne, startPage } = bench
  await ledger.record(lessonOf(await asking(bench)))
  await raw.pexpire(keys.body('abc'), 60_000)
  clock.pass(1_000)
  const lane = await reserveOne()
  await startPage(lane, { kind: 'robots', version: 1 })
  const { body: _, ...confirmed } = lessonOf(lane)
  await ledger.record(confirmed)
  expect(await raw.pttl(keys.body('abc'))).toBeGreaterThan(30 * 86_400_000)
  expect(await raw.pttl(keys.origin(ORIGIN))).toBeGreaterThan(30 * 86_400_000)
})

test('only the holder of the robots fetch may record: not another fence, a lease that is over, a fetch that has been recorded', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, reserveOne, startPage } = bench
  const lane = await asking(bench)
  expect(await ledger.record(lessonOf(lane, { fence: lane.fence + 1 }))).toBe('stale')
  expect(await ledger.record(lessonOf(lane, { agent: 'other' }))).toBe('stale')
  expect(await ledger.record(lessonOf(lane))).toBe('completed')
  expect(await ledger.record(lessonOf(lane)), 'a second time').toBe('stale')
  clock.pass(1_000)
  const late = await reserveOne()
  await startPage(late, { kind: 'robots', version: 1 })
  clock.pass(LEASE)
  await ledger.reap(0)
  expect(await ledger.record(lessonOf(late)), 'after its lease was reaped').toBe('stale')
  expect((await ledger.robotsStates(0, [ORIGIN]))[0]?.version).toBe(1)
  expect((await ledger.viewPartition(0)).counts).toMatchObject({ 'stale-record': 4 })
})

test('a page lease gives no right to record a robots answer', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a'))
  const lane = await bench.reserveOne()
  expect(await bench.ledger.record(lessonOf(lane)), 'not started').toBe('stale')
  await bench.startPage(lane)
  expect(await bench.ledger.record(lessonOf(lane))).toBe('stale')
})

test('for a process that died during its robots fetch: what is known is written under its fence, no lease is changed', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, dueOf } = bench
  const lane = await asking(bench)
  clock.pass(LEASE)
  const { robotsFetches } = await ledger.reap(0)
  expect(robotsFetches).toEqual([{ agent: AGENT, origin: ORIGIN, fence: lane.fence, version: 0, state: {} }])
  const due = await dueOf()
  const word = { ...robotsFetches[0]!, withPage: true, state: { notBefore: 99 }, delays: [], delayMs: 0, elapsedMs: 0 }
  expect(await ledger.record(word)).toBe('completed')
  expect(await ledger.record(word), 'two gateways may reap; one speaks').toBe('stale')
  expect(await dueOf()).toBe(due)
  expect(await ledger.robotsStates(0, [ORIGIN])).toEqual([{ version: 1, state: { notBefore: 99 } }])
})

test('lanes of the origin that wait for the answer are woken at their own due times, not before', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, dueOf, reserve } = bench
  await silentLane(bench, 'silent', 3_000)
  const silentUntil = clock.now + 3_000
  await ledger.store(0, urls('a'))
  await ledger.store(0, [url('i', { agent: 'idle' })])
  const idleSince = clock.now
  const lanes = await reserve({ aheadMs: 10_000 })
  const asker = lanes.find(({ agent }) => agent === AGENT)!
  await bench.startPage(asker, { kind: 'robots' })
  const until = clock.now + LEASE + QUARANTINE
  for (const agent of ['silent', 'idle']) {
    const lane = lanes.find((one) => one.agent === agent)!
    await ledger.resolve(0, [{ ...lane, dropped: [], next: { kind: 'defer', until, why: 'robots-in-flight' } }])
    expect(await dueOf(agent)).toBe(until)
  }
  const same = ['silent', 'idle', AGENT].map((agent) => ({ agent, delayMs: 1_000 }))
  await ledger.record(lessonOf(asker, { delays: same }))
  expect(await dueOf('silent')).toBe(silentUntil)
  expect(await dueOf('idle')).toBe(idleSince)
})

test('a lane is judged anew when its origin changed between its reservation and what became of it', async () => {
  const { ledger, clock, dueOf, reserveOne } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const later = { kind: 'defer' as const, until: clock.now + 3_600_000, why: 'visiting-hours' as const }
  await ledger.resolve(0, [{ ...(await reserveOne()), dropped: [], next: later }])
  expect(await dueOf()).toBe(later.until)

  clock.now = later.until
  const reserved = await reserveOne()
  const operator = { origin: ORIGIN, by: 'ann', reason: 'they wrote to us' }
  await ledger.operate({ ...operator, action: 'pause', until: clock.now + 1_000 }, [AGENT])
  await ledger.operate({ ...operator, action: 'resume' }, [AGENT])
  await ledger.resolve(0, [{ ...reserved, dropped: [], next: { ...later, until: clock.now + 3_600_000 } }])
  expect(await dueOf()).toBeLessThanOrEqual(clock.now)
})

test('waking does not open a site that is in back-off', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, dueOf, reserve, setOrigin } = bench
  const asker = await asking(bench)
  await ledger.store(0, [url('b', { agent: 'other' })])
  await setOrigin({ backOffUntil: clock.now + 60_000 })
  await reserve()
  expect(await dueOf('other')).toBe(clock.now + 60_000)
  await ledger.record(lessonOf(asker, { delays: [{ agent: 'other', delayMs: 1_000 }] }))
  expect(await reserve()).toEqual([])
  expect(await dueOf('other')).toBe(clock.now + 60_000)
})

// --- a longer delay counts at once ---------------------------------------------------------------------------------

const longer = [AGENT, 'other'].map((agent) => ({ agent, delayMs: 9_000, clampedFrom: 30 }))
const usual = [AGENT, 'other'].map((agent) => ({ agent, delayMs: 1_000 }))

/** The rules are known, with the usual delay, and AGENT's lane is asking again. */
async function askingAgain(bench: Bench): Promise<ReservedLane> {
  await bench.ledger.record(lessonOf(await asking(bench), { delays: usual }))
  bench.clock.pass(1_000)
  const lane = await bench.reserveOne()
  await bench.startPage(lane, { kind: 'robots', version: 1 })
  return lane
}

test('the lane that asked owes the delay that it has just recorded', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.record(lessonOf(await asking(bench), { delays: longer, delayMs: 1_000 }))
  expect(await bench.dueOf()).toBe(bench.clock.now + 9_000)
})

test('a lane that asked owes the delay that was known before, also when the answer says nothing of it', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.record(lessonOf(await asking(bench), { delays: longer, delayMs: 9_000 }))
  bench.clock.pass(9_000)
  const again = await bench.reserveOne()
  await bench.startPage(again, { kind: 'robots', version: 1 })
  await bench.ledger.record(lessonOf(again, { delays: [{ agent: AGENT }, { agent: 'other' }], delayMs: 1_000 }))
  expect(await bench.dueOf()).toBe(bench.clock.now + 9_000)
  expect((await bench.ledger.viewOrigin(ORIGIN, [])).delays).toEqual(expect.arrayContaining(longer))
})

test('a silence that is running grows by the difference', async () => {
  const bench = await emptyLedger(redis)
  const asker = await askingAgain(bench)
  await silentLane(bench, 'other', 1_000)
  const end = bench.clock.now
  bench.clock.pass(300)
  await bench.ledger.record(lessonOf(asker, { delays: longer }))
  expect(await bench.dueOf('other')).toBe(end + 9_000)
})

test('a delay that is over, in a lane that has not been reserved yet, grows too', async () => {
  const bench = await emptyLedger(redis)
  const asker = await askingAgain(bench)
  await silentLane(bench, 'other', 1_000)
  const end = bench.clock.now
  bench.clock.pass(2_000)
  await bench.ledger.record(lessonOf(asker, { delays: longer }))
  expect(await bench.dueOf('other')).toBe(end + 9_000)
})

test('a lane that is reserved and not started goes back to the longer silence', async () => {
  const bench = await emptyLedger(redis)
  const asker = await askingAgain(bench)
  await silentLane(bench, 'other', 1_000)
  const end = bench.clock.now
  bench.clock.pass(990)
  const reserved = (await bench.reserve({ aheadMs: 100 })).find(({ agent }) => agent === 'other')!
  await bench.ledger.record(lessonOf(asker, { delays: longer }))
  bench.clock.pass(10)
  expect(await bench.startPage(reserved, { version: 1 })).toEqual({ kind: 'refused', why: 'rules-changed' })
  expect(await bench.dueOf('other')).toBe(end + 9_000)
})

test('a lane that is deferred is woken to the longer silence', async () => {
  const bench = await emptyLedger(redis)
  const asker = await askingAgain(bench)
  await silentLane(bench, 'other', 1_000)
  const end = bench.clock.now
  const lane = (await bench.reserve({ aheadMs: 5_000 })).find(({ agent }) => agent === 'other')!
  await bench.ledger.resolve(0, [
    { ...lane, dropped: [], next: { kind: 'defer', until: end + 50_000, why: 'robots-unreachable' } },
  ])
  await bench.ledger.record(lessonOf(asker, { delays: longer }))
  expect(await bench.dueOf('other')).toBe(end + 9_000)
})

test('a lane in flight owes the longer silence when its exchange ends', async () => {
  const bench = await emptyLedger(redis)
  const asker = await askingAgain(bench)
  await bench.ledger.store(0, [url('o', { agent: 'other' })])
  const other = await bench.reserveOne()
  await bench.startPage(other, { delayMs: 1_000, version: 1 })
  await bench.ledger.record(lessonOf(asker, { delays: longer }))
  bench.clock.pass(500)
  await bench.finish(other, { delayMs: 1_000 })
  expect(await bench.dueOf('other')).toBe(bench.clock.now + 9_000)
})

test('a shorter delay changes no silence that is running', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.record(lessonOf(await asking(bench), { delays: longer, delayMs: 9_000 }))
  bench.clock.pass(9_000)
  const asker = await bench.reserveOne()
  await silentLane(bench, 'other', 9_000)
  const end = bench.clock.now
  await bench.startPage(asker, { kind: 'robots', version: 1 })
  await bench.ledger.record(lessonOf(asker, { delays: usual, delayMs: 9_000 }))
  expect(await bench.dueOf('other')).toBe(end + 9_000)
  expect(await bench.dueOf(AGENT)).toBe(bench.clock.now + 9_000)
  expect((await bench.ledger.viewOrigin(ORIGIN, [])).delays).toEqual(expect.arrayContaining(usual))
})

test('a delay that was clamped can be listed, with what the site wrote, until the site writes another', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, reserveOne, startPage } = bench
  await ledger.record(lessonOf(await asking(bench), { delays: longer, delayMs: 9_000 }))
  expect((await ledger.viewOrigin(ORIGIN, [])).delays).toEqual(expect.arrayContaining(longer))
  expect((await ledger.viewPartition(0)).counts).toMatchObject({ clamped: 2 })
  clock.pass(9_000)
  const lane = await reserveOne()
  await startPage(lane, { kind: 'robots', version: 1 })
  await ledger.record(lessonOf(lane, { delays: usual }))
  expect((await ledger.viewOrigin(ORIGIN, [])).delays).toEqual(expect.arrayContaining(usual))
})

test('an order that rests on the rules before the robotsRecord is refused', async () => {
  const bench = await emptyLedger(redis)
  const asker = await asking(bench)
  await bench.ledger.store(0, [url('b', { agent: 'other' })])
  const other = await bench.reserveOne()
  await bench.ledger.record(lessonOf(asker))
  expect(await bench.startPage(other, { version: 0 })).toEqual({ kind: 'refused', why: 'rules-changed' })
})
