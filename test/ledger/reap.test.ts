/** reap: leases whose time is over. */
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import {
  AGENT,
  emptyLedger,
  keys,
  LEASE,
  ORIGIN,
  QUARANTINE,
  RESERVE,
  recordDelay,
  url,
  urls,
} from './ledger-for-test.ts'

const redis = await redisForTest()

test('a fetcher that dies keeps its lane closed for lease + delay + quarantine; its URL is tried again', async () => {
  const { ledger, clock, reserveOne, startPage, dueOf, reserve } = await emptyLedger(redis)
  await ledger.store(0, urls('a', 'b'))
  await startPage(await reserveOne(), { delayMs: 3_000 })
  clock.pass(LEASE - 1)
  expect(await ledger.reap(0)).toEqual({ started: 0, unstarted: 0, robotsFetches: [] })
  clock.pass(1)
  expect(await ledger.reap(0)).toEqual({ started: 1, unstarted: 0, robotsFetches: [] })
  expect(await dueOf()).toBe(clock.now + 3_000 + QUARANTINE)
  expect(await reserve()).toEqual([])
  clock.pass(3_000 + QUARANTINE)
  expect(await reserveOne()).toMatchObject({ tries: 1, urls: [{ id: 'a' }] })
})

test('attempts add up over several deaths', async () => {
  const { ledger, clock, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  for (let tries = 0; tries < 3; tries++) {
    const lane = await reserveOne()
    expect(lane.tries).toBe(tries)
    await startPage(lane, { delayMs: 0 })
    clock.pass(LEASE)
    await ledger.reap(0)
    clock.pass(QUARANTINE)
  }
})

test('the longest delay known counts: the one of the lease or the one recorded since', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, reserveOne, startPage, dueOf } = bench
  await ledger.store(0, urls('a'))
  await startPage(await reserveOne(), { delayMs: 3_000 })
  await recordDelay(bench, 8_000)
  clock.pass(LEASE)
  await ledger.reap(0)
  expect(await dueOf()).toBe(clock.now + 8_000 + QUARANTINE)
})

test('a reservation that was not started is due at its own due time again, even one that lies ahead', async () => {
  const { ledger, clock, visit, reserveOne, dueOf } = await emptyLedger(redis)
  await visit('a', 60_000)
  const due = clock.now + 60_000
  await ledger.store(0, urls('b'))
  await reserveOne({ aheadMs: 100_000 })
  clock.pass(RESERVE)
  expect(await ledger.reap(0)).toMatchObject({ unstarted: 1 })
  expect(await dueOf()).toBe(due)
})

test('a first URL of high priority that was in flight stays first in its list', async () => {
  const { ledger, clock, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, [url('h', { priority: 'high' }), url('n')])
  await startPage(await reserveOne(), { delayMs: 0 })
  clock.pass(LEASE)
  await ledger.reap(0)
  clock.pass(QUARANTINE)
  expect(await reserveOne()).toMatchObject({ tries: 1, urls: [{ id: 'h', priority: 'high' }] })
})

test('a robots fetch whose process is gone is reported once, counts no attempt of the first URL, and can be recorded by whoever reaped it', async () => {
  const { ledger, clock, reserveOne, startPage } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  const lane = await reserveOne()
  await startPage(lane, { kind: 'robots', delayMs: 0 })
  clock.pass(LEASE)
  const question = { agent: AGENT, origin: ORIGIN, fence: lane.fence, version: 0, state: {} }
  expect(await ledger.reap(0)).toEqual({ started: 1, unstarted: 0, robotsFetches: [question] })
  expect(await ledger.reap(0)).toEqual({ started: 0, unstarted: 0, robotsFetches: [] })
  const known = async () => (await ledger.viewOrigin(ORIGIN, [])).state.question?.fence
  expect(await known()).toBe(lane.fence)
  clock.pass(QUARANTINE)
  expect(await known(), 'it ends by itself').toBeUndefined()
  expect(await reserveOne()).toMatchObject({ tries: 0, robots: { state: {} } })
})

test('a robots fetch that another process has taken over is not reported', async () => {
  const { ledger, clock, reserveOne, startPage, setOrigin } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  await startPage(await reserveOne(), { kind: 'robots' })
  await setOrigin({ fetchFence: 77 })
  clock.pass(LEASE)
  expect(await ledger.reap(0)).toEqual({ started: 1, unstarted: 0, robotsFetches: [] })
})

test('at most 200 leases a call, the longest ended first; nothing is forgotten', async () => {
  const { ledger, raw, clock, reserve } = await emptyLedger(redis)
  for (const part of [0, 150]) {
    await ledger.store(
      0,
      Array.from({ length: 150 }, (_, i) => url(`u${part + i}`, { origin: `http://s${part + i}.test` })),
    )
  }
  expect([...(await reserve({ limit: 200 })), ...(await reserve({ limit: 200 }))]).toHaveLength(300)
  clock.pass(RESERVE)
  expect(await ledger.reap(0)).toMatchObject({ unstarted: 200 })
  expect(await ledger.reap(0)).toMatchObject({ unstarted: 100 })
  expect(await raw.zcard(keys.due)).toBe(300)
  expect((await ledger.viewPartition(0)).counts).toMatchObject({ 'reaped-reserved': 300 })
})

test('a lease of which half was lost is slow: the lane waits for a quarantine', async () => {
  const { ledger, raw, clock, reserveOne, dueOf } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  await reserveOne()
  await raw.hdel(keys.leases, `${AGENT} ${ORIGIN}`)
  clock.pass(RESERVE)
  await ledger.reap(0)
  expect(await dueOf()).toBe(clock.now + QUARANTINE)
})

test('two gateways that reap at once share the work: each lease is reaped once', async () => {
  const { ledger, another, clock, reserveOne, startPage } = await emptyLedger(redis)
  const other = await another()
  await ledger.store(0, urls('a'))
  await startPage(await reserveOne())
  clock.pass(LEASE)
  const both = await Promise.all([ledger.reap(0), other.reap(0)])
  expect(both.map(({ started }) => started).sort((a, b) => a - b)).toEqual([0, 1])
})
