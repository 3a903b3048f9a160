/** Redis has lost its latest writes: what a process has written within the last hold is written again from its memory. */
import { EPOCH, FIELD } from '@decorum/ledger/testing'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, emptyLedger, keys, LEASE, ORIGIN, outcomeOf, QUARANTINE, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const HOLD = LEASE + QUARANTINE
const lane = `${AGENT} ${ORIGIN}`

test('a delay that is longer than the hold is waited for, from the end that was lost', async () => {
  const { ledger, clock, raw, visit, restartRedis, dueOf } = await emptyLedger(redis)
  await ledger.store(0, urls('b'))
  await visit('a', 2 * HOLD)
  const due = clock.now + 2 * HOLD
  expect(await dueOf()).toBe(due)
  await raw.zadd(keys.due, clock.now, lane)
  await restartRedis()
  await ledger.reap(0)
  await expect.poll(() => dueOf()).toBe(due)
})

test('an end that its holder puts before the request is written again no earlier than the request', async () => {
  const { ledger, clock, raw, reserveOne, startPage, restartRedis, dueOf } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b'))
  const reserved = await reserveOne()
  await startPage(reserved)
  const due = clock.now + 2 * HOLD
  const { agent, origin, fence } = reserved
  const end = { agent, origin, fence, delayMs: 2 * HOLD, elapsedMs: 36_000_000, load: { kind: 'normal' as const } }
  await ledger.complete({ ...end, outcome: outcomeOf('a') })
  expect(await dueOf()).toBe(due)
  await raw.zadd(keys.due, clock.now, lane)
  await restartRedis()
  await ledger.reap(0)
  await expect.poll(() => dueOf()).toBeGreaterThanOrEqual(due)
})

test.each(['page', 'robots'] as const)(
  'a Retry-After that is longer than the hold closes the origin again: the answer to a request of kind %s',
  async (kind) => {
    const { ledger, clock, raw, reserveOne, startPage, restartRedis } = await emptyLedger(redis, { random: () => 0 })
    await ledger.store(0, urls('a', 'b'))
    const { agent, origin, fence, ...reserved } = await reserveOne()
    await startPage({ agent, origin, fence, ...reserved }, { kind })
    const load = { kind: 'asked-for-less' as const, retryAfterMs: 2 * HOLD }
    const end = { agent, origin, fence, delayMs: 0, elapsedMs: 0, load }
    if (kind === 'page') await ledger.complete({ ...end, outcome: outcomeOf('a') })
    else await ledger.record({ ...end, state: {}, delays: [] })
    const until = async () => Number(await raw.hget(keys.origin(ORIGIN), FIELD.backOffUntil))
    const before = await until()
    expect(before).toBe(clock.now + 2 * HOLD)
    await raw.hdel(keys.origin(ORIGIN), FIELD.backOffUntil, FIELD.incidents)
    await restartRedis()
    await ledger.reap(0)
    await expect.poll(until).toBe(before)
  },
)

test('a Retry-After whose exchange had lost its lease closes the origin all the same', async () => {
  const { ledger, clock, raw, reserveOne, startPage, restartRedis } = await emptyLedger(redis, { random: () => 0 })
  await ledger.store(0, urls('a', 'b'))
  const { agent, origin, fence, ...reserved } = await reserveOne()
  await startPage({ agent, origin, fence, ...reserved })
  const load = { kind: 'asked-for-less' as const, retryAfterMs: 2 * HOLD }
  const end = { agent, origin, fence, delayMs: 0, elapsedMs: 0, load }
  await raw.hdel(keys.leases, lane)
  const until = async () => Number(await raw.hget(keys.origin(ORIGIN), FIELD.backOffUntil))
  expect(await ledger.complete({ ...end, outcome: outcomeOf('a') })).toBe('stale')
  expect(await until()).toBe(0)
  const endedAt = clock.now
  clock.pass(1_000)
  ledger.reportLate({ ...end, elapsedMs: 1_000 })
  await expect.poll(until).toBeCloseTo(endedAt + 2 * HOLD, 1)

  await raw.hdel(keys.origin(ORIGIN), FIELD.backOffUntil, FIELD.incidents)
  await restartRedis()
  await ledger.reap(0)
  await expect.poll(until, { message: 'what Redis has lost is written again' }).toBeCloseTo(endedAt + 2 * HOLD, 1)
})

test('such a Retry-After is written again also where the next request of the lane has ended since', async () => {
  const { ledger, clock, raw, reserveOne, startPage, restartRedis } = await emptyLedger(redis, { random: () => 0 })
  await ledger.store(0, urls('a', 'b'))
  const ends = { delayMs: 0, elapsedMs: 0 }
  const { agent, origin, fence, ...reserved } = await reserveOne()
  await startPage({ agent, origin, fence, ...reserved })
  await raw.hdel(keys.leases, lane)
  await raw.zadd(keys.due, clock.now, lane)
  const next = await reserveOne()
  await startPage(next)
  const until = async () => Number(await raw.hget(keys.origin(ORIGIN), FIELD.backOffUntil))
  ledger.reportLate({ agent, origin, fence, ...ends, load: { kind: 'asked-for-less', retryAfterMs: 2 * HOLD } })
  await expect.poll(until).toBeGreaterThan(0)
  const before = await until()
  clock.pass(1_000)
  const normal = { load: { kind: 'normal' as const }, outcome: outcomeOf('a') }
  expect(await ledger.complete({ agent, origin, fence: next.fence, ...ends, ...normal })).toBe('completed')

  await raw.hdel(keys.origin(ORIGIN), FIELD.backOffUntil, FIELD.incidents)
  await restartRedis()
  await ledger.reap(0)
  await expect.poll(until).toBe(before)
})

test('a late end leaves nothing behind of a lane that is idle', async () => {
  const { ledger, raw, clock, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const { agent, origin, fence, ...reserved } = await reserveOne()
  await startPage({ agent, origin, fence, ...reserved })
  const end = { agent, origin, fence, delayMs: 0, elapsedMs: 0 }
  await ledger.complete({ ...end, load: { kind: 'normal' }, outcome: outcomeOf('a') })
  clock.pass(HOLD)
  ledger.reportLate({ ...end, elapsedMs: HOLD, load: { kind: 'asked-for-less', retryAfterMs: 2 * HOLD } })
  await expect.poll(() => raw.hexists(keys.origin(ORIGIN), FIELD.backOffUntil)).toBe(1)
  expect(await raw.hexists(keys.ended, lane)).toBe(0)
})

test('a pause that was lost holds again; one that was ended before the loss does not', async () => {
  const { ledger, clock, raw, restartRedis, another } = await emptyLedger(redis)
  const operator = { origin: ORIGIN, by: 'ann', reason: 'they wrote to us' }
  const till = clock.now + 2 * HOLD
  const paused = () => raw.hget(keys.origin(ORIGIN), FIELD.pausedUntil)
  await ledger.operate({ ...operator, action: 'pause', until: till }, [AGENT])
  await raw.hdel(keys.origin(ORIGIN), FIELD.pausedUntil)
  await restartRedis()
  await ledger.reap(0)
  await expect.poll(paused).not.toBeNull()

  clock.pass(5_000)
  await (await another()).operate({ ...operator, action: 'resume' }, [AGENT])
  await restartRedis()
  await ledger.reap(0)
  await expect.poll(() => raw.hget(keys.epoch, EPOCH.keptUntil)).toBe(clock.now.toFixed(3))
  await new Promise((resolve) => setTimeout(resolve, 300)) // time enough to write it, if it were to be written
  expect(await paused()).toBeNull()
})
