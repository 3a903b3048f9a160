/** learn: a robots answer, under the fence of who asked. */
import { expect, test } from 'vitest'
import type { Lesson, TakenLane } from '../../packages/ledger/src/index.ts'
import { redisForTest } from '../support/redis.ts'
import { AGENT, emptyLedger, LEASE, ORIGIN, QUARANTINE, TAG, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
type Bench = Awaited<ReturnType<typeof emptyLedger>>

const octets = new TextEncoder().encode('user-agent: *\ncrawl-delay: 9\n')
const copy = { kind: 'ok' as const, hash: 'abc', at: 1 }

/** What the asker of `lane` has to say. */
const lessonOf = (lane: TakenLane, more: Partial<Lesson> = {}): Lesson => ({
  agent: lane.agent,
  origin: lane.origin,
  fence: lane.fence,
  state: { copy },
  body: { hash: 'abc', octets },
  gaps: [],
  gapMs: 1_000,
  restedMs: 0,
  ...more,
})

/** A lane that is asking for robots.txt. */
async function asking({ ledger, takeOne, beginPage }: Bench): Promise<TakenLane> {
  await ledger.park(0, urls('a'))
  const lane = await takeOne()
  expect(await beginPage(lane, { kind: 'robots', version: lane.robots.version })).toMatchObject({ kind: 'granted' })
  return lane
}

/** A silence of `gapMs` that has just begun in a lane of another agent of the same origin, with a URL waiting behind it. */
async function silentLane(bench: Bench, agent: string, gapMs: number): Promise<void> {
  await bench.ledger.park(0, [url(`${agent}1`, { agent }), url(`${agent}2`, { agent })])
  const lane = (await bench.take()).find((one) => one.agent === agent)
  if (lane === undefined) throw new Error('it is due')
  await bench.beginPage(lane, { gapMs, version: lane.robots.version })
  await bench.finish(lane, { gapMs })
}

test('state, version and body are known to everybody from then on; the lease ends and the lane owes its gap', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, raw, clock, dueOf, takeOne } = bench
  const lane = await asking(bench)
  clock.pass(400)
  const state = { copy, answer: { kind: 'ok' as const, status: 200, at: 5, jitter: 0 } }
  expect(await ledger.learn(lessonOf(lane, { state: { ...state, question: { fence: 1, until: 2 } } }))).toBe('settled')
  expect(await ledger.robotsStates(0, [ORIGIN, 'http://unknown.test'])).toEqual([
    { version: 1, state },
    { version: 0, state: {} },
  ])
  expect(await ledger.body(0, 'abc')).toEqual(Buffer.from(octets))
  expect(await ledger.body(0, 'none')).toBeUndefined()
  expect(await dueOf()).toBe(clock.now + 1_000)
  expect(await raw.zcard(`${TAG}:inflight`)).toBe(0)
  clock.pass(1_000)
  expect((await takeOne()).robots).toEqual({ version: 1, state })
})

test('the head that only waited is still there, and no attempt was counted', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.learn(lessonOf(await asking(bench)))
  bench.clock.pass(1_000)
  expect(await bench.takeOne()).toMatchObject({ tries: 0, heads: [{ id: 'a' }] })
})

test('rested silence counts, but never more than the exchange could have left', async () => {
  const bench = await emptyLedger(redis)
  const lane = await asking(bench)
  const begunAt = bench.clock.now
  bench.clock.pass(100)
  await bench.ledger.learn(lessonOf(lane, { restedMs: 5_000 }))
  expect(await bench.dueOf()).toBe(begunAt + 1_000)
})

test('a body survives octets of every value', async () => {
  const bench = await emptyLedger(redis)
  const all = Uint8Array.from({ length: 512 }, (_, i) => i % 256)
  await bench.ledger.learn(lessonOf(await asking(bench), { body: { hash: 'abc', octets: all } }))
  expect(new Uint8Array((await bench.ledger.body(0, 'abc'))!)).toEqual(all)
})

test('an empty body is a body', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.learn(lessonOf(await asking(bench), { body: { hash: 'abc', octets: new Uint8Array(0) } }))
  expect(await bench.ledger.body(0, 'abc')).toEqual(Buffer.alloc(0))
})

test('a copy confirmed without a body lives on as long as a new one', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, raw, clock, takeOne, beginPage } = bench
  await ledger.learn(lessonOf(await asking(bench)))
  await raw.pexpire(`${TAG}:b:abc`, 60_000)
  clock.pass(1_000)
  const lane = await takeOne()
  await beginPage(lane, { kind: 'robots', version: 1 })
  const { body: _, ...confirmed } = lessonOf(lane)
  await ledger.learn(confirmed)
  expect(await raw.pttl(`${TAG}:b:abc`)).toBeGreaterThan(30 * 86_400_000)
  expect(await raw.pttl(`${TAG}:o:${ORIGIN}`)).toBeGreaterThan(30 * 86_400_000)
})

test('only the asker may teach: another fence, a lease that is over, a question that is answered', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, takeOne, beginPage } = bench
  const lane = await asking(bench)
  expect(await ledger.learn(lessonOf(lane, { fence: lane.fence + 1 }))).toBe('stale')
  expect(await ledger.learn(lessonOf(lane, { agent: 'other' }))).toBe('stale')
  expect(await ledger.learn(lessonOf(lane))).toBe('settled')
  expect(await ledger.learn(lessonOf(lane)), 'a second time').toBe('stale')
  clock.pass(1_000)
  const late = await takeOne()
  await beginPage(late, { kind: 'robots', version: 1 })
  clock.pass(LEASE)
  await ledger.reap(0)
  expect(await ledger.learn(lessonOf(late)), 'after its lease was reaped').toBe('stale')
  expect((await ledger.robotsStates(0, [ORIGIN]))[0]?.version).toBe(1)
  expect((await ledger.viewPartition(0)).counts).toMatchObject({ 'stale-learn': 4 })
})

test('a page lease gives no right to teach', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.park(0, urls('a'))
  const lane = await bench.takeOne()
  expect(await bench.ledger.learn(lessonOf(lane)), 'not begun').toBe('stale')
  await bench.beginPage(lane)
  expect(await bench.ledger.learn(lessonOf(lane))).toBe('stale')
})

test('for an asker that died: what is known is written under its fence, no lease is touched', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, dueOf } = bench
  const lane = await asking(bench)
  clock.pass(LEASE)
  const { questions } = await ledger.reap(0)
  expect(questions).toEqual([{ agent: AGENT, origin: ORIGIN, fence: lane.fence, version: 0, state: {} }])
  const due = await dueOf()
  const word = { ...questions[0]!, forAsker: true, state: { notBefore: 99 }, gaps: [], gapMs: 0, restedMs: 0 }
  expect(await ledger.learn(word)).toBe('settled')
  expect(await ledger.learn(word), 'two gateways may reap; one speaks').toBe('stale')
  expect(await dueOf()).toBe(due)
  expect(await ledger.robotsStates(0, [ORIGIN])).toEqual([{ version: 1, state: { notBefore: 99 } }])
})

test('lanes of the origin that wait for the answer are woken to their own clocks, not below', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, dueOf, take } = bench
  await silentLane(bench, 'silent', 3_000)
  const silentUntil = clock.now + 3_000
  await ledger.park(0, urls('a'))
  await ledger.park(0, [url('i', { agent: 'idle' })])
  const idleSince = clock.now
  const lanes = await take({ aheadMs: 10_000 })
  const asker = lanes.find(({ agent }) => agent === AGENT)!
  await bench.beginPage(asker, { kind: 'robots' })
  const until = clock.now + LEASE + QUARANTINE
  for (const agent of ['silent', 'idle']) {
    const lane = lanes.find((one) => one.agent === agent)!
    await ledger.resolve(0, [{ ...lane, dropped: [], next: { kind: 'defer', until, why: 'robots-being-asked' } }])
    expect(await dueOf(agent)).toBe(until)
  }
  const same = ['silent', 'idle', AGENT].map((agent) => ({ agent, gapMs: 1_000 }))
  await ledger.learn(lessonOf(asker, { gaps: same }))
  expect(await dueOf('silent')).toBe(silentUntil)
  expect(await dueOf('idle')).toBe(idleSince)
})

test('waking does not open a site that is in back-off', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, raw, clock, dueOf, take } = bench
  const asker = await asking(bench)
  await ledger.park(0, [url('b', { agent: 'other' })])
  await raw.hset(`${TAG}:o:${ORIGIN}`, 'bu', String(clock.now + 60_000))
  await take()
  expect(await dueOf('other')).toBe(clock.now + 60_000)
  await ledger.learn(lessonOf(asker, { gaps: [{ agent: 'other', gapMs: 1_000 }] }))
  expect(await take()).toEqual([])
  expect(await dueOf('other')).toBe(clock.now + 60_000)
})

// --- a longer gap counts at once ---------------------------------------------------------------------------------

const longer = [AGENT, 'other'].map((agent) => ({ agent, gapMs: 9_000, clampedFrom: 30 }))
const usual = [AGENT, 'other'].map((agent) => ({ agent, gapMs: 1_000 }))

/** The rules are known, with the usual gap, and AGENT's lane is asking again. */
async function askingAgain(bench: Bench): Promise<TakenLane> {
  await bench.ledger.learn(lessonOf(await asking(bench), { gaps: usual }))
  bench.clock.pass(1_000)
  const lane = await bench.takeOne()
  await bench.beginPage(lane, { kind: 'robots', version: 1 })
  return lane
}

test('the lane that asked owes the gap that it has just learned', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.learn(lessonOf(await asking(bench), { gaps: longer, gapMs: 1_000 }))
  expect(await bench.dueOf()).toBe(bench.clock.now + 9_000)
})

test('a lane that asked owes the delay that was known before, also when the answer says nothing of it', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.learn(lessonOf(await asking(bench), { gaps: longer, gapMs: 9_000 }))
  bench.clock.pass(9_000)
  const again = await bench.takeOne()
  await bench.beginPage(again, { kind: 'robots', version: 1 })
  await bench.ledger.learn(lessonOf(again, { gaps: [{ agent: AGENT }, { agent: 'other' }], gapMs: 1_000 }))
  expect(await bench.dueOf()).toBe(bench.clock.now + 9_000)
  expect((await bench.ledger.viewOrigin(ORIGIN, [])).gaps).toEqual(expect.arrayContaining(longer))
})

test('a silence that is running grows by the difference', async () => {
  const bench = await emptyLedger(redis)
  const asker = await askingAgain(bench)
  await silentLane(bench, 'other', 1_000)
  const end = bench.clock.now
  bench.clock.pass(300)
  await bench.ledger.learn(lessonOf(asker, { gaps: longer }))
  expect(await bench.dueOf('other')).toBe(end + 9_000)
})

test('a silence that is over, in a lane that has not been taken yet, grows too', async () => {
  const bench = await emptyLedger(redis)
  const asker = await askingAgain(bench)
  await silentLane(bench, 'other', 1_000)
  const end = bench.clock.now
  bench.clock.pass(2_000)
  await bench.ledger.learn(lessonOf(asker, { gaps: longer }))
  expect(await bench.dueOf('other')).toBe(end + 9_000)
})

test('a lane that is reserved and not begun goes back to the longer silence', async () => {
  const bench = await emptyLedger(redis)
  const asker = await askingAgain(bench)
  await silentLane(bench, 'other', 1_000)
  const end = bench.clock.now
  bench.clock.pass(990)
  const reserved = (await bench.take({ aheadMs: 100 })).find(({ agent }) => agent === 'other')!
  await bench.ledger.learn(lessonOf(asker, { gaps: longer }))
  bench.clock.pass(10)
  expect(await bench.beginPage(reserved, { version: 1 })).toEqual({ kind: 'refused', why: 'rules-changed' })
  expect(await bench.dueOf('other')).toBe(end + 9_000)
})

test('a lane that is deferred is woken to the longer silence', async () => {
  const bench = await emptyLedger(redis)
  const asker = await askingAgain(bench)
  await silentLane(bench, 'other', 1_000)
  const end = bench.clock.now
  const lane = (await bench.take({ aheadMs: 5_000 })).find(({ agent }) => agent === 'other')!
  await bench.ledger.resolve(0, [
    { ...lane, dropped: [], next: { kind: 'defer', until: end + 50_000, why: 'robots-unreachable' } },
  ])
  await bench.ledger.learn(lessonOf(asker, { gaps: longer }))
  expect(await bench.dueOf('other')).toBe(end + 9_000)
})

test('a lane in flight owes the longer silence when its exchange ends', async () => {
  const bench = await emptyLedger(redis)
  const asker = await askingAgain(bench)
  await bench.ledger.park(0, [url('o', { agent: 'other' })])
  const other = await bench.takeOne()
  await bench.beginPage(other, { gapMs: 1_000, version: 1 })
  await bench.ledger.learn(lessonOf(asker, { gaps: longer }))
  bench.clock.pass(500)
  await bench.finish(other, { gapMs: 1_000 })
  expect(await bench.dueOf('other')).toBe(bench.clock.now + 9_000)
})

test('a shorter gap changes no silence that is running', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.learn(lessonOf(await asking(bench), { gaps: longer, gapMs: 9_000 }))
  bench.clock.pass(9_000)
  const asker = await bench.takeOne()
  await silentLane(bench, 'other', 9_000)
  const end = bench.clock.now
  await bench.beginPage(asker, { kind: 'robots', version: 1 })
  await bench.ledger.learn(lessonOf(asker, { gaps: usual, gapMs: 9_000 }))
  expect(await bench.dueOf('other')).toBe(end + 9_000)
  expect(await bench.dueOf(AGENT)).toBe(bench.clock.now + 9_000)
  expect((await bench.ledger.viewOrigin(ORIGIN, [])).gaps).toEqual(expect.arrayContaining(usual))
})

test('a gap that was clamped can be listed, with what the site wrote, until the site writes another', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, takeOne, beginPage } = bench
  await ledger.learn(lessonOf(await asking(bench), { gaps: longer, gapMs: 9_000 }))
  expect((await ledger.viewOrigin(ORIGIN, [])).gaps).toEqual(expect.arrayContaining(longer))
  expect((await ledger.viewPartition(0)).counts).toMatchObject({ clamped: 2 })
  clock.pass(9_000)
  const lane = await takeOne()
  await beginPage(lane, { kind: 'robots', version: 1 })
  await ledger.learn(lessonOf(lane, { gaps: usual }))
  expect((await ledger.viewOrigin(ORIGIN, [])).gaps).toEqual(expect.arrayContaining(usual))
})

test('an order that rests on the rules before the lesson is refused', async () => {
  const bench = await emptyLedger(redis)
  const asker = await asking(bench)
  await bench.ledger.park(0, [url('b', { agent: 'other' })])
  const other = await bench.takeOne()
  await bench.ledger.learn(lessonOf(asker))
  expect(await bench.beginPage(other, { version: 0 })).toEqual({ kind: 'refused', why: 'rules-changed' })
})
