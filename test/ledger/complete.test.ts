/** complete and resolve: a lease ends with its outcome and its next due time in one step, or nothing changes. */

import type { SiteLoad } from '@decorum/ledger'
import { expect, onTestFinished, test, vi } from 'vitest'
import { laneUrls } from '../support/lane-urls.ts'
import { redisForTest } from '../support/redis.ts'
import {
  AGENT,
  emptyLedger,
  keys,
  LEASE,
  ORIGIN,
  outcomeOf,
  QUARANTINE,
  RESERVE,
  recordDelay,
  TAG,
  url,
  urls,
} from './ledger-for-test.ts'

const redis = await redisForTest()

test('the outcome is written, the URL leaves, its id is free and the silence runs', async () => {
  const { ledger, raw, clock, reserveOne, startPage, finish, outcomes, dueOf } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b'))
  const lane = await reserveOne()
  await startPage(lane)
  clock.pass(300)
  expect(await finish(lane, { delayMs: 1_000 })).toBe('completed')
  expect(await outcomes()).toEqual([outcomeOf('a')])
  expect(await laneUrls(raw, TAG, `${AGENT} ${ORIGIN}`)).toEqual([expect.stringMatching(/^\/b /)])
  expect(await dueOf()).toBe(clock.now + 1_000)
  expect(await raw.zcard(keys.inFlight)).toBe(0)
  expect(await raw.hlen(keys.leases)).toBe(0)
  expect((await ledger.viewPartition(0)).counts).toMatchObject({ parked: 2, left: 1, failed: 1 })
})

test('a lane that owes nothing and holds nothing is forgotten at once; one with work is not', async () => {
  const { ledger, raw, reserveOne, startPage, finish, dueOf, clock } = await emptyLedger(redis)
  await ledger.store(0, [url('a'), url('b', { priority: 'high' })])
  for (const left of [clock.now, undefined]) {
    const lane = await reserveOne()
    await startPage(lane, { delayMs: 0 })
    await finish(lane, { delayMs: 0 })
    expect(await dueOf()).toBe(left)
  }
  expect(await raw.exists(keys.lanes)).toBe(0)
})

test('the delay counts from the end of the exchange, not from its beginning', async () => {
  const { ledger, clock, reserveOne, startPage, finish, dueOf } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await startPage(lane, { delayMs: 1_000 })
  clock.pass(20_000)
  await finish(lane, { delayMs: 1_000 })
  expect(await dueOf()).toBe(clock.now + 1_000)
})

test('ends of exchanges are completed together, and the delay of each counts from its own end', async () => {
  const verbs: string[] = []
  const gatherMs = 200
  const bench = await emptyLedger(redis, { gatherMs, onCall: (verb) => void verbs.push(verb) })
  const { ledger, clock, reserve, startPage, finish, dueOf } = bench
  await ledger.store(0, [url('a'), url('b', { origin: 'http://other.test' })])
  const lanes = await reserve()
  for (const lane of lanes) await startPage(lane, { delayMs: 100_000 })
  clock.pass(20_000)
  const began = performance.now()
  expect(await Promise.all(lanes.map((lane) => finish(lane, { delayMs: 100_000, elapsedMs: 500 })))).toEqual([
    'completed',
    'completed',
  ])
  const waited = performance.now() - began
  expect(verbs.filter((verb) => verb === 'complete')).toHaveLength(1)
  const due = (await dueOf()) ?? 0
  expect(due).toBeLessThan(clock.now + 99_501 - gatherMs)
  expect(due).toBeGreaterThanOrEqual(clock.now + 99_499 - waited)
})

test.each([
  { why: 'a short delay', end: { delayMs: 50 } },
  { why: 'a site that asks for less', end: { delayMs: 100_000, load: { kind: 'asked-for-less' } as const } },
])('the end of an exchange does not wait for others: $why', async ({ end }) => {
  vi.useFakeTimers({ toFake: ['setTimeout'] }) // a wait would not end
  onTestFinished(() => void vi.useRealTimers())
  const { ledger, reserveOne, startPage } = await emptyLedger(redis, { gatherMs: 20, callDeadlineMs: 2 ** 30 })
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await startPage(lane, { delayMs: end.delayMs })
  const { agent, origin, fence } = lane
  const told = { agent, origin, fence, elapsedMs: 0, load: { kind: 'normal' } as const, outcome: outcomeOf('a') }
  expect(await ledger.complete({ ...told, ...end })).toBe('completed')
})

test('silence that was kept already counts, but never more than the exchange could have left', async () => {
  const { ledger, clock, reserveOne, startPage, finish, dueOf } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b'))
  const first = await reserveOne()
  await startPage(first)
  clock.pass(800)
  await finish(first, { delayMs: 1_000, elapsedMs: 300 })
  expect(await dueOf()).toBe(clock.now + 700)
  clock.pass(700)
  const second = await reserveOne()
  const startedAt = clock.now
  await startPage(second)
  clock.pass(50)
  await finish(second, { delayMs: 1_000, elapsedMs: 900_000 })
  expect(await dueOf(), 'a liar gains no more than the exchange itself').toBe(startedAt + 1_000)
})

test('fractions of a millisecond are kept and never shorten a silence', async () => {
  const { ledger, clock, reserveOne, startPage, finish, reserve, dueOf } = await emptyLedger(redis)
  clock.pass(0.123)
  await ledger.store(0, urls('a', 'b'))
  const lane = await reserveOne()
  await startPage(lane)
  clock.pass(10.5)
  await finish(lane, { delayMs: 100, elapsedMs: 0.25 })
  expect(await dueOf()).toBeGreaterThanOrEqual(clock.now + 99.75 - 0.001)
  clock.pass(99.7)
  expect(await reserve()).toEqual([])
  clock.pass(0.06)
  expect(await reserve()).toHaveLength(1)
})

test('without an outcome the URL stays first and its attempt is counted', async () => {
  const { ledger, clock, reserveOne, startPage, outcomes } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b'))
  for (let tries = 0; tries < 3; tries++) {
    const lane = await reserveOne()
    expect(lane).toMatchObject({ tries, urls: [{ id: 'a' }] })
    await startPage(lane)
    expect(await ledger.complete({ ...lane, delayMs: 5, elapsedMs: 0, load: { kind: 'normal' } })).toBe('completed')
    clock.pass(5)
  }
  expect(await outcomes()).toEqual([])
})

test('the attempts of one URL are not those of the next', async () => {
  const { ledger, clock, reserveOne, startPage, finish } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b'))
  const first = await reserveOne()
  await startPage(first)
  await ledger.complete({ ...first, delayMs: 0, elapsedMs: 0, load: { kind: 'normal' } })
  const again = await reserveOne()
  await startPage(again)
  await finish(again, { delayMs: 0 })
  clock.pass(1)
  expect(await reserveOne()).toMatchObject({ tries: 0, urls: [{ id: 'b' }] })
})

test("a redirect's target goes to the outbox in the same call", async () => {
  const { ledger, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await startPage(lane)
  const candidate = { id: 'a>1', url: 'http://elsewhere.test/', hops: 1, meta: { n: 1 } }
  const outcome = outcomeOf('a', { kind: 'redirected', status: 301, to: candidate.url, candidate: 'a>1' })
  await ledger.complete({ ...lane, delayMs: 0, elapsedMs: 0, load: { kind: 'normal' }, outcome, candidate })
  const [entry, ...others] = await ledger.outbox(0, 10)
  expect(entry?.candidate).toEqual(candidate)
  expect(others).toEqual([])
  await ledger.clearOutbox(0, [entry!.id])
  expect(await ledger.outbox(0, 10)).toEqual([])
})

/** Ends the only request of the origin by a redirect to another site that asks to wait. */
async function redirected(candidateAfter: object, more: object = {}) {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a', 'b'))
  const lane = await bench.reserveOne()
  await bench.startPage(lane)
  const candidate = { id: 'a>1', url: 'http://elsewhere.test/', hops: 1, ...more }
  const outcome = outcomeOf('a', { kind: 'redirected', status: 301, to: candidate.url, candidate: 'a>1' })
  const end = { delayMs: 0, elapsedMs: 0, load: { kind: 'normal' as const } }
  await bench.ledger.complete({ ...lane, ...end, outcome, candidate, candidateAfter })
  const targets = async (): Promise<string[]> => {
    await bench.ledger.reap(0)
    return (await bench.ledger.outbox(0, 10)).map(({ candidate: { id } }) => id)
  }
  return { ...bench, targets }
}

test("a redirect's Retry-After delays its target and nothing else: no origin is closed", async () => {
  const { ledger, clock, reserve, targets } = await redirected({ retryAfterMs: 7_000 })
  expect(await targets()).toEqual([])
  expect(await ledger.laterTargets()).toEqual(new Set(['default a>1']))
  expect((await ledger.viewOrigin(ORIGIN, [])).backOff).toBeUndefined()
  clock.pass(1)
  expect(await reserve()).toMatchObject([{ urls: [{ id: 'b' }] }])
  clock.pass(6_998)
  expect(await targets()).toEqual([])
  clock.pass(1)
  expect(await targets()).toEqual(['a>1'])
  expect(await targets()).toEqual(['a>1']) // once
  expect(await ledger.laterTargets()).toEqual(new Set())
})

test('a date delays it as well, by the clock of Redis; a day at most', async () => {
  const first = await redirected({ retryAfterMs: 1, retryAfterAt: 8_000_000_000_000 })
  first.clock.pass(86_399_999)
  expect(await first.targets()).toEqual([])
  first.clock.pass(1)
  expect(await first.targets()).toEqual(['a>1'])
  expect(await (await redirected({ retryAfterAt: 1 })).targets()).toEqual(['a>1']) // it is past
})

test('a target that expires before its wait is over enters then, to end as expired', async () => {
  const now = (await emptyLedger(redis)).clock.now
  const { clock, targets } = await redirected({ retryAfterMs: 3_600_000 }, { expiresAt: now + 5_000 })
  expect(await targets()).toEqual([])
  clock.pass(5_000)
  expect(await targets()).toEqual(['a>1'])
})

test('a stale fence changes nothing at all, and is counted', async () => {
  const { ledger, raw, clock, reserveOne, startPage, finish } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const zombie = await reserveOne()
  await startPage(zombie)
  clock.pass(LEASE)
  await ledger.reap(0)
  clock.pass(1_000 + QUARANTINE)
  const heir = await reserveOne()
  await startPage(heir)
  const before = await everything()
  const candidate = { id: 'x', url: 'http://elsewhere.test/' }
  for (const load of [{ kind: 'normal' }, { kind: 'asked-for-less' }, { kind: 'no-answer' }] as SiteLoad[]) {
    const late = { ...zombie, delayMs: 0, elapsedMs: 0, load, candidate }
    expect(await ledger.complete({ ...late, outcome: outcomeOf('a') })).toBe('stale')
    expect(await ledger.complete(late)).toBe('stale')
  }
  expect(await everything()).toEqual(before)
  expect((await ledger.viewPartition(0)).counts).toMatchObject({ 'stale-complete': 6 })
  expect(await finish(heir)).toBe('completed')

  async function everything(): Promise<unknown> {
    const keys = (await raw.keys('*')).filter((key) => !key.endsWith(':counts')).sort()
    return Promise.all(keys.map(async (key) => [key, await raw.dump(key)]))
  }
})

test('settling twice: the second is stale', async () => {
  const { ledger, reserveOne, startPage, finish, outcomes } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b'))
  const lane = await reserveOne()
  await startPage(lane)
  expect(await Promise.all([finish(lane), finish(lane)])).toEqual(['completed', 'stale'])
  expect(await outcomes()).toHaveLength(1)
})

test('a reservation that was not started cannot be completed', async () => {
  const { ledger, reserveOne, finish, outcomes } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  expect(await finish(lane)).toBe('stale')
  expect(await outcomes()).toEqual([])
})

test('in one batch a stale one does not spoil the others', async () => {
  const { ledger, reserve, startPage, finish, outcomes } = await emptyLedger(redis)
  await ledger.store(
    0,
    ['a', 'b', 'c'].map((id) => url(id, { origin: `http://${id}.test` })),
  )
  const lanes = await reserve()
  await Promise.all(lanes.map((lane) => startPage(lane)))
  const answers = await Promise.all(lanes.map((lane, i) => finish(i === 1 ? { ...lane, fence: 5 } : lane)))
  expect(answers).toEqual(['completed', 'stale', 'completed'])
  expect((await outcomes()).map(({ id }) => id).sort()).toEqual(
    lanes
      .filter((_, i) => i !== 1)
      .map(({ urls }) => urls[0]!.id)
      .sort(),
  )
})

test('a longer delay that was recorded meanwhile counts at once, a shorter one from the next request on', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, reserveOne, startPage, finish, dueOf } = bench
  await ledger.store(0, urls('a', 'b'))
  const lane = await reserveOne()
  await startPage(lane, { delayMs: 1_000 })
  await recordDelay(bench, 9_000)
  await finish(lane, { delayMs: 1_000 })
  expect(await dueOf()).toBe(clock.now + 9_000)
  clock.pass(9_000)
  const next = await reserveOne()
  await startPage(next, { delayMs: 1_000, version: 1 })
  await recordDelay(bench, 100)
  await finish(next, { delayMs: 1_000 })
  expect(await dueOf()).toBe(clock.now + 1_000)
})

// --- the site's load ---------------------------------------------------------------------------------------------

/** One exchange of `agent` that ends in this load after `ms`; the back-off that the site then has. */
async function exchange(bench: Awaited<ReturnType<typeof emptyLedger>>, load: SiteLoad, agent = AGENT, ms = 0) {
  const lane = (await bench.reserve()).find((one) => one.agent === agent)
  if (lane === undefined) throw new Error(`no lane of ${agent} is due`)
  expect(await bench.startPage(lane)).toMatchObject({ kind: 'granted' })
  bench.clock.pass(ms)
  await bench.ledger.complete({ ...lane, delayMs: 0, elapsedMs: 0, load })
  return backOff(bench)
}
const backOff = async ({ ledger, clock }: Awaited<ReturnType<typeof emptyLedger>>) => {
  const { backOff: found } = await ledger.viewOrigin(ORIGIN, [])
  return found === undefined ? undefined : { ms: found.until - clock.now, incidents: found.incidents }
}
const TOO_FAST: SiteLoad = { kind: 'asked-for-less' }
const SCALED = { backOffMs: 60_000, backOffMaxMs: 200_000, backOffQuietMs: 600_000 }

test('429 without Retry-After: 60 s, doubling per incident, bounded; jitter only lengthens, by a tenth at most', async () => {
  const bench = await emptyLedger(redis, SCALED)
  await bench.ledger.store(0, urls('a'))
  for (const [index, expected] of [60_000, 120_000, 200_000, 200_000].entries()) {
    const found = await exchange(bench, TOO_FAST)
    expect(found?.incidents).toBe(index + 1)
    expect(found?.ms).toBeGreaterThanOrEqual(expected)
    expect(found?.ms).toBeLessThanOrEqual(expected * 1.1)
    bench.clock.pass(found!.ms)
  }
})

test('jitter differs from one back-off to the next', async () => {
  const bench = await emptyLedger(redis)
  const origins = Array.from({ length: 40 }, (_, i) => `http://s${i}.test`)
  await bench.ledger.store(
    0,
    origins.map((origin, i) => url(`u${i}`, { origin })),
  )
  const lanes = await bench.reserve({ limit: 100 })
  await Promise.all(lanes.map((lane) => bench.startPage(lane)))
  await Promise.all(lanes.map((lane) => bench.ledger.complete({ ...lane, delayMs: 0, elapsedMs: 0, load: TOO_FAST })))
  const ends = await Promise.all(
    origins.map(async (origin) => (await bench.ledger.viewOrigin(origin, [])).backOff?.until),
  )
  expect(new Set(ends).size).toBeGreaterThan(20)
})

test('Retry-After is a lower bound, and counts from the end of the exchange', async () => {
  const bench = await emptyLedger(redis, SCALED)
  await bench.ledger.store(0, urls('a'))
  const found = await exchange(bench, { kind: 'asked-for-less', retryAfterMs: 7_000 }, AGENT, 2_000)
  expect(found?.ms).toBeGreaterThanOrEqual(7_000)
  expect(found?.ms).toBeLessThanOrEqual(7_700)
})

test('Retry-After closes the origin whatever the answer was, and that is neither an incident nor a failure', async () => {
  const bench = await emptyLedger(redis, SCALED)
  await bench.ledger.store(0, urls('a'))
  for (const load of [
    { kind: 'asked-to-wait', retryAfterMs: 7_000 },
    { kind: 'turned-away', retryAfterMs: 7_000 },
  ] as SiteLoad[]) {
    const found = await exchange(bench, load)
    expect(found?.ms, load.kind).toBeGreaterThanOrEqual(7_000)
    expect(found?.ms, load.kind).toBeLessThanOrEqual(7_700)
    bench.clock.pass(found!.ms)
  }
  expect((await exchange(bench, TOO_FAST))?.incidents).toBe(1)
})

test('an answer that asks to wait halves the failures before it, as any good answer does', async () => {
  const bench = await emptyLedger(redis, SCALED)
  await bench.ledger.store(0, urls('a'))
  for (let failures = 0; failures < 2; failures++) {
    const found = await exchange(bench, { kind: 'no-answer' })
    bench.clock.pass(found?.ms ?? 0)
  }
  const found = await exchange(bench, { kind: 'asked-to-wait', retryAfterMs: 10 })
  bench.clock.pass(found!.ms)
  // 2 in a row became 1: one more makes 2 again, which closes the origin for a twelfth of the usual back-off.
  const again = (await exchange(bench, { kind: 'no-answer' }))?.ms ?? 0
  expect(again).toBeGreaterThanOrEqual(SCALED.backOffMs / 12)
  expect(again).toBeLessThanOrEqual((SCALED.backOffMs / 12) * 1.1)
})

test('a shorter Retry-After never shortens a back-off that is running', async () => {
  const bench = await emptyLedger(redis)
  const agents = ['bot', 'other']
  await bench.ledger.store(
    0,
    agents.map((agent) => url(agent, { agent })),
  )
  const lanes = await bench.reserve()
  for (const lane of lanes) await bench.startPage(lane)
  await bench.ledger.complete({
    ...lanes[0]!,
    delayMs: 0,
    elapsedMs: 0,
    load: { kind: 'asked-for-less', retryAfterMs: 50_000 },
  })
  await bench.ledger.complete({
    ...lanes[1]!,
    delayMs: 0,
    elapsedMs: 0,
    load: { kind: 'asked-for-less', retryAfterMs: 10 },
  })
  expect((await backOff(bench))?.ms).toBeGreaterThanOrEqual(50_000)
})

test('one escalation per incident, however many agents see it and however late', async () => {
  const bench = await emptyLedger(redis, { ...SCALED, backOffMs: 5_000 })
  const agents = ['a', 'b', 'c', 'd']
  await bench.ledger.store(
    0,
    agents.map((agent) => url(agent, { agent })),
  )
  const lanes = await bench.reserve()
  for (const lane of lanes) await bench.startPage(lane)
  const end = (index: number) => bench.ledger.complete({ ...lanes[index]!, delayMs: 0, elapsedMs: 0, load: TOO_FAST })
  await Promise.all([end(0), end(1)])
  await end(2)
  expect((await backOff(bench))?.incidents).toBe(1)
  bench.clock.pass(20_000) // the back-off is over, the last of the four was begun before it
  await end(3)
  const found = await backOff(bench)
  expect(found?.incidents).toBe(1)
  expect(found?.ms, 'it extends all the same').toBeGreaterThanOrEqual(5_000)
})

test('a further request that was sent after a back-off is an incident of its own, although its lease is older', async () => {
  const bench = await emptyLedger(redis, { ...SCALED, backOffMs: 5_000 })
  const { ledger, clock, reserve, startPage } = bench
  await ledger.store(
    0,
    ['a', 'b'].map((agent) => url(agent, { agent })),
  )
  const [order, other] = await reserve()
  if (order === undefined || other === undefined) throw new Error('two lanes are due')
  for (const lane of [order, other]) await startPage(lane, { delayMs: 0 })
  const tooFast = { delayMs: 0, elapsedMs: 0, load: TOO_FAST }
  await ledger.complete({ ...other, ...tooFast })
  expect((await backOff(bench))?.incidents).toBe(1)
  clock.pass(20_000)
  const further = { kind: 'further' as const, lane: order, held: [order], elapsedMs: 0, delayMs: 0 }
  expect(await ledger.next(further)).toMatchObject({ kind: 'granted' })
  clock.pass(1)
  await ledger.complete({ ...order, ...tooFast })
  expect((await backOff(bench))?.incidents).toBe(2)
})

test('after a quiet time the incidents are forgotten', async () => {
  const bench = await emptyLedger(redis, SCALED)
  await bench.ledger.store(0, urls('a'))
  for (let i = 0; i < 2; i++) {
    const found = await exchange(bench, TOO_FAST)
    bench.clock.pass(found!.ms)
  }
  bench.clock.pass(SCALED.backOffQuietMs)
  const third = await exchange(bench, TOO_FAST)
  expect(third?.incidents, 'exactly the quiet time is not yet longer than it').toBe(3)
  bench.clock.pass(third!.ms + SCALED.backOffQuietMs + 1)
  expect((await exchange(bench, TOO_FAST))?.incidents).toBe(1)
})

test('the back-off is apart from the delay and does not change it', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a'))
  const lane = await bench.reserveOne()
  await bench.startPage(lane)
  await bench.ledger.complete({ ...lane, delayMs: 1_234, elapsedMs: 0, load: TOO_FAST })
  expect(await bench.dueOf()).toBe(bench.clock.now + 1_234)
})

test('one lost connection says nothing; two in a row close the site for 5 s, then 10 s; good answers halve the row', async () => {
  const bench = await emptyLedger(redis)
  const NO_ANSWER: SiteLoad = { kind: 'no-answer' }
  await bench.ledger.store(0, urls('a'))
  expect(await exchange(bench, NO_ANSWER)).toBeUndefined()
  for (const expected of [5_000, 10_000, 20_000]) {
    const found = await exchange(bench, NO_ANSWER)
    expect(found?.ms).toBeGreaterThanOrEqual(expected)
    expect(found?.ms).toBeLessThanOrEqual(expected * 1.1)
    bench.clock.pass(found!.ms)
  }
  for (let answers = 0; answers < 3; answers++) await exchange(bench, { kind: 'normal' }) // 4, 2, 1, 0
  expect(await exchange(bench, NO_ANSWER)).toBeUndefined()
})

test('turned away: the back-off by number in a row, up to a sixth of the longest; good answers bring it down', async () => {
  const bench = await emptyLedger(redis)
  const TURNED_AWAY: SiteLoad = { kind: 'turned-away' }
  await bench.ledger.store(0, urls('a'))
  const seconds = async (load: SiteLoad): Promise<number> => {
    const found = await exchange(bench, load)
    bench.clock.pass(found?.ms ?? 0)
    return (found?.ms ?? 0) / 1_000
  }
  const near = (expected: number, found: number): void => {
    expect(found).toBeGreaterThanOrEqual(expected)
    expect(found).toBeLessThanOrEqual(expected * 1.1)
  }
  for (const expected of [0, 5, 10, 20, 40, 80, 160, 320, 600, 600]) near(expected, await seconds(TURNED_AWAY))
  expect((await bench.ledger.viewOrigin(ORIGIN, [])).failures).toBe(10)
  expect(await seconds({ kind: 'normal' })).toBe(0) // 5 in a row count as such
  near(80, await seconds(TURNED_AWAY))
  for (let answers = 0; answers < 3; answers++) await exchange(bench, { kind: 'normal' }) // 6, 3, 1, 0
  near(0, await seconds(TURNED_AWAY))
})

test('a site that turns away every other request is not slowed down', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a'))
  for (let n = 0; n < 10; n++) {
    expect(await exchange(bench, { kind: 'turned-away' })).toBeUndefined()
    await exchange(bench, { kind: 'normal' })
  }
})

test('a 429 is an answer: it ends a row of lost connections', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a'))
  await exchange(bench, { kind: 'no-answer' })
  const found = await exchange(bench, { kind: 'asked-for-less', retryAfterMs: 1_000 })
  bench.clock.pass(found!.ms)
  expect(await exchange(bench, { kind: 'no-answer' })).toBeUndefined()
})

test('connections lost by several agents at once are one incident', async () => {
  const bench = await emptyLedger(redis)
  const agents = ['a', 'b', 'c', 'd', 'e']
  await bench.ledger.store(
    0,
    agents.map((agent) => url(agent, { agent })),
  )
  const lanes = await bench.reserve()
  for (const lane of lanes) await bench.startPage(lane)
  await Promise.all(
    lanes.map((lane) => bench.ledger.complete({ ...lane, delayMs: 0, elapsedMs: 0, load: { kind: 'no-answer' } })),
  )
  const found = await backOff(bench)
  expect(found?.ms).toBeGreaterThanOrEqual(5_000)
  expect(found?.ms).toBeLessThanOrEqual(5_500)
})

test('what is remembered of a load is forgotten by itself', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, urls('a'))
  await exchange(bench, { kind: 'no-answer' })
  const life = await bench.raw.pttl(keys.origin(ORIGIN))
  expect(life).toBeGreaterThan(60_000)
  expect(life).toBeLessThan(7 * 86_400_000)
})

// --- the gateway's word ------------------------------------------------------------------------------------------

test('keep: urls leave with their outcomes, in order, and the lease goes on', async () => {
  const { ledger, reserveOne, startPage, finish, outcomes } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b', 'c', 'd'))
  const lane = await reserveOne({ peek: 3 })
  const dropped = [outcomeOf('a', { kind: 'disallowed', rule: '/', line: 1, group: ['*'] }), outcomeOf('b')]
  expect(await ledger.resolve(0, [{ ...lane, dropped, next: { kind: 'keep' } }])).toEqual(['completed'])
  expect(await startPage(lane)).toMatchObject({ kind: 'granted' })
  expect(await finish({ ...lane, urls: lane.urls.slice(2) }, { delayMs: 0 })).toBe('completed')
  expect((await outcomes()).map(({ id, kind }) => `${id} ${kind}`)).toEqual(['a disallowed', 'b failed', 'c failed'])
  expect(await reserveOne()).toMatchObject({ urls: [{ id: 'd' }] })
})

test('release: the lane is due at its own due time, which may lie ahead', async () => {
  const { ledger, clock, visit, reserveOne, dueOf } = await emptyLedger(redis)
  await visit('a', 1_000)
  const due = clock.now + 1_000
  await ledger.store(0, urls('b'))
  clock.pass(900)
  const lane = await reserveOne({ aheadMs: 500 })
  await ledger.resolve(0, [{ ...lane, dropped: [], next: { kind: 'release' } }])
  expect(await dueOf()).toBe(due)
})

test('release of a lane that was emptied by its drops keeps its due time', async () => {
  const { ledger, clock, visit, reserveOne, dueOf } = await emptyLedger(redis)
  await visit('a', 1_000)
  const due = clock.now + 1_000
  await ledger.store(0, urls('b'))
  const lane = await reserveOne({ aheadMs: 5_000 })
  await ledger.resolve(0, [{ ...lane, dropped: [outcomeOf('b')], next: { kind: 'release' } }])
  clock.pass(500)
  await ledger.store(0, urls('c'))
  expect(await dueOf()).toBe(due)
})

test('defer: not before an instant, with its reason; never before its own due time', async () => {
  const { ledger, clock, visit, reserveOne, dueOf } = await emptyLedger(redis)
  await visit('a', 1_000)
  const due = clock.now + 1_000
  await ledger.store(0, urls('b'))
  const lane = await reserveOne({ aheadMs: 5_000 })
  await ledger.resolve(0, [
    { ...lane, dropped: [], next: { kind: 'defer', until: due - 500, why: 'robots-unreachable' } },
  ])
  expect(await dueOf()).toBe(due)
  const again = await reserveOne({ aheadMs: 5_000 })
  await ledger.resolve(0, [
    { ...again, dropped: [], next: { kind: 'defer', until: due + 60_000, why: 'robots-unreachable' } },
  ])
  expect(await dueOf()).toBe(due + 60_000)
  clock.now = due + 60_000
  expect(await reserveOne()).toMatchObject({ heldBy: 'robots-unreachable', urls: [{ id: 'b' }] })
})

test('dropping needs a reservation: not after start, not under another fence, not after reap', async () => {
  const { ledger, clock, reserveOne, startPage, outcomes } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  const word = (fence: number) =>
    ledger.resolve(0, [{ ...lane, fence, dropped: [outcomeOf('a')], next: { kind: 'release' } }])
  expect(await word(lane.fence + 1)).toEqual(['stale'])
  clock.pass(RESERVE)
  await ledger.reap(0)
  expect(await word(lane.fence)).toEqual(['stale'])
  const next = await reserveOne()
  await startPage(next)
  expect(await word(next.fence)).toEqual(['stale'])
  expect(await outcomes()).toEqual([])
})
