/**
 * Redis's clock leaps, ahead or back, for a moment or for good: no silence is cut short, no lane stands still for longer than
 * a hold, and it is said. Two clocks are moved here: Redis's own, and the processes' monotonic one.
 */

import type { ReservedLane } from '@decorum/ledger'
import { EPOCH, FIELD } from '@decorum/ledger/testing'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import type { RetryAfter } from '@decorum/robots'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { emptyLedger, keys, LEASE, outcomeOf, PATIENT, QUARANTINE, url, urls } from './ledger-for-test.ts'

const redis = await redisForTest()
const HOLD = LEASE + QUARANTINE
const DAY = 86_400_000
const DOUBT = 2_000
const START = 1_800_000_000_000
const LANE = { agent: 'bot', origin: 'http://site.test' }
const ask = { limit: 10, aheadMs: 0, inFlightLimit: 100, peek: 1 }
const held = (waitMs: number) => ({ kind: 'wait', why: 'startup-hold', waitMs })

/** A living process that has seen all of the time that has really passed, and others beside it. */
async function scene() {
  const time = { passed: 0, leapt: 0, excess: 0 }
  const notices: string[] = []
  const common = { nowMs: () => START + time.passed + time.leapt, leaseMs: LEASE, quarantineMs: QUARANTINE }
  const onNotice = (sentence: string): void => void notices.push(sentence)
  const { ledger, raw } = await emptyLedger(redis, {
    ...common,
    onNotice,
    mostMs: () => START + time.passed,
    excess: () => time.excess,
    hold: true,
  })
  time.passed += 1_000
  return {
    ledger,
    raw,
    notices,
    /** what has really passed, second by second, a living process calling */
    async pass(ms: number, by: LedgerWithViews = ledger): Promise<void> {
      for (let left = ms; left > 0; left -= 1_000) {
        time.passed += Math.min(left, 1_000)
        await by.viewPartition(0)
      }
    },
    /** so much passes, and nobody calls */
    silence(ms: number): void {
      time.passed += ms
    },
    leap(ms: number): void {
      time.leapt += ms
    },
    /** so much passes while Redis's clock runs 8 % fast, a call by one of these every tenth of a second */
    async passFast(ms: number, by: LedgerWithViews[]): Promise<void> {
      for (let tenth = 0; tenth < ms / 100; tenth++) {
        time.passed += 100
        time.leapt += 8
        await by[tenth % by.length]?.viewPartition(0)
      }
    },
    /** the living process has measured that so much of the time on Redis's clock does not pass */
    claim(excess: number): void {
      time.excess = excess
    },
    /** a process that has only just started */
    async fresh(mostMs: () => number | undefined = () => undefined): Promise<LedgerWithViews> {
      const other = await openLedgerWithViews({ redis: redis.url, partitions: 1, ...common, mostMs, ...PATIENT })
      onTestFinished(() => other.close())
      return other
    },
    ledgerNow: async () => (await ledger.viewPartition(0)).now - START,
    passed: () => time.passed,
  }
}

async function reserveOne(ledger: LedgerWithViews): Promise<ReservedLane> {
  const taken = await ledger.reserve(0, ask)
  if (taken.kind !== 'reserved' || taken.lanes[0] === undefined) throw new Error(`nothing: ${JSON.stringify(taken)}`)
  return taken.lanes[0]
}
async function visit(ledger: LedgerWithViews, more: { delayMs?: number } & RetryAfter = {}): Promise<string> {
  const { delayMs = 1_000, ...asked } = more
  const { fence, urls } = await reserveOne(ledger)
  expect(await ledger.start({ ...LANE, kind: 'page', fence, version: 0, delayMs })).toMatchObject({ kind: 'granted' })
  const isAsked = Object.keys(asked).length > 0
  const load = isAsked ? { kind: 'asked-for-less' as const, ...asked } : { kind: 'normal' as const }
  await ledger.complete({ ...LANE, fence, delayMs, elapsedMs: 0, load, outcome: outcomeOf(urls[0]?.id ?? '') })
  return urls[0]?.id ?? ''
}

test('ahead for one call and back: nothing comes early, nothing is ended, and after a hold the lanes go on', async () => {
  const { ledger, notices, pass, leap } = await scene()
  await ledger.store(0, [...urls('a', 'b'), url('c', { origin: 'http://flying.test' })])
  const taken = await ledger.reserve(0, ask)
  const lanes = taken.kind === 'reserved' ? taken.lanes : []
  const flying = lanes.find(({ origin }) => origin !== LANE.origin)!
  const own = lanes.find(({ origin }) => origin === LANE.origin)!
  await ledger.start({ ...flying, kind: 'page', version: 0, delayMs: 1_000 })
  await ledger.start({ ...own, kind: 'page', version: 0, delayMs: 20_000 })
  await ledger.complete({ ...own, delayMs: 20_000, elapsedMs: 0, load: { kind: 'normal' }, outcome: outcomeOf('a') })
  await pass(10_000)
  leap(DAY)
  expect(await ledger.reap(0), 'a lease that has not ended').toMatchObject({ started: 0 })
  expect(await ledger.reserve(0, ask), 'a silence that is not over').toMatchObject({
    kind: 'wait',
    why: 'startup-hold',
  })
  leap(-DAY)
  expect(await ledger.reserve(0, ask)).toEqual(held(HOLD))
  await pass(HOLD - 1_000)
  expect(await ledger.reserve(0, ask)).toEqual(held(1_000))
  await pass(1_000)
  expect(await visit(ledger)).toBe('b')
  expect(notices).toEqual([expect.stringMatching(/clock leapt back by 86400 s: nothing is fetched for 5\d s/)])
})

test('ahead for good: time goes on as it passes, not as Redis claims; a back-off of an hour lasts an hour', async () => {
  const { ledger, notices, pass, leap, ledgerNow, passed } = await scene()
  await ledger.store(0, urls('a', 'b'))
  await visit(ledger, { retryAfterMs: 3_600_000 })
  const shutAt = passed()
  leap(DAY)
  await pass(DOUBT)
  expect(await ledger.reserve(0, ask)).toMatchObject({ kind: 'wait', why: 'startup-hold' })
  await pass(1_000)
  await expect.poll(() => notices).toEqual([expect.stringMatching(/clock leapt ahead by 8640\d s/)])
  expect(Math.abs((await ledgerNow()) - passed())).toBeLessThanOrEqual(1_000)
  await pass(HOLD)
  await ledger.store(0, [url('x', { origin: 'http://x.test' })])
  expect(await reserveOne(ledger), 'others go on').toMatchObject({ urls: [{ id: 'x' }] })
  for (;;) {
    await pass(30_000)
    const taken = await ledger.reserve(0, ask)
    if (taken.kind === 'reserved' && taken.lanes.some(({ origin }) => origin === LANE.origin)) break
  }
  expect(passed() - shutAt).toBeGreaterThanOrEqual(3_600_000)
  expect(passed() - shutAt).toBeLessThan(4_000_000)
})

test('an expiry is a date of the frontier’s: it goes by Redis’s own clock, whatever has become of the ledger’s', async () => {
  const { ledger, pass, leap } = await scene()
  leap(-DAY)
  await pass(HOLD + 1_000)
  await ledger.store(0, [url('a', { expiresAt: START + 10_000 })])
  const { wallAt, now, urls } = await reserveOne(ledger)
  expect(urls[0]?.expiresAt).toBe(START + 10_000)
  expect(Math.abs(now - wallAt - DAY), 'what passed between the calls around the leap is lost').toBeLessThanOrEqual(
    2_000,
  )
  expect(ledger.now() - ledger.wall()).toBe(now - wallAt)
})

test('back for good: time goes on from where it was, after a hold', async () => {
  const { ledger, pass, leap, ledgerNow, raw } = await scene()
  await ledger.store(0, urls('a', 'b'))
  await visit(ledger, { delayMs: 20_000 })
  const before = await ledgerNow()
  leap(-3_600_000)
  expect(await ledgerNow(), 'never backwards').toBe(before)
  await pass(HOLD)
  const fence = Number(await raw.hget(keys.epoch, EPOCH.fence))
  const next = await reserveOne(ledger)
  expect(next.urls[0]?.id).toBe('b')
  expect(next.fence).toBeGreaterThan(fence)
})

test('a small step back is waited out: no hold, no silence shorter', async () => {
  const { ledger, pass, leap, notices, silence } = await scene()
  await ledger.store(0, urls('a', 'b'))
  await visit(ledger, { delayMs: 5_000 })
  leap(-900)
  await pass(4_000)
  silence(1_899)
  expect(await ledger.reserve(0, ask)).toMatchObject({ why: 'nothing-due', waitMs: 1 })
  silence(1)
  expect(await visit(ledger)).toBe('b')
  expect(notices).toEqual([])
})

test('a clock that is slewed is no clock that leaps', async () => {
  const { ledger, pass, leap, notices } = await scene()
  for (let minute = 0; minute < 60; minute++) {
    await pass(10_000)
    leap(minute < 30 ? 5 : -5)
  }
  expect((await ledger.viewPartition(0)).holdUntil).toBeUndefined()
  expect(notices).toEqual([])
})

const FAST = 1 - 1 / 1.08

test('while Redis’s clock runs fast, delays and leases last as long as a process has measured, whoever calls', async () => {
  const { ledger, fresh, passFast, claim, notices } = await scene()
  const other = await fresh(() => undefined)
  await ledger.store(0, [...urls('a', 'b'), url('c', { origin: 'http://flying.test' })])
  await passFast(1_000, [other])
  claim(FAST)
  await passFast(100, [ledger])
  const taken = await ledger.reserve(0, ask)
  for (const lane of taken.kind === 'reserved' ? taken.lanes : []) {
    await ledger.start({ ...lane, kind: 'page', version: 0, delayMs: 5_000 })
    if (lane.origin !== LANE.origin) continue
    await ledger.complete({ ...lane, delayMs: 5_000, elapsedMs: 0, load: { kind: 'normal' }, outcome: outcomeOf('a') })
  }
  await passFast(4_900, [other, other, other, ledger])
  expect(await other.reserve(0, ask)).toMatchObject({ why: 'nothing-due' })
  await passFast(200, [other])
  expect(await reserveOne(other)).toMatchObject({ urls: [{ id: 'b' }] })
  await passFast(LEASE - 5_200, [ledger, other])
  expect(await ledger.reap(0), 'a lease that has not ended').toMatchObject({ started: 0 })
  await passFast(300, [other])
  expect(await ledger.reap(0)).toMatchObject({ started: 1 })
  expect(notices).toEqual([])
})

test('a claim is bounded, and ends a minute after it was last made', async () => {
  const { raw, pass, claim, ledgerNow, passed } = await scene()
  await pass(1_000)
  expect(await raw.hmget(keys.epoch, EPOCH.excess, EPOCH.shift)).toEqual([null, null])
  const before = passed() - (await ledgerNow())
  claim(0.9)
  await pass(10_000)
  claim(0)
  expect(passed() - (await ledgerNow()) - before).toBe(2_000)
  await pass(200_000)
  expect(await raw.hexists(keys.epoch, EPOCH.excess)).toBe(0)
  expect(passed() - (await ledgerNow()) - before).toBeLessThan(2_000 + 0.2 * 80_000)
})

test('the date in a Retry-After is the site’s: it is compared with Redis’s own clock when it is written', async () => {
  const { ledger, raw, pass, leap } = await scene()
  leap(-DAY)
  await pass(HOLD + 1_000)
  await ledger.store(0, urls('a'))
  const date = ledger.wall() + 60_000
  await visit(ledger, { retryAfterAt: date })
  const until = Number(await raw.hget(keys.origin(LANE.origin), FIELD.backOffUntil)) - (ledger.now() - ledger.wall())
  expect(until).toBeGreaterThanOrEqual(date)
  expect(until, 'a tenth more at most, by which a back-off is lengthened').toBeLessThan(date + 6_001)
})

test('a process that has just started carries no leap in: the living deny it', async () => {
  const { ledger, pass, leap, fresh, ledgerNow, passed } = await scene()
  await ledger.store(0, urls('a', 'b'))
  await visit(ledger, { delayMs: 30_000 })
  leap(DAY)
  const other = await fresh()
  expect(await other.reserve(0, ask)).toMatchObject({ why: 'startup-hold' })
  await pass(DOUBT + 1_000)
  expect((await other.viewPartition(0)).holdUntil).toBeGreaterThan(START + HOLD)
  expect(await ledgerNow()).toBeLessThanOrEqual(passed())
  leap(-DAY)
  await pass(2 * HOLD)
  expect(await visit(ledger)).toBe('b')
})

test('a fleet that was away is a fleet that was away: after two seconds its time is believed', async () => {
  const { ledger, pass, silence, fresh, ledgerNow, passed } = await scene()
  await ledger.store(0, urls('a', 'b'))
  await visit(ledger, { delayMs: 30_000 })
  silence(3_600_000)
  const other = await fresh()
  expect(await other.reserve(0, ask)).toEqual(held(DOUBT))
  await pass(DOUBT, other)
  expect(await ledgerNow()).toBe(passed())
  expect(await visit(other)).toBe('b')
})

test('a Redis that stood still: a call from before it hangs on, and the next one vouches for the time', async () => {
  const { ledger, silence, fresh, notices, passed, ledgerNow } = await scene()
  await ledger.store(0, urls('a', 'b'))
  await visit(ledger, { delayMs: 10_000 })
  const before = passed()
  const stuck = await fresh(() => START + before)
  silence(30_000)
  expect(await stuck.reserve(0, ask), 'what it asked for is not granted on an old word').toMatchObject({
    why: 'startup-hold',
  })
  expect(await ledgerNow()).toBe(passed())
  expect(await visit(ledger)).toBe('b')
  expect(notices).toEqual([])
})

test('each partition judges its own time', async () => {
  const { ledger: _one, leap, silence, fresh } = await scene()
  silence(100)
  const other = await fresh(() => START + 1_100)
  leap(DAY)
  expect((await other.viewPartition(0)).now).toBeLessThanOrEqual(START + 2_100)
})
