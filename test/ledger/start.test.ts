/** start: a reservation becomes a lease, right before the first byte. */
import { EPOCH } from '@decorum/ledger/testing'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import {
  AGENT,
  emptyLedger,
  FIRST_HOLD,
  keys,
  LEASE,
  ORIGIN,
  QUARANTINE,
  RESERVE,
  url,
  urls,
} from './ledger-for-test.ts'

const redis = await redisForTest()

test('a started lease lasts leaseMs from then, however old the reservation', async () => {
  const { ledger, raw, clock, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  clock.pass(RESERVE - 1)
  expect(await startPage(lane)).toEqual({ kind: 'granted', leaseMs: LEASE })
  const ends = clock.now + LEASE
  clock.pass(1)
  expect(await ledger.reap(0), 'the end of the reservation').toMatchObject({ started: 0, unstarted: 0 })
  expect(Number(await raw.zscore(keys.inFlight, `${AGENT} ${ORIGIN}`))).toBe(ends)
  clock.pass(LEASE - 2)
  expect(await ledger.reap(0)).toMatchObject({ started: 0 })
  clock.pass(1)
  expect(await ledger.reap(0)).toMatchObject({ started: 1 })
})

test('stale: no lease, another fence, one that is started already', async () => {
  const { ledger, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  const stale = { kind: 'refused', why: 'stale' }
  expect(await startPage({ ...lane, fence: lane.fence - 1 })).toEqual(stale)
  expect(await startPage({ ...lane, fence: lane.fence + 1 })).toEqual(stale)
  expect(await startPage({ ...lane, origin: 'http://nowhere.test' })).toEqual(stale)
  expect(await startPage(lane)).toMatchObject({ kind: 'granted' })
  expect(await startPage(lane)).toEqual(stale)
  expect((await ledger.viewPartition(0)).counts).toMatchObject({ 'stale-start': 4 })
})

test('stale: the reservation was reaped and the lane reserved again', async () => {
  const { ledger, clock, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const old = await reserveOne()
  clock.pass(RESERVE)
  await ledger.reap(0)
  const next = await reserveOne()
  expect(await startPage(old)).toEqual({ kind: 'refused', why: 'stale' })
  expect(await startPage(next)).toMatchObject({ kind: 'granted' })
})

test('early: before the lane opens the answer is the time that is left, and the lease is kept', async () => {
  const { ledger, clock, visit, reserveOne, startPage } = await emptyLedger(redis)
  await visit('a', 1_000)
  await ledger.store(0, urls('b'))
  clock.pass(995)
  const lane = await reserveOne({ aheadMs: 10 })
  expect(await startPage(lane)).toEqual({ kind: 'early', waitMs: 5 })
  clock.pass(4.5)
  expect(await startPage(lane)).toEqual({ kind: 'early', waitMs: 0.5 })
  clock.pass(0.5)
  expect(await startPage(lane)).toMatchObject({ kind: 'granted' })
})

test('closed: back-off that came after the reservation; the lane is deferred until its end', async () => {
  const { ledger, clock, reserveOne, startPage, dueOf, setOrigin } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await setOrigin({ backOffUntil: clock.now + 7_000 })
  expect(await startPage(lane)).toEqual({ kind: 'refused', why: 'back-off' })
  expect(await dueOf()).toBe(clock.now + 7_000)
  expect((await ledger.viewOrigin(ORIGIN, [AGENT])).lanes).toMatchObject([
    { state: 'waiting', heldBy: 'back-off', tries: 0 },
  ])
  expect(await startPage(lane)).toEqual({ kind: 'refused', why: 'stale' })
})

test('closed: a pause that came after the reservation', async () => {
  const { ledger, clock, reserveOne, startPage, setOrigin } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await setOrigin({ pausedUntil: clock.now + 7_000 })
  expect(await startPage(lane)).toEqual({ kind: 'refused', why: 'paused' })
  expect((await ledger.viewOrigin(ORIGIN, [AGENT])).lanes).toMatchObject([{ heldBy: 'paused' }])
})

test.each([
  ['as it comes', {}],
  ['of priority high', { priority: 'high' as const }],
  ['of another crawl', { crawl: 'a' }],
  ['of priority high and another crawl', { crawl: 'a', priority: 'high' as const }],
])('a gate that was closed after the taking holds no URL beyond its expiry: one %s', async (_, more) => {
  const { ledger, clock, reserveOne, startPage, dueOf, setOrigin } = await emptyLedger(redis)
  const expiresAt = Math.ceil((clock.now + 5_000) / 1_000) * 1_000
  await ledger.store(0, [url('a', { ...more, expiresAt })])
  const lane = await reserveOne()
  await setOrigin({ backOffUntil: clock.now + 86_400_000 })
  expect(await startPage(lane)).toEqual({ kind: 'refused', why: 'back-off' })
  expect(await dueOf()).toBe(expiresAt)
  clock.now = expiresAt
  expect(await reserveOne()).toMatchObject({ heldBy: 'back-off', urls: [{ id: 'a' }] })
})

test('a fetcher that waits for a pace group holds no URL beyond its expiry', async () => {
  const { ledger, clock, reserveOne, dueOf } = await emptyLedger(redis)
  const expiresAt = Math.ceil((clock.now + 5_000) / 1_000) * 1_000
  await ledger.store(0, [url('a', { expiresAt })])
  const next = { kind: 'defer', until: clock.now + 3_600_000, why: 'pace-group' } as const
  await ledger.resolve(0, [{ ...(await reserveOne()), dropped: [], next }])
  expect(await dueOf()).toBe(expiresAt)
})

test('back-off ends exactly at its instant', async () => {
  const { ledger, clock, reserveOne, startPage, setOrigin } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await setOrigin({ backOffUntil: clock.now })
  expect(await startPage(lane)).toMatchObject({ kind: 'granted' })
})

test('rules-changed: leave that rests on other rules is refused, both ways', async () => {
  const { ledger, reserveOne, startPage, dueOf, clock, setOrigin } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await setOrigin({ version: 3 })
  expect(await startPage(lane, { version: 2 })).toEqual({ kind: 'refused', why: 'rules-changed' })
  expect(await dueOf(), 'it may be taken again at once').toBe(clock.now)
  const again = await reserveOne()
  expect(again.robots.version).toBe(3)
  expect(await startPage(again, { version: 3 })).toMatchObject({ kind: 'granted' })
})

test('robots-in-flight: one robots fetch per origin, whichever agent starts it', async () => {
  const { ledger, clock, reserve, startPage, dueOf } = await emptyLedger(redis)
  await ledger.store(0, [url('a'), url('b', { agent: 'other' })])
  const [first, second] = (await reserve()) as [
    Awaited<ReturnType<typeof reserve>>[0],
    Awaited<ReturnType<typeof reserve>>[0],
  ]
  expect(await startPage(first, { kind: 'robots' })).toMatchObject({ kind: 'granted' })
  expect(await startPage(second, { kind: 'robots' })).toEqual({ kind: 'refused', why: 'robots-in-flight' })
  const { question } = (await ledger.viewOrigin(ORIGIN, [])).state
  expect(question?.fence).toBe(first.fence)
  expect(await dueOf(second.agent), 'the other waits until the question ends').toBe(question?.until)
  clock.pass(LEASE)
  expect(await startPage(second, { kind: 'robots' })).toEqual({ kind: 'refused', why: 'stale' })
})

test('a robots fetch without an answer keeps others from starting one for lease + quarantine', async () => {
  const { ledger, clock, reserve, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, [url('a'), url('b', { agent: 'other' })])
  const [first] = await reserve({ limit: 1 })
  await startPage(first!, { kind: 'robots' })
  clock.pass(LEASE + QUARANTINE - 1)
  const second = await reserveOne()
  expect(await startPage(second, { kind: 'robots' })).toEqual({ kind: 'refused', why: 'robots-in-flight' })
  clock.pass(1)
  expect(await startPage(await reserveOne(), { kind: 'robots' })).toMatchObject({ kind: 'granted' })
})

test('a page may be started while another agent asks for robots.txt', async () => {
  const { ledger, reserve, startPage } = await emptyLedger(redis)
  await ledger.store(0, [url('a'), url('b', { agent: 'other' })])
  const [first, second] = await reserve()
  await startPage(first!, { kind: 'robots' })
  expect(await startPage(second!)).toMatchObject({ kind: 'granted' })
})

test('held: an epoch that began after the taking holds the permit back too', async () => {
  const { ledger, clock, reserveOne, startPage, dueOf, restartRedis } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await restartRedis()
  expect(await startPage(lane)).toEqual({ kind: 'refused', why: 'startup-hold' })
  expect(await dueOf()).toBe(clock.now + LEASE + QUARANTINE)
})

test('a URL that expired behind a hold names a gate of the closed list', async () => {
  const { ledger, raw, clock, reserveOne, startPage, restartRedis } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  await restartRedis()
  const held = { hold: Number(await raw.hget(keys.epoch, EPOCH.holdUntil)) }
  expect(held.hold).toBe(clock.now)
  clock.pass(1)
  await ledger.store(0, urls('b')) // sees the new epoch
  clock.pass(LEASE + QUARANTINE)
  const lane = await reserveOne()
  await restartRedis()
  await startPage(lane)
  clock.pass(LEASE + QUARANTINE)
  expect((await reserveOne()).heldBy).toBe('lane-busy')
})

test('starts of one turn are answered each by its own, in order', async () => {
  const { ledger, reserve, startPage } = await emptyLedger(redis)
  await ledger.store(
    0,
    Array.from({ length: 150 }, (_, i) => url(`u${i}`, { origin: `http://s${i}.test` })),
  )
  const lanes = await reserve({ limit: 200 })
  const answers = await Promise.all(lanes.map((lane, i) => startPage(i % 3 === 0 ? { ...lane, fence: 1 } : lane)))
  expect(answers.map(({ kind }) => kind)).toEqual(lanes.map((_, i) => (i % 3 === 0 ? 'refused' : 'granted')))
})

test('an origin that is only being asked is forgotten by itself', async () => {
  const { ledger, raw, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  await startPage(await reserveOne(), { kind: 'robots' })
  expect(await raw.pttl(keys.origin(ORIGIN))).toBeGreaterThan(LEASE)
})

test('an origin that is about to be forgotten outlives its robots fetch', async () => {
  const { ledger, raw, reserveOne, startPage, setOrigin } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  await setOrigin({ incidents: 1 })
  await raw.pexpire(keys.origin(ORIGIN), 5_000)
  await startPage(await reserveOne(), { kind: 'robots' })
  expect(await raw.pttl(keys.origin(ORIGIN))).toBeGreaterThan(LEASE + QUARANTINE)
})

test('what is remembered of changed gates ends; a reservation that is older looks for itself', async () => {
  const { ledger, raw, clock, reserveOne, startPage } = await emptyLedger(redis, {
    leaseMs: 200_000,
    reserveMs: 100_000,
  })
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await ledger.operate({ origin: ORIGIN, action: 'pause', until: clock.now + 90_000, by: 'ann', reason: 'asked' }, [])
  clock.pass(70_000)
  await ledger.reap(0)
  expect(await raw.exists(keys.changed)).toBe(0)
  expect(await startPage(lane)).toEqual({ kind: 'refused', why: 'paused' })
})

test('nothing is granted in the first second of an empty Redis', async () => {
  const { ledger, clock, reserveOne } = await emptyLedger(redis, { hold: true })
  await ledger.store(0, urls('a'))
  await expect(reserveOne()).rejects.toThrow()
  clock.pass(FIRST_HOLD)
  await reserveOne()
})

test('a lane that opens within grantAheadMs is started already, and says how long nothing may be sent', async () => {
  const { ledger, clock, reserveOne, startPage, visit, dueOf } = await emptyLedger(redis, { grantAheadMs: 8 })
  await visit('first', 1_000)
  await ledger.store(0, urls('a'))
  clock.pass(990)
  const lane = await reserveOne({ aheadMs: 15 })
  expect(await startPage(lane)).toEqual({ kind: 'early', waitMs: 2 })
  clock.pass(2)
  expect(await startPage(lane)).toEqual({ kind: 'granted', leaseMs: LEASE, waitMs: 8 })
  expect(await dueOf()).toBeUndefined()
})
