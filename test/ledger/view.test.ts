/** The views: one origin with its lanes, a partition as a whole, the processes that run, and the channel that wakes dispatchers. */
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, emptyLedger, keys, LEASE, ORIGIN, outcomeOf, TAG, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()

test('of an unknown origin: nothing, in the same shape', async () => {
  const { ledger, clock } = await emptyLedger(redis)
  expect(await ledger.viewOrigin(ORIGIN, [AGENT])).toEqual({
    origin: ORIGIN,
    version: 0,
    state: {},
    delays: [],
    lanes: [{ agent: AGENT, origin: ORIGIN, waiting: 0, state: 'idle', tries: 0, closed: [] }],
    now: clock.now,
  })
})

test('a lane is waiting, reserved, in flight, waiting again with a try, and idle', async () => {
  const { ledger, clock, reserveOne, startPage, finish } = await emptyLedger(redis)
  const lane = async () => (await ledger.viewOrigin(ORIGIN, [AGENT])).lanes[0]
  await ledger.store(0, urls('a'))
  const head = url('a').pending
  expect(await lane()).toMatchObject({ state: 'waiting', waiting: 1, due: clock.now, tries: 0, head })
  const first = await reserveOne()
  expect(await lane()).toMatchObject({ state: 'reserved', waiting: 1, head })
  await startPage(first)
  expect(await lane()).toMatchObject({ state: 'in-flight' })
  expect((await lane())?.due).toBeUndefined()
  await ledger.complete({ ...first, delayMs: 500, elapsedMs: 0, load: { kind: 'normal' } })
  expect(await lane()).toMatchObject({ state: 'waiting', tries: 1, due: clock.now + 500 })
  clock.pass(500)
  const second = await reserveOne()
  await startPage(second)
  await finish(second, { delayMs: 500 })
  expect(await lane()).toEqual({
    agent: AGENT,
    origin: ORIGIN,
    waiting: 0,
    state: 'idle',
    tries: 0,
    closed: [],
    due: clock.now + 500,
  })
})

test('the first URL shown is the one that is next: high before normal, the tried one before both', async () => {
  const { ledger, clock, reserveOne, startPage } = await emptyLedger(redis)
  const head = async () => (await ledger.viewOrigin(ORIGIN, [AGENT])).lanes[0]?.head
  await ledger.store(0, urls('n'))
  const first = await reserveOne()
  await startPage(first)
  await ledger.store(0, [url('h', { priority: 'high' })])
  await ledger.complete({ ...first, delayMs: 0, elapsedMs: 0, load: { kind: 'normal' } })
  expect(await head()).toMatchObject({ id: 'n', priority: 'normal' })
  clock.pass(1)
  const again = await reserveOne()
  await ledger.resolve(0, [{ ...again, dropped: [outcomeOf('n')], next: { kind: 'release' } }])
  await ledger.store(0, urls('n2'))
  expect(await head()).toMatchObject({ id: 'h', priority: 'high' })
})

test('a robots fetch in flight is part of what is known of an origin', async () => {
  const { ledger, reserveOne, startPage, clock } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await startPage(lane, { kind: 'robots' })
  const question = { fence: lane.fence, until: expect.closeTo(clock.now + LEASE, -5) }
  expect((await ledger.viewOrigin(ORIGIN, [])).state).toEqual({ question })
  expect((await ledger.robotsStates(0, [ORIGIN]))[0]?.state).toEqual({ question })
})

test('the partition as a whole: lanes, due, in flight, waiting, unread, next due, counts', async () => {
  const { ledger, clock, visit, reserve, startPage } = await emptyLedger(redis)
  await visit('done', 5_000)
  await ledger.store(0, [
    url('a', { origin: 'http://a.test' }),
    url('b', { origin: 'http://b.test' }),
    ...urls('later'),
  ])
  const [one] = await reserve({ limit: 1 })
  await startPage(one!)
  expect(await ledger.viewPartition(0)).toEqual({
    tag: TAG,
    now: clock.now,
    due: 1,
    lanes: 3,
    inFlight: 1,
    waiting: 3,
    unread: 1,
    nextDue: clock.now,
    counts: { parked: 4, failed: 1, 'failed/connect': 1, left: 1 },
  })
})

test('lanes as they open, the latest first, or by the end of their lease; each with its origin', async () => {
  const { ledger, clock, reserve, startPage } = await emptyLedger(redis)
  const sites = ['a', 'b', 'c', 'd'].map((name) => `http://${name}.test`)
  for (const [at, origin] of sites.entries()) {
    await ledger.store(0, [url(`${at}`, { origin })])
    clock.pass(1)
  }
  const shown = async (order: 'soonest' | 'latest' | 'in-flight', limit = 200, skip = 0) =>
    (await ledger.viewLanes(0, { order, limit, skip })).map(({ lane }) => lane.origin)
  expect(await shown('soonest')).toEqual(sites)
  expect(await shown('latest')).toEqual(sites.toReversed())
  expect(await shown('soonest', 2, 1)).toEqual(sites.slice(1, 3))
  expect(await shown('soonest', 0)).toEqual([])
  const [first] = await reserve({ limit: 1 })
  await startPage(first!)
  expect(await shown('in-flight')).toEqual([sites[0]])
  expect(await shown('soonest')).toEqual(sites.slice(1))
  await ledger.operate(
    { origin: sites[2]!, action: 'pause', until: clock.now + 60_000, by: 'ann', reason: 'they asked' },
    [AGENT],
  )
  for (const { lane, origin } of await ledger.viewLanes(0, { order: 'soonest', limit: 9 }))
    expect(origin, 'the same as asked for by name').toEqual(await ledger.viewOrigin(lane.origin, [lane.agent]))
})

test('however many are asked for, 200 lanes are shown at most', async () => {
  const { ledger } = await emptyLedger(redis)
  for (const part of [0, 1, 2])
    await ledger.store(
      0,
      Array.from({ length: 100 }, (_, n) => url(`${part}-${n}`, { origin: `http://${part}-${n}.test` })),
    )
  const listed = await ledger.viewLanes(0, { order: 'soonest', limit: 1_000 })
  expect(listed).toHaveLength(200)
  const rest = await ledger.viewLanes(0, { order: 'soonest', limit: 1_000, skip: 200 })
  expect(new Set([...listed, ...rest].map(({ lane }) => lane.origin)).size).toBe(300)
})

test('a hold is shown while it lasts', async () => {
  const { ledger, clock } = await emptyLedger(redis, { hold: true })
  expect((await ledger.viewPartition(0)).holdUntil).toBe(clock.now + 1_000)
  clock.pass(1_000)
  expect((await ledger.viewPartition(0)).holdUntil).toBeUndefined()
})

test('who announces itself is known until it is silent for its life, or says goodbye', async () => {
  const { ledger, clock } = await emptyLedger(redis)
  const fetcher = { id: 'f1', role: 'fetcher', slots: 100 }
  const gateway = { id: 'g1', role: 'gateway', slots: 0 }
  expect(await ledger.announce(fetcher)).toEqual([fetcher])
  clock.pass(3_000)
  expect(await ledger.announce(gateway)).toEqual([fetcher, gateway])
  clock.pass(2_000)
  expect(await ledger.members()).toEqual([gateway])
  await ledger.announce(gateway, 0)
  expect(await ledger.members()).toEqual([])
})

test('a dispatcher is called back with the partition in which a lane became due', async () => {
  const { ledger, another } = await emptyLedger(redis)
  const sleeping = await another()
  const woken = new Promise<number>((resolve) => void sleeping.onWake(resolve).then(() => ledger.store(0, urls('a'))))
  expect(await woken).toBe(0)
})

test('the bell rings for a lane that became due before all others, and only for such', async () => {
  const { ledger, clock, reserveOne, startPage, finish, raw } = await emptyLedger(redis)
  const ear = raw.duplicate()
  onTestFinished(() => ear.disconnect())
  const heard: string[] = []
  ear.on('message', (_, text: string) => heard.push(text))
  await ear.subscribe(keys.wake)
  const settled = async (): Promise<number> => {
    // A message of our own behind theirs: when it has come, theirs have.
    await raw.publish(keys.wake, 'end')
    while (heard.at(-1) !== 'end') await setImmediate()
    return heard.splice(0).length - 1
  }
  await ledger.store(0, urls('a', 'b'))
  expect(await settled(), 'the first lane').toBe(1)
  clock.pass(1)
  await ledger.store(0, [url('c', { origin: 'http://c.test' })])
  expect(await settled(), 'one that is due later').toBe(0)
  await ledger.store(0, urls('a'))
  expect(await settled(), 'nothing new').toBe(0)
  const lane = await reserveOneOf('http://site.test')
  await startPage(lane)
  await finish(lane, { delayMs: 60_000 })
  expect(await settled(), 'another lane is due before').toBe(0)
  const last = await reserveOne()
  await startPage(last)
  await finish(last, { delayMs: 30_000 })
  expect(await settled(), 'earlier than all others').toBe(1)

  async function reserveOneOf(origin: string) {
    const taken = await ledger.reserve(0, { limit: 1, aheadMs: 0, inFlightLimit: 9, peek: 1 })
    if (taken.kind !== 'reserved' || taken.lanes[0]?.origin !== origin) throw new Error('it is due first')
    return taken.lanes[0]
  }
})
