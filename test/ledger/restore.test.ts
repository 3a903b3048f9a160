/** restore: what a process writes again of the ends of exchanges that Redis may have lost. */
import { defineVerbs, EPOCH, FIELD, readLaneRecord, scriptsOf, verbSettings, verbsOf } from '@decorum/ledger/testing'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, type Bench, emptyLedger, keys, LEASE, ORIGIN, QUARANTINE, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const lane = `${AGENT} ${ORIGIN}`
const HOLD = LEASE + QUARANTINE
const LONG = 2 * HOLD

/** By a process that has ended an exchange just now. */
function restorer({ raw, clock }: Bench) {
  defineVerbs(raw)
  const settings = verbSettings({ leaseMs: LEASE, quarantineMs: QUARANTINE })
  const times = { holdMs: HOLD, longestLeaseMs: LEASE, callDeadlineMs: 5_000, nowMs: () => clock.now }
  const scripts = scriptsOf(raw, keys, { partitions: 1, ...times })
  const { restore } = verbsOf(scripts, settings)
  return (delayMs: number, load = 'normal') => restore([{ lane, endedAt: clock.now, delayMs, load }])
}

test('a reservation is started no sooner than after the delay that its lane owes', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, reserveOne, startPage } = bench
  await ledger.store(0, urls('a'))
  const reserved = await reserveOne()
  await restorer(bench)(20_000)
  expect(await startPage(reserved)).toEqual({ kind: 'early', waitMs: 20_000 })
  clock.pass(20_000)
  expect(await startPage(reserved)).toMatchObject({ kind: 'granted' })
})

test('a request that is under way goes on: its lane owes the delay of its own', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, reserveOne, startPage, dueOf } = bench
  await ledger.store(0, urls('a', 'b'))
  const reserved = await reserveOne()
  await startPage(reserved)
  await restorer(bench)(LONG)
  expect(await ledger.confirm([{ ...reserved, version: 0 }])).toBe('granted')
  const { agent, origin, fence } = reserved
  await ledger.resolve(0, [{ agent, origin, fence, dropped: [], next: { kind: 'unused' } }])
  expect(await dueOf()).toBe(clock.now + 1_000)
})

test('a lane that a gate holds owes it too, when it is woken before', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, raw, reserveOne, dueOf } = bench
  await ledger.store(0, urls('a'))
  const { agent, origin, fence } = await reserveOne()
  const until = clock.now + LONG
  const next = { kind: 'defer', until, why: 'robots-unreachable' } as const
  await ledger.resolve(0, [{ agent, origin, fence, dropped: [], next }])
  await restorer(bench)(20_000)
  expect(await dueOf(), 'the gate holds it as long as before').toBe(until)
  const { memory } = readLaneRecord((await raw.hget(keys.lanes, lane)) ?? '')
  expect(Number(memory?.ownDue)).toBe(clock.now + 20_000)
  await restorer(bench)(2 * LONG)
  expect(await dueOf()).toBe(clock.now + 2 * LONG)
})

test('nothing opens earlier, and what is over closes nothing', async () => {
  const bench = await emptyLedger(redis)
  const { clock, visit, dueOf, raw } = bench
  await visit('a', LONG)
  const due = clock.now + LONG
  await restorer(bench)(1_000)
  expect(await dueOf()).toBe(due)
  await raw.zrem(keys.due, lane)
  await restorer(bench)(0)
  expect(await dueOf()).toBeUndefined()
})

test('the least delay of the configuration is owed, and less where the site has consented', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, dueOf, raw } = bench
  const leastDelays = [{ agent: AGENT, delayMs: 9_000 }]
  await ledger.setRates({ version: 1, leastDelays, sitePolicies: [] })
  await restorer(bench)(1_000)
  expect(await dueOf()).toBe(clock.now + 9_000)
  await raw.zrem(keys.due, lane)
  const policy = { site: 'site.test', delayMs: 500, hasConsent: true, shown: {} }
  await ledger.setRates({ version: 2, leastDelays, sitePolicies: [policy] })
  await restorer(bench)(1_000)
  expect(await dueOf()).toBe(clock.now + 500)
})

test('a Retry-After that was lost closes the origin until the same instant, by whomever and however often it is written again', async () => {
  const bench = await emptyLedger(redis)
  const { clock, raw } = bench
  const restore = restorer(bench)
  const fields = () => raw.hmget(keys.origin(ORIGIN), FIELD.backOffUntil, FIELD.incidents)
  const until = (clock.now + LONG).toFixed(3)
  const load = `asked-for-less 0 ${LONG}`
  await restore(1_000, load)
  expect(await fields()).toEqual([until, '1'])
  await restore(1_000, load)
  expect(await fields()).toEqual([until, '1'])
})

test('while the clock of Redis is in doubt nothing is written: the process tries again', async () => {
  const bench = await emptyLedger(redis)
  const { raw, clock, dueOf } = bench
  await raw.hset(keys.epoch, EPOCH.doubt, `60000|${clock.now}|`)
  await expect(restorer(bench)(LONG)).rejects.toThrow('DOUBT')
  expect(await dueOf()).toBeUndefined()
})
