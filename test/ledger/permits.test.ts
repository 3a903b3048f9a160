/** grant, extend and claim: the leases of crawlers that are no fetchers of the fleet. */
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import {
  AGENT,
  type Bench,
  emptyLedger,
  LEASE,
  ORIGIN,
  outcomeOf,
  QUARANTINE,
  RESERVE,
  url,
  urls,
} from './ledger-for-test.ts'

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
  expect(await ledger.grant({ ...asked, paceLane })).toMatchObject({ kind: 'granted', waitMs: 8, paceLane: {} })
})

test('a closed pace lane ends the lease of the lane: its own URLs are due as before', async () => {
  const { ledger, reserveOne } = await emptyLedger(redis)
  await ledger.grant({ ...asked, ...paceLane, by: { ...asked.by, origin: paceLane.origin } })
  expect(await ledger.grant({ ...asked, paceLane })).toMatchObject({ kind: 'wait', gate: 'pace-group' })
  await ledger.store(0, urls('a'))
  expect(await reserveOne()).toMatchObject({ urls: [{ id: 'a' }] })
})

test('an extended lease ends so much later, and not for ever', async () => {
  const { ledger, clock, dueOf } = await emptyLedger(redis)
  const permit = await ledger.grant(asked)
  if (permit.kind !== 'granted') throw new Error(permit.kind)
  clock.pass(LEASE - 1)
  expect(await ledger.extend([{ ...lane, fence: permit.fence }], LEASE)).toEqual({ kind: 'extended', leftMs: LEASE })
  clock.pass(LEASE - 1)
  expect(await ledger.reap(0)).toMatchObject({ started: 0 })
  clock.pass(1)
  expect(await ledger.extend([{ ...lane, fence: permit.fence }], LEASE)).toEqual({ kind: 'stale' })
  expect(await ledger.reap(0)).toMatchObject({ started: 1 })
  expect(await dueOf()).toBe(clock.now + DELAY + QUARANTINE)
})

test('a claimed lane is reserved for one robots fetch, and is due again when it is not started', async () => {
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
  expect(await ledger.extend([{ ...lane, fence: permit.fence }], LEASE)).toEqual({
    kind: 'extended',
    stop,
    leftMs: LEASE,
  })
})

/**
 * A crawl that asks for permits all the time beside stored URLs: mid-delay and when its last request has ended, as permits processes
 * do. @returns whose the requests were, in order
 */
async function sideBySide(bench: Bench, crawls: string[], requests: number): Promise<string[]> {
  const { ledger, clock, startPage } = bench
  const order: string[] = []
  const again = new Map(crawls.map((crawl) => [crawl, 0]))
  const ask = async (crawl: string): Promise<number | undefined> => {
    if ((again.get(crawl) ?? 0) > clock.now) return undefined
    const answer = await ledger.grant({ ...asked, crawl, by: { agent: 'one:bot', origin: ORIGIN } })
    if (answer.kind === 'granted') return answer.fence
    if (answer.kind !== 'wait') throw new Error(answer.kind)
    again.set(crawl, clock.now + Math.min(answer.waitMs, answer.gate === 'lane-busy' ? DELAY / 2 : answer.waitMs))
    return undefined
  }
  while (order.length < requests) {
    const [reserved] = await bench.reserve()
    if (reserved !== undefined) {
      await startPage(reserved, { delayMs: DELAY })
      for (const crawl of crawls) expect(await ask(crawl)).toBeUndefined()
      const [head] = reserved.urls
      await ledger.complete({
        ...{ ...lane, fence: reserved.fence, delayMs: DELAY, elapsedMs: 0, load: { kind: 'normal' as const } },
        outcome: outcomeOf(head?.id ?? '', head?.crawl === undefined ? {} : { crawl: head.crawl }),
      })
      order.push(`stored ${head?.crawl ?? 'default'}`)
    }
    for (const crawl of crawls) {
      const fence = await ask(crawl)
      if (fence === undefined) continue
      order.push(crawl)
      for (const other of crawls) await ask(other) // the next caller stands in line while the lane is busy
      await ledger.complete({ ...lane, fence, delayMs: DELAY, ...end })
    }
    clock.pass(DELAY / 4)
  }
  return order
}
const countOf = (order: string[], name: string): number => order.filter((one) => one === name).length

test.each([
  [1, 1, 20],
  [3, 1, 30],
  [1, 3, 10],
])('permits of a crawl of weight %d beside stored URLs of weight %d: %d of 40 requests', async (own, stored, share) => {
  for (const crawl of ['default', 'other']) {
    const bench = await emptyLedger(redis)
    await bench.ledger.changeCrawl({ name: 'asks', change: { weight: own }, by: 'test', reason: '' })
    await bench.ledger.changeCrawl({ name: crawl, change: { weight: stored }, by: 'test', reason: '' })
    await bench.ledger.store(
      0,
      Array.from({ length: 60 }, (_, n) => url(`${crawl}${n}`, crawl === 'default' ? {} : { crawl })),
    )
    const order = await sideBySide(bench, ['asks'], 40)
    expect(Math.abs(countOf(order, 'asks') - share), order.join()).toBeLessThanOrEqual(3)
  }
})

test('permits of two crawls share a lane by weight, and a crawl that stores URLs as well has one turn for both', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.changeCrawl({ name: 'heavy', change: { weight: 2 }, by: 'test', reason: '' })
  const alone = await sideBySide(bench, ['heavy', 'light'], 30)
  expect(Math.abs(countOf(alone, 'heavy') - 20), alone.join()).toBeLessThanOrEqual(3)
  const both = await emptyLedger(redis)
  await both.ledger.store(
    0,
    ['both', 'other'].flatMap((crawl) => Array.from({ length: 40 }, (_, n) => url(`${crawl}${n}`, { crawl }))),
  )
  const order = await sideBySide(both, ['both'], 40)
  expect(Math.abs(countOf(order, 'stored other') - 20), order.join()).toBeLessThanOrEqual(3)
})

/**
 * Permits for `https://site.test`, whose lane is the host's, and for `http://site.test`, each asked for when it was told to and again at once when it
 * has been granted. @returns how many each got
 */
async function twoPorts(crawls: [https?: string, http?: string]): Promise<number[]> {
  const { ledger, clock } = await emptyLedger(redis)
  await ledger.changeCrawl({ name: 'here', change: { weight: 1 }, by: 'test', reason: '' })
  const host = { agent: AGENT, origin: 'https://site.test' }
  const ofHost = { ...asked, ...host, by: { agent: 'one:bot', origin: host.origin } }
  const wishes = [ofHost, { ...asked, paceLane: host }].map((request, n) => {
    const crawl = crawls[n]
    return { request: crawl === undefined ? request : { ...request, crawl }, at: 0, granted: 0 }
  })
  for (let turns = 0; turns < 40; turns++) {
    const next = wishes.reduce((one, other) => (other.at < one.at ? other : one))
    clock.pass(Math.max(0, next.at - clock.now))
    const permit = await ledger.grant(next.request)
    if (permit.kind === 'wait') next.at = clock.now + permit.waitMs
    if (permit.kind !== 'granted') continue
    next.granted++
    const after = await ledger.grant(next.request)
    if (after.kind === 'wait') next.at = clock.now + after.waitMs
    const { agent, origin } = next.request
    await ledger.complete({ agent, origin, fence: permit.fence, delayMs: DELAY, ...end })
    if (permit.paceLane) await ledger.complete({ ...host, fence: permit.paceLane.fence, delayMs: DELAY, ...end })
  }
  return wishes.map(({ granted }) => granted)
}

test('crawls take turns in their own lane: between two ports of a host permits wait as those of no crawl do', async () => {
  const withoutCrawls = await twoPorts([])
  expect(Math.min(...withoutCrawls)).toBeGreaterThan(5)
  expect(await twoPorts(['here', 'there'])).toEqual(withoutCrawls)
})

test('a crawl that is paused or over gets no permit, and others go on', async () => {
  const { ledger } = await emptyLedger(redis)
  const by = { by: 'test', reason: 'a test' }
  await ledger.changeCrawl({ name: 'news', change: { state: 'paused' }, ...by })
  expect(await ledger.grant({ ...asked, crawl: 'news' })).toMatchObject({
    kind: 'crawl-held',
    record: { state: 'paused' },
  })
  await ledger.changeCrawl({ name: 'news', change: { state: 'running' }, ...by })
  const permit = await ledger.grant({ ...asked, crawl: 'news' })
  if (permit.kind !== 'granted') throw new Error(permit.kind)
  await ledger.complete({ ...lane, fence: permit.fence, delayMs: 0, ...end })
  await ledger.changeCrawl({ name: 'news', change: { state: 'cancelled' }, ...by })
  expect(await ledger.grant({ ...asked, crawl: 'news' })).toMatchObject({
    kind: 'crawl-held',
    record: { state: 'cancelled' },
  })
  expect(await ledger.grant({ ...asked, ...paceLane, crawl: 'other' })).toMatchObject({ kind: 'granted' })
})

test.each([
  ['of no crawl', {}],
  ['of another crawl', { crawl: 'news' }],
])('a paused default crawl holds no robots fetch for a permit %s', async (_, ofCrawl) => {
  const { ledger } = await emptyLedger(redis)
  await ledger.changeCrawl({ name: 'default', change: { state: 'paused' }, by: 'test', reason: 'a test' })
  expect(await ledger.claim({ ...lane, crawl: 'default' })).toMatchObject({ kind: 'crawl-held' })
  const claim = await ledger.claim({ ...lane, ...ofCrawl })
  if (claim.kind !== 'claimed') throw new Error(claim.kind)
  const order = { ...lane, fence: claim.fence, version: claim.version }
  expect(await ledger.start({ ...order, kind: 'robots', delayMs: DELAY })).toMatchObject({ kind: 'granted' })
  expect(await ledger.confirm([order])).toBe('granted')
})

test('a crawl that is paused after a lane was claimed for its permit holds the robots fetch', async () => {
  const { ledger } = await emptyLedger(redis)
  const claim = await ledger.claim({ ...lane, crawl: 'news' })
  if (claim.kind !== 'claimed') throw new Error(claim.kind)
  await ledger.changeCrawl({ name: 'news', change: { state: 'paused' }, by: 'test', reason: 'a test' })
  const order = { ...lane, fence: claim.fence, version: claim.version, kind: 'robots' as const, delayMs: DELAY }
  expect(await ledger.start(order)).toMatchObject({ kind: 'refused', why: 'crawl-held' })
})
