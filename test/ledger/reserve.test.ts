/** reserve: lanes that are due are claimed; or how long to wait, and why. */
import type { ReservedLane, Resolution } from '@decorum/ledger'
import { expect, test } from 'vitest'
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
  TAG,
  url,
  urls,
} from './ledger-for-test.ts'

const redis = await redisForTest()
const ask = { limit: 10, aheadMs: 0, inFlightLimit: 100, peek: 1 }

test('a reserved lane comes with its first URL, a fence, its due time and what is known of its origin', async () => {
  const { ledger, clock, reserveOne } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  clock.pass(5)
  expect(await reserveOne()).toEqual({
    agent: AGENT,
    origin: ORIGIN,
    fence: clock.now * 1_000 + 1,
    notBefore: clock.now,
    waitMs: 0,
    tries: 0,
    urls: [url('a').pending],
    robots: { version: 0, state: {} },
    now: clock.now,
    wallAt: clock.now,
  })
})

test('a reserved lane is not reserved twice', async () => {
  const { ledger, reserve } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b'))
  expect(await reserve()).toHaveLength(1)
  expect(await reserve()).toHaveLength(0)
})

test('a reservation that is not started is ended by reap, and counts no attempt', async () => {
  const { ledger, clock, reserve, reserveOne } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const first = await reserveOne()
  clock.pass(RESERVE - 1)
  expect(await ledger.reap(0)).toMatchObject({ unstarted: 0 })
  expect(await reserve()).toEqual([])
  clock.pass(1)
  expect(await ledger.reap(0)).toMatchObject({ unstarted: 1, started: 0 })
  const second = await reserveOne()
  expect(second).toMatchObject({ tries: 0, urls: [{ id: 'a' }] })
  expect(second.fence).toBeGreaterThan(first.fence)
})

test('fences rise within one call, from call to call, and with a clock that stands still', async () => {
  const { ledger, reserve } = await emptyLedger(redis)
  await ledger.store(0, [url('a', { origin: 'http://a.test' }), url('b', { origin: 'http://b.test' })])
  const both = await reserve()
  await ledger.resolve(
    0,
    both.map((lane) => ({ ...lane, dropped: [], next: { kind: 'release' as const } })),
  )
  const fences = [...both, ...(await reserve())].map(({ fence }) => fence)
  expect(fences).toHaveLength(4)
  expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
})

test('nothing due: the answer says in how many ms something is', async () => {
  const { ledger, clock, visit } = await emptyLedger(redis)
  expect(await ledger.reserve(0, ask)).toEqual({ kind: 'wait', why: 'nothing-due', waitMs: undefined })
  await visit('a', 7_000)
  await ledger.store(0, urls('b'))
  clock.pass(2_500)
  expect(await ledger.reserve(0, ask)).toEqual({ kind: 'wait', why: 'nothing-due', waitMs: 4_500 })
})

test('a lane that opens within aheadMs is reserved already, and says how far off it is', async () => {
  const { ledger, clock, visit, reserveOne } = await emptyLedger(redis)
  await visit('a', 1_000)
  await ledger.store(0, urls('b'))
  clock.pass(900)
  expect(await ledger.reserve(0, { ...ask, aheadMs: 99 })).toMatchObject({ kind: 'wait' })
  const lane = await reserveOne({ aheadMs: 100 })
  expect(lane).toMatchObject({ waitMs: 100, notBefore: clock.now + 100 })
})

test('peek shows the next URLs of the list that the first URL is in, oldest first', async () => {
  const { ledger, reserveOne } = await emptyLedger(redis)
  await ledger.store(0, [...urls('a', 'b', 'c'), url('h', { priority: 'high' }), url('i', { priority: 'high' })])
  expect((await reserveOne({ peek: 5 })).urls.map(({ id }) => id)).toEqual(['h', 'i'])
})

test('at most limit lanes are reserved, the longest due first, and more says that others are due', async () => {
  const { ledger, clock } = await emptyLedger(redis)
  for (const name of ['a', 'b', 'c']) {
    await ledger.store(0, [url(name, { origin: `http://${name}.test` })])
    clock.pass(1)
  }
  const first = await ledger.reserve(0, { ...ask, limit: 2 })
  expect(first).toMatchObject({
    kind: 'reserved',
    more: true,
    lanes: [{ urls: [{ id: 'a' }] }, { urls: [{ id: 'b' }] }],
  })
  expect(await ledger.reserve(0, { ...ask, limit: 2 })).toMatchObject({
    kind: 'reserved',
    more: false,
    lanes: [{ urls: [{ id: 'c' }] }],
  })
})

test('a reservation for a worker of a pool, and the lease that it becomes, take no room of the fetchers, however often it is extended', async () => {
  const { ledger, clock, raw, startPage, finish } = await emptyLedger(redis)
  const other = { origin: 'http://other.test' }
  await ledger.store(0, [...urls('a', 'b'), url('o', other)])
  const fetchers = { ...ask, limit: 1, inFlightLimit: 1 }
  const {
    lanes: [lane],
  } = (await ledger.reserve(0, { ...fetchers, lane: { agent: AGENT, origin: ORIGIN } })) as {
    lanes: ReservedLane[]
  }
  if (lane === undefined) throw new Error('nothing was reserved')
  expect(await ledger.reserve(0, fetchers)).toMatchObject({ why: 'slots-full' })
  const { agent, origin, fence } = lane
  expect(await ledger.resolve(0, [{ agent, origin, fence, dropped: [], next: { kind: 'pool' } }])).toEqual([
    'completed',
  ])
  expect(await startPage(lane)).toMatchObject({ kind: 'granted' })
  clock.pass(LEASE - 1)
  await ledger.extend([{ agent, origin, fence }], LEASE)
  clock.pass(LEASE - 1)
  await ledger.reap(0)
  expect(await ledger.reserve(0, fetchers)).toMatchObject({ kind: 'reserved', lanes: [other] })
  expect(await ledger.reserve(0, fetchers), 'the other one takes the only slot').toMatchObject({ why: 'slots-full' })
  await finish(lane, { delayMs: 0 })
  expect(await raw.scard(keys.slotless), 'nothing of a pool is held').toBe(0)
})

test.each(['refused', 'released', 'reaped'] as const)(
  'a reservation for a pool that is %s counts as one no longer',
  async (how) => {
    const { ledger, clock, raw, reserveOne, startPage, setOrigin } = await emptyLedger(redis)
    await ledger.store(0, urls('a'))
    const lane = await reserveOne()
    const resolve = (next: Resolution['next']) => ledger.resolve(0, [{ ...lane, dropped: [], next }])
    await resolve({ kind: 'pool' })
    expect(await raw.scard(keys.slotless)).toBe(1)
    if (how === 'refused') {
      await setOrigin({ pausedUntil: clock.now + 1_000 })
      expect(await startPage(lane)).toMatchObject({ kind: 'refused' })
    } else if (how === 'released') await resolve({ kind: 'release' })
    else {
      clock.pass(RESERVE)
      await ledger.reap(0)
    }
    expect(await raw.scard(keys.slotless)).toBe(0)
  },
)

test('reserved and started lanes together never pass inFlightLimit', async () => {
  const { ledger, startPage } = await emptyLedger(redis)
  await ledger.store(
    0,
    ['a', 'b', 'c'].map((name) => url(name, { origin: `http://${name}.test` })),
  )
  const first = await ledger.reserve(0, { ...ask, inFlightLimit: 2 })
  if (first.kind !== 'reserved') throw new Error('two lanes are due')
  expect(first.lanes).toHaveLength(2)
  await startPage(first.lanes[0]!)
  expect(await ledger.reserve(0, { ...ask, inFlightLimit: 2 })).toEqual({
    kind: 'wait',
    why: 'slots-full',
    waitMs: undefined,
  })
  expect(await ledger.reserve(0, { ...ask, inFlightLimit: 3 })).toMatchObject({
    kind: 'reserved',
    lanes: [{ urls: [{ id: 'c' }] }],
  })
})

test('unread outcomes at their limit pause taking; reading and trimming resume it', async () => {
  const { ledger, raw, visit, clock } = await emptyLedger(redis, { outcomesLimit: 3 })
  for (let i = 0; i < 3; i++) {
    await visit(`u${i}`, 0)
    clock.pass(1)
  }
  await ledger.store(0, urls('next'))
  expect(await ledger.reserve(0, ask)).toEqual({ kind: 'wait', why: 'outcomes-full', waitMs: undefined })
  await raw.xgroup('CREATE', keys.outcomes, 'g', '0')
  const rows = await raw.xreadgroup('GROUP', 'g', 'c', 'STREAMS', keys.outcomes, '>')
  await raw.xack(keys.outcomes, 'g', ...rows![0]![1].map(([id]) => id))
  await ledger.trimOutcomes(0)
  expect(await ledger.reserve(0, ask)).toMatchObject({ kind: 'reserved' })
})

test('an emptied lane stays as its cool-down and vanishes when that is over', async () => {
  const { ledger, raw, clock, visit, dueOf } = await emptyLedger(redis)
  await visit('a', 3_000)
  clock.pass(2_999)
  await ledger.reserve(0, ask)
  expect(await dueOf()).toBe(clock.now + 1)
  clock.pass(1)
  await ledger.reserve(0, ask)
  expect(await dueOf()).toBeUndefined()
  expect(await raw.keys(`${TAG}:[qhm]:*`), 'and leaves nothing').toEqual([])
})

test('looking ahead does not forget the cool-down of an emptied lane', async () => {
  const { ledger, clock, visit, dueOf } = await emptyLedger(redis)
  await visit('a', 3_000)
  const due = clock.now + 3_000
  await ledger.reserve(0, { ...ask, aheadMs: 10_000 })
  await ledger.store(0, urls('b'))
  expect(await dueOf()).toBe(due)
})

test('emptied lanes alone are no reason to come again at once', async () => {
  const { ledger, clock, visit } = await emptyLedger(redis)
  await visit('a', 3_000)
  clock.pass(2_990)
  expect(await ledger.reserve(0, { ...ask, limit: 1, aheadMs: 100 })).toEqual({
    kind: 'wait',
    why: 'nothing-due',
    waitMs: 10,
  })
})

test('lanes of hosts that are due soon do not hide a lane with work behind them', async () => {
  const { ledger, clock, visit } = await emptyLedger(redis)
  await visit('a', 3_000)
  for (let n = 0; n < 20; n += 1) {
    const lane = { agent: AGENT, origin: `https://host-${n}.test` }
    const entry = await ledger.acquire({ lanes: [lane], kind: 'pace-group', delayMs: 2_990 })
    if (entry.kind !== 'granted') throw new Error('it is free')
    const end = { fence: entry.fence, delayMs: 2_990, load: { kind: 'normal' as const }, elapsedMs: 0 }
    await ledger.complete({ ...lane, ...end, secondary: true })
  }
  await ledger.store(0, urls('b'))
  clock.pass(2_980)
  const found = await ledger.reserve(0, { ...ask, limit: 1, aheadMs: 100 })
  expect(found).toMatchObject({ kind: 'reserved', lanes: [{ origin: ORIGIN, waitMs: 20 }] })
})

test('emptied lanes at the front do not hide a lane with work behind them', async () => {
  const { ledger, clock, reserveOne, startPage, finish } = await emptyLedger(redis)
  for (const name of ['a', 'b']) {
    await ledger.store(0, [url(name, { origin: `http://${name}.test` })])
    const lane = await reserveOne()
    await startPage(lane)
    await finish(lane, { delayMs: 10 })
    clock.pass(1)
  }
  clock.pass(100)
  await ledger.store(0, urls('c'))
  const seen: string[] = []
  for (let calls = 0; calls < 3; calls++) {
    const taken = await ledger.reserve(0, { ...ask, limit: 1 })
    if (taken.kind === 'reserved') seen.push(...taken.lanes.map(({ urls }) => urls[0]!.id))
    else expect(taken.waitMs).toBe(0)
  }
  expect(seen).toEqual(['c'])
})

test('a lane of a site in back-off is deferred until then, with its reason, and its own due time is kept', async () => {
  const { ledger, clock, reserveOne, startPage, dueOf } = await emptyLedger(redis)
  await ledger.store(0, [...urls('a'), url('b', { agent: 'other' })])
  const lanes = await ledger.reserve(0, { ...ask, limit: 1 })
  if (lanes.kind !== 'reserved') throw new Error('a lane is due')
  const [mine] = lanes.lanes
  await startPage(mine!)
  await ledger.complete({ ...mine!, delayMs: 0, elapsedMs: 0, load: { kind: 'asked-for-less', retryAfterMs: 50_000 } })
  const until = (await ledger.viewOrigin(ORIGIN, [])).backOff!.until
  expect(until).toBeGreaterThanOrEqual(clock.now + 50_000)
  expect(await ledger.reserve(0, ask)).toMatchObject({ kind: 'wait', why: 'nothing-due' })
  const other = mine!.agent === AGENT ? 'other' : AGENT
  expect(await dueOf(other)).toBe(until)
  const [view] = (await ledger.viewOrigin(ORIGIN, [other])).lanes
  expect(view).toMatchObject({ state: 'waiting', heldBy: 'back-off', due: until })
  clock.now = until
  const both = await ledger.reserve(0, ask)
  expect(both).toMatchObject({ kind: 'reserved', lanes: [{ heldBy: 'back-off' }, { heldBy: 'back-off' }] })
  await expect(reserveOne()).rejects.toThrow()
})

test('a paused origin is put aside as paused', async () => {
  const { ledger, clock, dueOf, setOrigin } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  await setOrigin({ pausedUntil: clock.now + 9_000, pauseReason: 'asked by mail' })
  expect(await ledger.reserve(0, ask)).toMatchObject({ kind: 'wait', waitMs: 9_000 })
  expect(await dueOf()).toBe(clock.now + 9_000)
  expect(await ledger.viewOrigin(ORIGIN, [AGENT])).toMatchObject({
    paused: { until: clock.now + 9_000, reason: 'asked by mail' },
    lanes: [{ heldBy: 'paused' }],
  })
})

test('a URL that expires while its site is closed leaves at its expiry, not at the end of the back-off', async () => {
  const { ledger, clock, reserveOne, setOrigin } = await emptyLedger(redis)
  const expiresAt = Math.ceil((clock.now + 5_000) / 1_000) * 1_000
  await ledger.store(0, [url('a', { expiresAt })])
  await setOrigin({ backOffUntil: clock.now + 60_000 })
  expect(await ledger.reserve(0, ask)).toMatchObject({ kind: 'wait', waitMs: expiresAt - clock.now })
  clock.now = expiresAt
  expect(await reserveOne()).toMatchObject({
    heldBy: 'back-off',
    closedUntil: clock.now - 5_000 + 60_000,
    urls: [{ id: 'a' }],
  })
})

test.each(['high', 'normal'] as const)(
  'a %s URL that has expired behind another list ends, whatever only the gateway waits for',
  async (priority) => {
    const { ledger, clock, reserveOne, startPage } = await emptyLedger(redis)
    const other = priority === 'high' ? 'normal' : 'high'
    await ledger.store(0, [url('tried', { priority: other })])
    await startPage(await reserveOne(), { delayMs: 0 })
    clock.pass(LEASE)
    await ledger.reap(0)
    clock.pass(QUARANTINE)
    const expiresAt = Math.ceil((clock.now + 5_000) / 1_000) * 1_000
    await ledger.store(0, [url('b', { priority, expiresAt })])
    const defer = { kind: 'defer', until: clock.now + 60_000, why: 'robots-unreachable' } as const
    const tried = await reserveOne()
    expect(tried).toMatchObject({ tries: 1, urls: [{ id: 'tried' }] })
    clock.now = expiresAt
    await ledger.resolve(0, [{ ...tried, dropped: [], next: defer }])
    const expired = await reserveOne()
    expect(expired).toMatchObject({ tries: 0, urls: [{ id: 'b' }] })
    const dropped = [outcomeOf('b', { kind: 'expired', reason: 'robots-unreachable' })]
    await ledger.resolve(0, [{ ...expired, dropped, next: { kind: 'release' } }])
    const again = await reserveOne()
    expect(again).toMatchObject({ tries: 1, urls: [{ id: 'tried' }] })
    await ledger.resolve(0, [{ ...again, dropped: [], next: defer }])
    expect(await ledger.reserve(0, ask)).toMatchObject({ kind: 'wait', waitMs: defer.until - clock.now })
  },
)

test('a lane that opens after the back-off of its site is reserved ahead; one that opens before is not', async () => {
  const { ledger, clock, visit, setOrigin } = await emptyLedger(redis)
  await visit('a', 1_000)
  await ledger.store(0, urls('b'))
  await setOrigin({ backOffUntil: clock.now + 999 })
  expect(await ledger.reserve(0, { ...ask, aheadMs: 2_000 })).toMatchObject({
    kind: 'reserved',
    lanes: [{ closedUntil: clock.now + 999 }],
  })
})

test('a lane that is due when the back-off of its site ends is not reserved ahead, where it would be deferred in a loop', async () => {
  const { ledger, clock, visit, setOrigin, reserveOne } = await emptyLedger(redis)
  await visit('a', 1_000)
  await ledger.store(0, urls('b'))
  await setOrigin({ backOffUntil: clock.now + 1_000 })
  clock.pass(950)
  expect(await ledger.reserve(0, { ...ask, aheadMs: 80 })).toEqual({ kind: 'wait', why: 'nothing-due', waitMs: 50 })
  clock.pass(50)
  expect(await reserveOne({ aheadMs: 80 })).toMatchObject({ urls: [{ id: 'b' }] })
})

test('while grants are held nothing is reserved, and the answer says for how long', async () => {
  const { ledger, clock } = await emptyLedger(redis, { hold: true })
  await ledger.store(0, urls('a'))
  clock.pass(400)
  expect(await ledger.reserve(0, ask)).toEqual({ kind: 'wait', why: 'startup-hold', waitMs: 600 })
  clock.pass(600)
  expect(await ledger.reserve(0, ask)).toMatchObject({ kind: 'reserved' })
})

test('an expired candidate is shown even so: the gateway gives it its outcome', async () => {
  const { ledger, reserveOne, outcomes } = await emptyLedger(redis)
  await ledger.store(0, [url('a', { expiresAt: 1_000 }), url('b')])
  const lane = await reserveOne({ peek: 2 })
  expect(lane.urls).toMatchObject([{ id: 'a', expiresAt: 1_000 }, { id: 'b' }])
  const dropped = [outcomeOf('a', { kind: 'expired', reason: 'lane-busy' })]
  expect(await ledger.resolve(0, [{ ...lane, dropped, next: { kind: 'release' } }])).toEqual(['completed'])
  expect(await outcomes()).toMatchObject([{ id: 'a', kind: 'expired' }])
  expect(await reserveOne()).toMatchObject({ urls: [{ id: 'b' }] })
})

test('a lane whose lease ended is reserved only after reap, and then owes its quarantine', async () => {
  const { ledger, clock, reserveOne, reserve, startPage } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  await startPage(await reserveOne(), { delayMs: 2_000 })
  clock.pass(100_000)
  expect(await reserve()).toEqual([])
  await ledger.reap(0)
  clock.pass(2_000 + QUARANTINE - 1)
  expect(await reserve()).toEqual([])
  clock.pass(1)
  expect(await reserveOne()).toMatchObject({ tries: 1 })
})

test('a call gathers about a megabyte of URLs at most; what is left over is due as before, and it says that there is more', async () => {
  const { ledger, reserve } = await emptyLedger(redis)
  const items = Array.from({ length: 200 }, (_, n) =>
    Array.from({ length: 10 }, (_unused, k) =>
      url(`${n}-${k}`, { origin: `http://s${n}.test`, path: `/${'x'.repeat(4_000)}` }),
    ),
  )
  for (const chunk of items) await ledger.store(0, chunk)
  const request = { limit: 200, aheadMs: 0, inFlightLimit: 1_000, peek: 10 }
  const first = await ledger.reserve(0, request)
  if (first.kind !== 'reserved') throw new Error('nothing is taken')
  const bytes = first.lanes.flatMap(({ urls }) => urls).reduce((sum, { path }) => sum + path.length, 0)
  expect(bytes).toBeLessThan(1.2 * 1024 * 1024)
  expect(first.more).toBe(true)
  let lanes = first.lanes.length
  for (let calls = 1; lanes < 200; calls++) {
    expect(calls).toBeLessThan(20)
    lanes += (await reserve({ peek: 10, limit: 200 })).length
  }
  expect(lanes).toBe(200)
})
