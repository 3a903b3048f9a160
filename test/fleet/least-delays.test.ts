/** What the ledger owes a lane at least, whoever asks: the configuration's delay, on a clock that the test moves. */
import { expect, test } from 'vitest'
import {
  AGENT,
  type Bench,
  emptyLedger,
  LEASE,
  ORIGIN,
  outcomeOf,
  QUARANTINE,
  url,
  urls,
} from '../ledger/ledger-for-test.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()

/** One exchange that owes `delayMs`, as a process believes that knows no newer configuration. */
async function exchange({ ledger, reserveOne, startPage }: Bench, delayMs: number): Promise<void> {
  const lane = await reserveOne()
  expect(await startPage({ ...lane, delayMs })).toMatchObject({ kind: 'granted' })
  const { agent, origin, fence } = lane
  const id = lane.urls[0]?.id ?? ''
  await ledger.complete({
    agent,
    origin,
    fence,
    delayMs,
    elapsedMs: 0,
    load: { kind: 'normal' },
    outcome: outcomeOf(id),
  })
}
const ask = ({ ledger }: Bench, version: number, delayMs: number) =>
  ledger.setRates({ version, leastDelays: [{ agent: AGENT, delayMs }], sitePolicies: [] })

/** How long after now the lane is first begun, ms, asked for every 100 ms. */
async function firstGrant({ ledger, clock, reserve, startPage }: Bench): Promise<number> {
  for (let waited = 0; waited <= 60_000; waited += 100) {
    const [lane] = await reserve()
    if (lane !== undefined && (await startPage(lane)).kind === 'granted') return waited
    await ledger.reap(0)
    clock.pass(100)
  }
  throw new Error('it was never begun')
}

test('a process that believes in a shorter delay owes the configured one all the same', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a', 'b'))
  await ask(bench, 1, 3_000)
  await exchange(bench, 50)
  bench.clock.pass(2_900)
  expect(await bench.reserve()).toEqual([])
  bench.clock.pass(100)
  expect(await bench.reserve()).toHaveLength(1)
})

test('a least delay that is raised holds at once: a delay that runs is waited for until it is as long', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a', 'b'))
  await ask(bench, 1, 1_000)
  await exchange(bench, 1_000)
  bench.clock.pass(500)
  await ask(bench, 2, 4_000)
  const waited = await firstGrant(bench)
  expect(waited, 'after the raise, half a second after the exchange').toBeGreaterThanOrEqual(3_500)
  expect(waited, 'and it does not wait for ever').toBeLessThanOrEqual(4_100)
})

test('a lane that has been reserved before the raise is not begun early either', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a', 'b'))
  await ask(bench, 1, 1_000)
  await exchange(bench, 1_000)
  bench.clock.pass(1_000)
  const lane = await bench.reserveOne()
  await ask(bench, 2, 4_000)
  expect(await bench.startPage(lane)).toEqual({ kind: 'refused', why: 'delay' })
  expect(await firstGrant(bench)).toBeGreaterThanOrEqual(3_000)
})

test('a lane that has been silent for long is held up by one new delay at most', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a', 'b'))
  await ask(bench, 1, 1_000)
  await exchange(bench, 1_000)
  bench.clock.pass(10_000)
  await ask(bench, 2, 4_000)
  expect(await firstGrant(bench)).toBeLessThanOrEqual(4_000)
})

test('two raises in a row: what began under the first of them is waited for under the last', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a', 'b'))
  await ask(bench, 1, 1_000)
  await exchange(bench, 1_000)
  await ask(bench, 2, 2_000)
  bench.clock.pass(100)
  await ask(bench, 3, 5_000)
  expect(await firstGrant(bench)).toBeGreaterThanOrEqual(4_900)
})

test('a least delay that is lowered holds from the next delay on', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a', 'b', 'c'))
  await ask(bench, 1, 4_000)
  await exchange(bench, 1_000)
  await ask(bench, 2, 1_000)
  bench.clock.pass(3_900)
  expect(await bench.reserve(), 'the delay that runs stays').toEqual([])
  bench.clock.pass(100)
  await exchange(bench, 1_000)
  bench.clock.pass(1_000)
  expect(await bench.reserve()).toHaveLength(1)
})

test('an older version changes nothing, and the same one may be told twice', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a', 'b'))
  await ask(bench, 5, 3_000)
  await ask(bench, 4, 10)
  await ask(bench, 5, 3_000)
  await exchange(bench, 10)
  bench.clock.pass(2_900)
  expect(await bench.reserve()).toEqual([])
})

test('a fetcher that is lost costs the configured delay and the quarantine', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a', 'b'))
  await ask(bench, 1, 5_000)
  const lane = await bench.reserveOne()
  expect(await bench.startPage({ ...lane, delayMs: 10 })).toMatchObject({ kind: 'granted' })
  bench.clock.pass(LEASE)
  expect(await bench.ledger.reap(0)).toMatchObject({ started: 1 })
  bench.clock.pass(QUARANTINE + 4_900)
  expect(await bench.reserve()).toEqual([])
  bench.clock.pass(100)
  expect(await bench.reserve()).toHaveLength(1)
})

test('an agent that the configuration does not name owes what its processes say', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, [url('a'), url('b')])
  await bench.ledger.setRates({
    version: 1,
    leastDelays: [{ agent: 'another', delayMs: 9_000 }],
    sitePolicies: [],
  })
  await exchange(bench, 200)
  bench.clock.pass(200)
  expect((await bench.reserve()).map(({ origin }) => origin)).toEqual([ORIGIN])
})

test('each of several agents has a least delay of its own', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a', 'b'))
  const askedOf = (own: number) => [
    { agent: 'another', delayMs: 9_000 },
    { agent: AGENT, delayMs: own },
    { agent: 'a-third', delayMs: 50 },
  ]
  await bench.ledger.setRates({ version: 1, leastDelays: askedOf(1_000), sitePolicies: [] })
  await exchange(bench, 1_000)
  await bench.ledger.setRates({ version: 2, leastDelays: askedOf(3_000), sitePolicies: [] })
  const waited = await firstGrant(bench)
  expect(waited).toBeGreaterThanOrEqual(3_000)
  expect(waited).toBeLessThanOrEqual(3_100)
})
