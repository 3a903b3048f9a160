/** acquire: a secondary lease, for a request that none of the lane's URLs asked for. */
import { step } from '@decorum/robots'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, emptyLedger, LEASE, ORIGIN, QUARANTINE, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const lane = { agent: AGENT, origin: ORIGIN }
const DELAY = 1_000

test('an idle lane is entered at once, and then owes its delay like after any request', async () => {
  const { ledger, clock, dueOf } = await emptyLedger(redis)
  const entry = await ledger.acquire({ lanes: [lane], kind: 'hop', delayMs: DELAY })
  expect(entry).toMatchObject({ kind: 'granted', delayMs: DELAY, leaseMs: LEASE })
  if (entry.kind !== 'granted') return
  clock.pass(300)
  await ledger.complete({
    ...lane,
    fence: entry.fence,
    delayMs: entry.delayMs,
    load: { kind: 'normal' },
    elapsedMs: 100,
    secondary: true,
  })
  expect(await dueOf()).toBe(clock.now - 100 + DELAY)
  expect(await ledger.acquire({ lanes: [lane], kind: 'hop', delayMs: DELAY })).toEqual({
    kind: 'wait',
    waitMs: DELAY - 100,
    gate: 'pace-group',
  })
})

test('a lane in flight is not acquired, and one that was acquired is not reserved', async () => {
  const { ledger, reserve, reserveOne, startPage, finish, clock } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b'))
  const taken = await reserveOne()
  await startPage(taken)
  expect(await ledger.acquire({ lanes: [lane], kind: 'hop', delayMs: DELAY })).toEqual({
    kind: 'wait',
    waitMs: DELAY,
    gate: 'lane-busy',
  })
  await finish(taken)
  clock.pass(DELAY)
  const entry = await ledger.acquire({ lanes: [lane], kind: 'hop', delayMs: DELAY })
  expect(entry.kind).toBe('granted')
  expect(await reserve()).toEqual([])
})

test('a secondary lease whose holder dies keeps the lane closed for lease + delay + quarantine and counts no attempt of the first URL', async () => {
  const { ledger, reserveOne, clock, dueOf } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  await ledger.acquire({ lanes: [lane], kind: 'hop', delayMs: DELAY })
  clock.pass(LEASE)
  expect(await ledger.reap(0)).toMatchObject({ started: 1, robotsFetches: [] })
  expect(await dueOf()).toBe(clock.now + DELAY + QUARANTINE)
  clock.pass(DELAY + QUARANTINE)
  expect(await reserveOne()).toMatchObject({ tries: 0, urls: [{ id: 'a' }] })
})

test('back-off of the site holds secondary leases too', async () => {
  const { ledger, reserveOne, startPage, finish, clock } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const taken = await reserveOne()
  await startPage(taken)
  await finish(taken, { load: { kind: 'asked-for-less', retryAfterMs: 20_000 } } as object)
  clock.pass(DELAY)
  const entry = await ledger.acquire({ lanes: [{ agent: 'other', origin: ORIGIN }], kind: 'hop', delayMs: DELAY })
  expect(entry.kind === 'wait' && entry.waitMs).toBeGreaterThanOrEqual(19_000)
})

test('a deferred lane that was acquired is woken at the delay owed since, not at the due time it had before', async () => {
  const { ledger, reserve, startPage, clock, dueOf } = await emptyLedger(redis)
  await ledger.store(0, [url('a'), url('b', { agent: 'asker' })])
  const lanes = await reserve()
  const asker = lanes.find(({ agent }) => agent === 'asker')!
  const waiting = lanes.find(({ agent }) => agent === AGENT)!
  await startPage(asker, { kind: 'robots' })
  const next = { kind: 'defer' as const, until: clock.now + 30_000, why: 'robots-in-flight' as const }
  await ledger.resolve(0, [{ ...waiting, dropped: [], next }])
  clock.pass(100)
  const entry = await ledger.acquire({ lanes: [lane], kind: 'pace-group', delayMs: DELAY })
  if (entry.kind !== 'granted') throw new Error('its own clock had long run out')
  await ledger.complete({
    ...lane,
    fence: entry.fence,
    delayMs: DELAY,
    load: { kind: 'normal' },
    elapsedMs: 0,
    secondary: true,
  })
  const delays = [{ agent: AGENT, delayMs: DELAY }]
  await ledger.record({ ...asker, state: {}, delays, delayMs: DELAY, elapsedMs: 0 })
  expect(await dueOf()).toBe(clock.now + DELAY)
})

test('a hold holds secondary leases', async () => {
  const { ledger, clock } = await emptyLedger(redis, { hold: true })
  clock.pass(400)
  expect(await ledger.acquire({ lanes: [lane], kind: 'hop', delayMs: DELAY })).toEqual({
    kind: 'wait',
    waitMs: 600,
    gate: 'startup-hold',
  })
})

test('a secondary lease for robots.txt is the only robots fetch of the origin, and its answer is recorded', async () => {
  const { ledger, clock, dueOf } = await emptyLedger(redis)
  const entry = await ledger.acquire({ lanes: [lane], kind: 'hop', of: lane, isRobots: true, delayMs: DELAY })
  if (entry.kind !== 'granted') throw new Error('an idle lane is open')
  const { fence } = entry
  expect((await ledger.viewOrigin(ORIGIN, [])).state.question).toMatchObject({ fence })
  const other = { agent: 'other', origin: ORIGIN }
  expect(await ledger.acquire({ lanes: [other], kind: 'hop', of: other, isRobots: true, delayMs: DELAY })).toEqual({
    kind: 'wait',
    waitMs: 250, // it may end at any time
    gate: 'robots-in-flight',
  })
  clock.pass(300)
  const state = step({}, { kind: 'answered', status: 404, jitter: 0 }, clock.now)
  expect(await ledger.record({ ...lane, fence, withPage: true, state, delays: [], delayMs: DELAY, elapsedMs: 0 })).toBe(
    'completed',
  )
  const end = {
    ...lane,
    fence,
    delayMs: DELAY,
    elapsedMs: 0,
    load: { kind: 'normal' as const },
    secondary: true as const,
  }
  expect(await ledger.complete(end)).toBe('completed')
  expect((await ledger.viewOrigin(ORIGIN, [])).state).toMatchObject({ answer: { status: 404 } })
  expect((await ledger.viewOrigin(ORIGIN, [])).state.question).toBeUndefined()
  const due = await dueOf()
  expect(due).toBe(clock.now + DELAY)
  clock.pass(LEASE + 1)
  expect(await ledger.reap(0)).toMatchObject({ started: 0, unstarted: 0, robotsFetches: [] })
  expect(await dueOf()).toBe(due) // a visit that was left behind would close the lane once more
  expect((await ledger.acquire({ lanes: [other], kind: 'hop', of: other, isRobots: true, delayMs: DELAY })).kind).toBe(
    'granted',
  )
})
