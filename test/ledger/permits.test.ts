/** grant, extend and claim: the leases of crawlers that are no fetchers of the fleet. */
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, emptyLedger, LEASE, ORIGIN, QUARANTINE, RESERVE, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const lane = { agent: AGENT, origin: ORIGIN }
const paceLane = { agent: AGENT, origin: 'http://site.test:8080' }
const DELAY = 1_000
const asked = { ...lane, version: 0, delayMs: DELAY, leaseMs: LEASE, by: { agent: 'one:bot', origin: ORIGIN } }
const end = { load: { kind: 'normal' as const }, elapsedMs: 0, secondary: true as const }

test('an operator wants robots.txt asked for again: no permit until it has been', async () => {
  const { ledger } = await emptyLedger(redis)
  await ledger.operate({ origin: ORIGIN, by: 'someone', reason: 'some', action: 'refetch' }, [AGENT])
  expect(await ledger.grant(asked)).toEqual({ kind: 'refetch' })
})

test('a permit and its pace lane are granted together, and open when the later of both is due', async () => {
  const { ledger, clock } = await emptyLedger(redis, { grantAheadMs: 10 })
  const first = await ledger.grant({ ...asked, ...paceLane, by: { ...asked.by, origin: paceLane.origin } })
  if (first.kind !== 'granted') throw new Error(first.kind)
  await ledger.complete({ ...paceLane, fence: first.fence, delayMs: DELAY, ...end })
  clock.pass(DELAY - 8)
  expect(await ledger.grant({ ...asked, clock: paceLane })).toMatchObject({ kind: 'granted', waitMs: 8, clock: {} })
})

test('a closed pace lane gives the lane back: its own URLs are due as before', async () => {
  const { ledger, reserveOne } = await emptyLedger(redis)
  await ledger.grant({ ...asked, ...paceLane, by: { ...asked.by, origin: paceLane.origin } })
  expect(await ledger.grant({ ...asked, clock: paceLane })).toMatchObject({ kind: 'wait', gate: 'pace-group' })
  await ledger.park(0, urls('a'))
  expect(await reserveOne()).toMatchObject({ heads: [{ id: 'a' }] })
})

test('an extended lease ends so much later, and not for ever', async () => {
  const { ledger, clock, dueOf } = await emptyLedger(redis)
  const permit = await ledger.grant(asked)
  if (permit.kind !== 'granted') throw new Error(permit.kind)
  clock.pass(LEASE - 1)
  expect(await ledger.extend([{ ...lane, fence: permit.fence }], LEASE)).toEqual({ kind: 'extended' })
  clock.pass(LEASE - 1)
  expect(await ledger.reap(0)).toMatchObject({ started: 0 })
  clock.pass(1)
  expect(await ledger.extend([{ ...lane, fence: permit.fence }], LEASE)).toEqual({ kind: 'stale' })
  expect(await ledger.reap(0)).toMatchObject({ started: 1 })
  expect(await dueOf()).toBe(clock.now + DELAY + QUARANTINE)
})

test('a claimed lane is reserved for one robots fetch, and is due again when nobody starts it', async () => {
  const { ledger, clock, dueOf } = await emptyLedger(redis)
  const claim = await ledger.claim(lane)
  expect(claim).toMatchObject({ kind: 'claimed', notBefore: clock.now, version: 0 })
  expect(await ledger.claim(lane)).toMatchObject({ kind: 'wait', gate: 'lane-busy' })
  clock.pass(RESERVE)
  expect(await ledger.reap(0)).toMatchObject({ unstarted: 1 })
  expect(await dueOf()).toBe(clock.now)
})

test('no lane is claimed while a robots fetch of its origin is in flight', async () => {
  const { ledger } = await emptyLedger(redis)
  const claim = await ledger.claim(lane)
  if (claim.kind !== 'claimed') throw new Error(claim.kind)
  await ledger.start({ ...lane, fence: claim.fence, kind: 'robots', version: 0, delayMs: DELAY })
  expect(await ledger.claim({ agent: 'other', origin: ORIGIN })).toMatchObject({
    kind: 'wait',
    gate: 'robots-in-flight',
    waitMs: LEASE + QUARANTINE,
  })
})

test.each([
  ['pause', 'paused'],
  ['block', 'blocked'],
] as const)('after %s an extended permit is told to stop: %s', async (action, stop) => {
  const { ledger } = await emptyLedger(redis)
  const permit = await ledger.grant(asked)
  if (permit.kind !== 'granted') throw new Error(permit.kind)
  await ledger.operate({ origin: ORIGIN, by: 'someone', reason: 'some', action }, [AGENT])
  expect(await ledger.extend([{ ...lane, fence: permit.fence }], LEASE)).toEqual({ kind: 'extended', stop })
})
