/**
 * What holds a host back goes along at a change of the number of partitions, and what holds everywhere is in force in a new partition before
 * it grants anything: before any process of the fleet has written it there.
 */
import type { Ledger } from '@decorum/ledger'
import { CRAWL, EPOCH, KEY, keysOf, laneName, writeState } from '@decorum/ledger/testing'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../../support/redis.ts'
import { outcomeOf, PATIENT, url } from '../ledger-for-test.ts'
import { changeTo } from './change.ts'

const redis = await redisForTest()
const TIMES = { leaseMs: 2_000, quarantineMs: 100 }
const HOUR = 3_600_000
const ORIGINS = Array.from({ length: 16 }, (_, n) => `http://s${n}.test`)
const ask = { limit: 200, aheadMs: 0, inFlightLimit: 10_000, peek: 1 }

async function empty(): Promise<Redis> {
  const raw = new Redis(redis.url)
  onTestFinished(() => raw.disconnect())
  await raw.flushall()
  return raw
}

async function open(partitions: number) {
  const ledger = await openLedgerWithViews({ redis: redis.url, partitions, isNew: true, ...TIMES, ...PATIENT })
  onTestFinished(() => ledger.close())
  return ledger
}

const change = (to: number, most?: number) => changeTo(redis.url, to, TIMES, most)

async function noHold(raw: Redis, ledger: Ledger): Promise<void> {
  await ledger.members()
  for (const tag of ledger.tags) await raw.hset(keysOf(tag).epoch, EPOCH.holdUntil, 0)
}

/** Lanes that are reserved now, of all partitions. */
async function reserved(ledger: Ledger) {
  const all = await Promise.all(ledger.tags.map((_, partition) => ledger.reserve(partition, ask)))
  return all.flatMap((one) => (one.kind === 'reserved' ? one.lanes : []))
}

/** One URL each, crawl and id as the caller has them. */
const storeAll = (ledger: Ledger, id: string, more: object = {}) =>
  Promise.all(
    ORIGINS.map(async (origin) => {
      const stored = await ledger.store(ledger.partitionOf(origin), [url(`${id}-${origin}`, { origin, ...more })])
      if (stored === 'outcomes-full') throw new Error(`${origin}: no outcome is left unread`)
      return stored
    }),
  )

const policy = (origin: string, more: object) => ({
  site: new URL(origin).hostname,
  hasConsent: false,
  shown: {},
  ...more,
})

test('the requests of a day count on: a budget that is used up before is used up after', async () => {
  const raw = await empty()
  const small = await open(1)
  await noHold(raw, small)
  const sitePolicies = ORIGINS.map((origin) => policy(origin, { requestsPerDay: 1 }))
  await small.setRates({ version: 1, leastDelays: [], sitePolicies })
  await storeAll(small, 'a')
  for (const { agent, origin, fence } of await reserved(small)) {
    const started = await small.start({ agent, origin, fence, kind: 'page', version: 0, delayMs: 1 })
    expect(started).toMatchObject({ kind: 'granted' })
    const load = { kind: 'normal' } as const
    await small.complete({ agent, origin, fence, delayMs: 1, elapsedMs: 0, load })
  }
  await small.close()
  await change(3)
  const large = await open(3)
  await noHold(raw, large)
  await storeAll(large, 'b')
  const free = 'http://free.test'
  await large.store(large.partitionOf(free), [url('free', { origin: free })])
  expect((await reserved(large)).map(({ origin }) => origin)).toEqual([free])
})

test('a lane without URLs goes along with the delay that it owes', async () => {
  const raw = await empty()
  const small = await open(1)
  await noHold(raw, small)
  await storeAll(small, 'a')
  for (const { agent, origin, fence } of await reserved(small)) {
    await small.start({ agent, origin, fence, kind: 'page', version: 0, delayMs: HOUR })
    const about = { load: { kind: 'normal' } as const, outcome: outcomeOf(`a-${origin}`) }
    await small.complete({ agent, origin, fence, delayMs: HOUR, elapsedMs: 0, ...about })
  }
  await small.close()
  await change(3)
  const large = await open(3)
  await noHold(raw, large)
  await storeAll(large, 'b')
  expect(await reserved(large)).toEqual([])
})

test('a lane that visiting hours held goes on at once when the policies are dropped after the change', async () => {
  const raw = await empty()
  const small = await open(1)
  await noHold(raw, small)
  const hours = { from: 0, to: 1 }
  const sitePolicies = ORIGINS.map((origin) => policy(origin, { hours }))
  await small.setRates({ version: 1, leastDelays: [], sitePolicies })
  await storeAll(small, 'a')
  const until = Date.now() + HOUR
  await small.resolve(
    0,
    (await reserved(small)).map(({ agent, origin, fence }) => {
      const next = { kind: 'defer', until, why: 'visiting-hours' } as const
      return { agent, origin, fence, dropped: [], next }
    }),
  )
  expect(await raw.scard(keysOf(small.tags[0] ?? '').heldByPolicy)).toBe(ORIGINS.length)
  await small.close()
  await change(3)
  const large = await open(3)
  await noHold(raw, large)
  expect(await reserved(large)).toEqual([])
  await large.setRates({ version: 2, leastDelays: [], sitePolicies: [] })
  expect((await reserved(large)).map(({ origin }) => origin).toSorted()).toEqual(ORIGINS.toSorted())
})

test('least delays, policies and stops are in every new partition before a process has written them there', async () => {
  const raw = await empty()
  const small = await open(1)
  const leastDelays = [{ agent: 'bot', delayMs: 2_500 }]
  const sitePolicies = ORIGINS.map((origin) => policy(origin, { delayMs: 3_000 }))
  await small.setRates({ version: 7, leastDelays, sitePolicies })
  await small.stop({ names: ['s1.test'], by: 'ann', reason: 'asked for' })
  const [tag = ''] = small.tags
  const fields = [EPOCH.leastDelays, EPOCH.policies, EPOCH.stops]
  const seen = async (of: string) => [
    await raw.hmget(keysOf(of).epoch, ...fields),
    await raw.hgetall(keysOf(of).policies),
    await raw.hgetall(keysOf(of).stops),
  ]
  const before = await seen(tag)
  expect(Object.keys(before[1] as object)).toHaveLength(ORIGINS.length)
  expect((before[0] as string[]).every((text) => text !== null)).toBe(true)
  await small.close()
  await raw.hset(keysOf(tag).epoch, EPOCH.holdUntil, 0)
  await change(3)
  const tags = await raw.lrange('decorum:partitions', 0, -1)
  expect(tags).toHaveLength(3)
  for (const one of tags) expect(await seen(one), one).toEqual(before)
})

test('a paused crawl is paused in a new partition, and its limits hold there, before a gateway has looked', async () => {
  const raw = await empty()
  const small = await open(1)
  await noHold(raw, small)
  const by = { by: 'ann', reason: 'test' }
  const limits = { pagesPerHost: 2, pagesPerDay: 20 }
  await small.changeCrawl({ name: 'news', change: { state: 'paused', limits, weight: 3 }, ...by })
  await storeAll(small, 'a', { crawl: 'news' })
  await small.close()
  await change(4)
  const large = await open(4)
  await noHold(raw, large)
  expect(await reserved(large)).toEqual([])
  const second = await storeAll(large, 'b', { crawl: 'news' })
  // 16 of the 20 of today came before, so each partition takes in 4 at most until the shares are dealt again.
  const most = large.tags.map((_, at) => Math.min(4, ORIGINS.filter((one) => large.partitionOf(one) === at).length))
  expect(second.reduce((n, { stored }) => n + stored, 0)).toBe(most.reduce((n, one) => n + one, 0))
})

test('a limit per host counts what came in before the change', async () => {
  const raw = await empty()
  const small = await open(1)
  await noHold(raw, small)
  const limits = { pagesPerHost: 2 }
  await small.changeCrawl({ name: 'news', change: { limits }, by: 'ann', reason: 'test' })
  await storeAll(small, 'a', { crawl: 'news' })
  await storeAll(small, 'b', { crawl: 'news' })
  await small.close()
  await change(3)
  const large = await open(3)
  const third = await storeAll(large, 'c', { crawl: 'news' })
  expect(third.reduce((n, { stored }) => n + stored, 0)).toBe(0)
  expect(third.reduce((n, { outcomes }) => n + outcomes, 0)).toBe(ORIGINS.length)
})

test('what an exchange owes goes along, and so does a loss: a raised delay counts from the end before the change', async () => {
  const raw = await empty()
  const small = await open(1)
  await noHold(raw, small)
  await storeAll(small, 'a')
  await storeAll(small, 'b')
  for (const { agent, origin, fence } of await reserved(small)) {
    await small.start({ agent, origin, fence, kind: 'page', version: 0, delayMs: 1 })
    await small.complete({ agent, origin, fence, delayMs: 1, elapsedMs: 0, load: { kind: 'normal' } })
  }
  const endedBy = Date.now()
  const { epoch } = keysOf(small.tags[0] ?? '')
  const lost = `${(Date.now() - HOUR).toFixed(3)} ${(Date.now() - HOUR + 400).toFixed(3)}`
  await raw.hset(epoch, EPOCH.lost, lost)
  await small.close()
  await change(3)
  const large = await open(3)
  for (const tag of large.tags) expect(await raw.hget(keysOf(tag).epoch, EPOCH.lost), tag).toBe(lost)
  await noHold(raw, large)
  // Where no end is known, a raise counts from its own instant, and no lane would be due yet.
  await large.setRates({
    version: 1,
    leastDelays: [{ agent: 'bot', delayMs: Date.now() - endedBy - 1 }],
    sitePolicies: [],
  })
  expect(await reserved(large)).toHaveLength(ORIGINS.length)
})

test('turns of permits go along with their lane', async () => {
  const raw = await empty()
  const small = await open(1)
  await noHold(raw, small)
  const [tag = ''] = small.tags
  for (const origin of ORIGINS) await raw.zadd(`${tag}:${KEY.permitTurns}${laneName('bot', origin)}`, 3.5, 'news')
  await small.close()
  await change(3)
  const large = await open(3)
  for (const origin of ORIGINS) {
    const home = large.tags[large.partitionOf(origin)]
    expect(await raw.zscore(`${home}:${KEY.permitTurns}${laneName('bot', origin)}`, 'news'), origin).toBe('3.5')
  }
})

test('what partitions counted is counted on when they retire, once, wherever the change breaks off', async () => {
  const raw = await empty()
  const three = await open(3)
  await noHold(raw, three)
  await three.changeCrawl({ name: 'news', change: { limits: { bytes: 1_000_000 } }, by: 'ann', reason: 'test' })
  await storeAll(three, 'a')
  await storeAll(three, 'n', { crawl: 'news' })
  for (const tag of three.tags) {
    await raw.hincrby(keysOf(tag).counts, 'fetched', 5)
    await raw.hincrby(keysOf(tag).crawl('news'), CRAWL.bytes, 100)
    await raw.hincrby(keysOf(tag).crawl('news'), 'fetched', 4)
  }
  const sumOf = async (tags: readonly string[], key: (tag: string) => string): Promise<Record<string, number>> => {
    const sums: Record<string, number> = {}
    for (const tag of tags)
      for (const [field, value] of Object.entries(await raw.hgetall(key(tag))))
        if (/^-?\d+$/.test(value) && Number(value) !== 0) sums[field] = (sums[field] ?? 0) + Number(value)
    return sums
  }
  const used = ({ bytes, fetched, parked }: Record<string, number>) => ({ bytes, fetched, parked })
  const counts = await sumOf(three.tags, (tag) => keysOf(tag).counts)
  const crawl = used(await sumOf(three.tags, (tag) => keysOf(tag).crawl('news')))
  expect(crawl).toEqual({ bytes: 300, fetched: 12, parked: ORIGINS.length })
  await three.close()
  let cuts = 0
  for (let most = 30; ; most += 5) {
    const isDone = await change(1, most).then(
      () => true,
      () => false,
    )
    if (isDone) break
    cuts++
    await raw.del('{decorum:partitions}:changing')
  }
  expect(cuts).toBeGreaterThan(10)
  const one = await open(1)
  expect(one.retired).toHaveLength(2)
  expect(await sumOf(one.tags, (tag) => keysOf(tag).counts)).toEqual(counts)
  expect(used(await sumOf(one.tags, (tag) => keysOf(tag).crawl('news')))).toEqual(crawl)
  for (const tag of one.retired) expect(await sumOf([tag], (of) => keysOf(of).counts)).toEqual({})
})

test('URLs that a crawl took in today count on when partitions retire; of two days the later one counts', async () => {
  const raw = await empty()
  const three = await open(3)
  await noHold(raw, three)
  await three.changeCrawl({ name: 'news', change: { limits: { pagesPerDay: 100 } }, by: 'ann', reason: 'test' })
  const days = [20_000, 20_001, 20_001]
  for (const [n, tag] of three.tags.entries())
    await raw.hset(keysOf(tag).crawl('news'), CRAWL.day, days[n] ?? 0, CRAWL.today, n + 3)
  await three.close()
  await change(1)
  const fields = [CRAWL.day, CRAWL.today]
  const [first = '', ...others] = three.tags
  expect(await raw.hmget(keysOf(first).crawl('news'), ...fields)).toEqual(['20001', '9'])
  for (const tag of others) expect(await raw.hmget(keysOf(tag).crawl('news'), ...fields)).toEqual([null, null])
})

test('a body of a robots.txt is spent where it comes, once for all origins with it', async () => {
  const raw = await empty()
  const small = await open(1)
  await noHold(raw, small)
  const [from = ''] = small.tags
  const sizes = { large: 9_000, small: 4_096 }
  const { state } = await small.viewOrigin(ORIGINS[0] as string, [])
  const origins = ORIGINS.map((origin, n) => ({ origin, hash: n % 2 === 0 ? 'large' : 'small' }) as const)
  for (const { origin, hash } of origins)
    await raw.hset(keysOf(from).origin(origin), 's', writeState({ ...state, copy: { kind: 'ok', hash, at: 1 } }))
  for (const [hash, bytes] of Object.entries(sizes))
    await raw.set(keysOf(from).body(hash), 'x'.repeat(bytes), 'PX', HOUR)
  await small.close()
  await change(3, 150).catch(() => undefined)
  await raw.del('{decorum:partitions}:changing')
  await change(3)
  const large = await open(3)
  for (const tag of large.tags.filter((one) => one !== from)) {
    const has = async (hash: string) => (await raw.exists(keysOf(tag).body(hash))) === 1
    expect([await has('large'), await has('small')]).toEqual([true, true])
    expect(await raw.get(keysOf(tag).spent)).toBe('13296') // 9,000 + 4,096, and 100 beside each
    const domains = await raw.keys(`${tag.replace(/[{}]/g, '\\$&')}:spent:*`)
    const ofDomains = (await raw.mget(domains)).map(Number)
    expect(ofDomains.reduce((sum, one) => sum + one, 0)).toBe(13_296)
    for (const key of [keysOf(tag).spent, ...domains]) expect(await raw.pttl(key)).toBeGreaterThan(HOUR - 120_000)
  }
})

test('a process that ended without a goodbye, long ago, is no reason to refuse', async () => {
  const raw = await empty()
  const ledger = await open(1)
  await noHold(raw, ledger)
  await ledger.announce({ id: 'f1', role: 'fetcher', slots: 3 })
  await ledger.close()
  // Nobody calls for half a minute: the time that the ledger saw last is as far behind.
  const { epoch } = keysOf(ledger.tags[0] ?? '')
  const before = Number(await raw.hget(epoch, EPOCH.now))
  await raw.hset(epoch, EPOCH.now, before - 30_000)
  await raw.zadd(`${ledger.tags[0]}:${KEY.fleet}`, before - 25_000, 'fetcher f1 3')
  const began = performance.now()
  expect(await change(2)).toMatchObject({ from: 1, to: 2 })
  expect(performance.now() - began).toBeLessThan(20_000)
  expect(await raw.hget(epoch, EPOCH.why), 'the time has passed: no leap of the clock').not.toMatch(/^clock/)
})

test('hosts do not move while it is in doubt how late it is: no delay is shorter by time that one partition has not seen', async () => {
  const raw = await empty()
  const small = await open(2)
  await noHold(raw, small)
  for (const origin of ORIGINS)
    await small.operate({ origin, action: 'pause', until: Date.now() + HOUR, by: 'ann', reason: 'x' }, [])
  const leftOf = async (ledger: typeof small) => {
    const views = await Promise.all(ORIGINS.map((origin) => ledger.viewOrigin(origin, [])))
    return views.map(({ paused, now }) => (paused?.until ?? 0) - now)
  }
  const before = await leftOf(small)
  await small.close()
  const began = performance.now()
  const { epoch } = keysOf(small.tags[0] ?? '')
  await raw.hset(epoch, EPOCH.now, Number(await raw.hget(epoch, EPOCH.now)) - 30_000)
  await change(1)
  // Nobody runs that could deny it: the time in doubt has passed once two seconds are over.
  const doubtAfterACall = async () => {
    await (await open(1)).close()
    return raw.hget(epoch, EPOCH.doubt)
  }
  await expect.poll(doubtAfterACall, { interval: 500 }).toBeNull()
  const one = await open(1)
  for (const [n, left] of (await leftOf(one)).entries())
    expect(left, ORIGINS[n]).toBeGreaterThan((before[n] ?? 0) - (performance.now() - began) - 100)
})
