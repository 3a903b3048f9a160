/** Several crawls share lanes: whose turn it is, whose outcome it is, and what is paused, limited or cancelled. */
import { makeGroup, type ReservedLane, type StoreItem } from '@decorum/ledger'
import { idSlot, LAYOUT } from '@decorum/ledger/testing'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { DEFAULT_CRAWL, type Outcome, outcomesKey } from '@decorum/protocol'
import { expect, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { AGENT, type Bench, emptyLedger, keys, ORIGIN, outcomeOf, TAG, url } from './ledger-for-test.ts'

const redis = await redisForTest()
const lane = { agent: AGENT, origin: ORIGIN }
const by = { by: 'test', reason: 'a test' }

const some = (crawl: string, count: number, more: Partial<Parameters<typeof url>[1]> = {}): StoreItem[] =>
  Array.from({ length: count }, (_, n) => url(`${crawl}-${n}`, { crawl, ...more }))

async function storeAll(ledger: LedgerWithViews, items: StoreItem[]): Promise<void> {
  for (let at = 0; at < items.length; at += 200) await ledger.store(0, items.slice(at, at + 200))
}

/** The request of the one lane that is due; @returns whose it was */
async function visitNext({ ledger, clock, reserveOne, startPage }: Bench): Promise<string> {
  const reserved = await reserveOne()
  await startPage(reserved, { delayMs: 0 })
  await finish(ledger, reserved)
  clock.pass(1)
  return reserved.urls[0]?.id ?? ''
}

const finish = (
  ledger: LedgerWithViews,
  { agent, origin, fence, urls: [head] }: ReservedLane,
  body: Partial<Outcome> = {},
) =>
  ledger.complete({
    ...{ agent, origin, fence, delayMs: 0, elapsedMs: 0, load: { kind: 'normal' as const } },
    outcome: outcomeOf(head?.id ?? '', { ...(head?.crawl === undefined ? {} : { crawl: head.crawl }), ...body }),
  })

async function outcomesOf({ raw }: Bench, crawl: string): Promise<Outcome[]> {
  const rows = await raw.xrange(outcomesKey(TAG, crawl), '-', '+')
  return rows.map(([, fields]) => JSON.parse(fields[1] as string) as Outcome)
}
const idsOf = async (bench: Bench, crawl: string): Promise<string[]> =>
  (await outcomesOf(bench, crawl)).map(({ id }) => id)

async function waitingOf(ledger: LedgerWithViews): Promise<Record<string, number>> {
  return Object.fromEntries((await ledger.crawls()).map(({ name, waiting }) => [name, waiting]))
}

/** One URL each at many sites, which are due as soon as they are stored. */
const sites = (crawl: string, count: number): StoreItem[] =>
  Array.from({ length: count }, (_, n) => url(`${crawl}-${n}`, { crawl, origin: `https://${crawl}-${n}.test` }))
/** The crawls of the lanes that the next reservation hands out. */
const takeNext = async ({ reserve }: Bench, limit: number): Promise<string[]> =>
  (await reserve({ limit })).map(({ urls: [first] }) => first?.crawl ?? DEFAULT_CRAWL)
const countOf = (crawls: string[], crawl: string): number => crawls.filter((one) => one === crawl).length

test('a crawl with a thousand due sites delays the ten of another by no more than its share', async () => {
  const bench = await emptyLedger(redis)
  await storeAll(bench.ledger, sites('large', 1_000))
  bench.clock.pass(60_000)
  for (let n = 0; n < 5; n++) await takeNext(bench, 20)
  await storeAll(bench.ledger, sites('small', 10))
  const taken = await takeNext(bench, 20)
  expect(taken).toHaveLength(20)
  expect(countOf(taken, 'small')).toBe(10)
  expect(countOf(await takeNext(bench, 20), 'large')).toBe(20)
})

test('of many due sites a heavier crawl is served more often, and the default crawl has its turns', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.changeCrawl({ name: 'heavy', change: { weight: 3 }, ...by })
  await storeAll(bench.ledger, sites(DEFAULT_CRAWL, 200))
  await storeAll(bench.ledger, sites('light', 200))
  await storeAll(bench.ledger, sites('heavy', 200))
  const taken: string[] = []
  for (let n = 0; n < 10; n++) taken.push(...(await takeNext(bench, 10)))
  expect(['heavy', 'light', DEFAULT_CRAWL].map((crawl) => countOf(taken, crawl))).toEqual([60, 20, 20])
})

test('a lane of a crawl with few due sites is reserved ahead of its delay, however many lanes of another are due', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, reserve, startPage } = bench
  await storeAll(ledger, [
    ...sites('small', 1),
    ...sites('small', 1).map((item) => ({
      ...item,
      ...url('small-1', { crawl: 'small', origin: 'https://small-0.test' }),
    })),
  ])
  const [first] = await reserve()
  await startPage(first as ReservedLane, { delayMs: 1_000 })
  await ledger.complete({
    ...{ agent: AGENT, origin: 'https://small-0.test', fence: first?.fence ?? 0, delayMs: 1_000, elapsedMs: 0 },
    ...{ load: { kind: 'normal' as const }, outcome: outcomeOf('small-0', { crawl: 'small' }) },
  })
  await storeAll(ledger, sites('large', 300))
  clock.pass(950)
  const taken = await reserve({ limit: 20, aheadMs: 80 })
  const ahead = taken.find(({ origin }) => origin === 'https://small-0.test')
  expect(taken).toHaveLength(20)
  expect(ahead?.notBefore).toBe(clock.now + 50)
  expect((await reserve({ limit: 20, aheadMs: 80 })).every(({ notBefore }) => notBefore <= clock.now)).toBe(true)
})

test('a paused crawl of great weight lends its turns to no other in whose lanes it has URLs', async () => {
  const bench = await emptyLedger(redis)
  const { ledger } = bench
  await ledger.changeCrawl({ name: 'paused', change: { weight: 100, state: 'paused' }, ...by })
  await storeAll(ledger, [...sites('fair', 200), ...sites('sly', 200)])
  await storeAll(
    ledger,
    Array.from({ length: 200 }, (_, n) => url(`paused-${n}`, { crawl: 'paused', origin: `https://sly-${n}.test` })),
  )
  const taken: string[] = []
  for (let n = 0; n < 10; n++) taken.push(...(await takeNext(bench, 10)))
  expect(['fair', 'sly'].map((crawl) => countOf(taken, crawl))).toEqual([50, 50])
})

test('lanes that were lined up within a second are late until the last of them has left', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock } = bench
  await storeAll(ledger, sites('large', 3_000))
  for (let n = 0; n < 4; n++) {
    await takeNext(bench, 10)
    clock.pass(100)
  }
  clock.pass(100_000)
  for (let n = 0; n < 14; n++) await takeNext(bench, 200)
  const { due, nextDue, now } = await ledger.viewPartition(0)
  expect(due).toBe(160)
  expect(now - (nextDue ?? now)).toBeGreaterThan(99_000)
})

test('a lane in line is due since about when it was put there, and no lane is left behind', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock } = bench
  await storeAll(ledger, sites('large', 900))
  const stored = clock.now
  clock.pass(5_000)
  await takeNext(bench, 20)
  const { due, nextDue } = await ledger.viewPartition(0)
  expect(due).toBe(880)
  expect(nextDue).toBeGreaterThanOrEqual(stored)
  expect(nextDue).toBeLessThanOrEqual(clock.now)
  let left = 880
  while (left > 0) {
    const taken = await takeNext(bench, 200)
    expect(taken.length).toBeGreaterThan(0)
    left -= taken.length
  }
  expect(await bench.raw.zcard(keys.due)).toBe(0)
})

test('a crawl with thousands of URLs of a host delays the ten of another by no more than its share', async () => {
  const bench = await emptyLedger(redis)
  await storeAll(bench.ledger, some(DEFAULT_CRAWL, 3_000))
  await storeAll(bench.ledger, some('large', 3_000))
  for (let turns = 0; turns < 30; turns++) await visitNext(bench)
  await storeAll(bench.ledger, some('small', 10))
  const order: string[] = []
  while (order.filter((id) => id.startsWith('small')).length < 10) order.push(await visitNext(bench))
  expect(order.length).toBeLessThanOrEqual(3 * 10 + 3)
  const two = await emptyLedger(redis)
  await storeAll(two.ledger, some('large', 3_000))
  for (let turns = 0; turns < 30; turns++) await visitNext(two)
  await storeAll(two.ledger, some('small', 10))
  const turns: string[] = []
  while (turns.filter((id) => id.startsWith('small')).length < 10) turns.push(await visitNext(two))
  expect(turns.length).toBeLessThanOrEqual(25)
})

test('turns are by weight, and URLs of priority high come first within their own crawl alone', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.changeCrawl({ name: 'heavy', change: { weight: 3 }, ...by })
  await storeAll(bench.ledger, [
    ...some('heavy', 90),
    ...some('light', 90),
    url('urgent', { crawl: 'light', priority: 'high' }),
  ])
  const order: string[] = []
  for (let turns = 0; turns < 80; turns++) order.push(await visitNext(bench))
  const heavy = order.filter((id) => id.startsWith('heavy')).length
  expect(heavy).toBeGreaterThanOrEqual(58)
  expect(heavy).toBeLessThanOrEqual(62)
  expect(order.find((id) => !id.startsWith('heavy'))).toBe('urgent')
})

test('a crawl for which a group was made before its first URL goes on like any other', async () => {
  const bench = await emptyLedger(redis)
  await makeGroup(bench.raw, [outcomesKey(TAG, 'news')], 'reader', 'start')
  await bench.ledger.store(0, [url('a', { crawl: 'news' })])
  expect(await visitNext(bench)).toBe('a')
  expect(await idsOf(bench, 'news')).toEqual(['a'])
})

test('each crawl has its outcomes, its ids and its counts, and a lane that others have left is as it was', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, raw } = bench
  await ledger.store(0, [url('a'), url('b')])
  const before = await raw.hget(keys.lanes, `${AGENT} ${ORIGIN}`)
  expect(await raw.hget(keys.epoch, 'layout')).toBe(LAYOUT.version)
  await ledger.store(0, [url('a', { crawl: 'news' })])
  await ledger.store(0, [url('a', { crawl: 'news' })]) // absorbed
  expect(await raw.hget(keys.epoch, 'layout')).toBe(LAYOUT.withCrawls)
  expect(await waitingOf(ledger)).toEqual({ default: 2, news: 1 })
  expect(await ledger.storedIn('a', 'news')).toEqual([0])
  const order: string[] = []
  for (let turns = 0; turns < 3; turns++) order.push(await visitNext(bench))
  expect(order).toEqual(['a', 'b', 'a'])
  expect([await idsOf(bench, DEFAULT_CRAWL), await idsOf(bench, 'news')]).toEqual([['a', 'b'], ['a']])
  expect((await outcomesOf(bench, 'news'))[0]).toMatchObject({ crawl: 'news' })
  expect((await outcomesOf(bench, DEFAULT_CRAWL))[0]?.crawl).toBeUndefined()
  expect(await ledger.storedIn('a', 'news')).toEqual([])
  expect(before).toContain('/a ')
  expect(await raw.exists(keys.turns(`${AGENT} ${ORIGIN}`), keys.lanesOf('news'))).toBe(0)
  expect((await ledger.crawls()).map(({ name, waiting, counts }) => [name, waiting, counts])).toEqual([
    ['default', 0, { failed: 2 }],
    ['news', 0, { failed: 1 }],
  ])
  expect(await bench.reserve()).toEqual([])
})

test('only the crawl whose outcomes are not read is held', async () => {
  const bench = await emptyLedger(redis, { outcomesLimit: 3 })
  const { ledger, clock } = bench
  await storeAll(ledger, [...some('unread', 20), ...some('read', 20)])
  const order: string[] = []
  for (let turns = 0; turns < 12; turns++) {
    order.push(await visitNext(bench))
    await bench.raw.xtrim(outcomesKey(TAG, 'read'), 'MAXLEN', 0)
  }
  expect(order.filter((id) => id.startsWith('unread')).length).toBe(3)
  await storeAll(ledger, some(DEFAULT_CRAWL, 1, { origin: 'http://other.test' }))
  await bench.raw.xtrim(outcomesKey(TAG, 'unread'), 'MAXLEN', 0)
  clock.pass(60_000)
  const next = (await bench.reserve()).map(({ urls }) => urls[0]?.crawl ?? DEFAULT_CRAWL)
  expect(next.sort()).toEqual(['default', expect.stringMatching(/read/)])
})

test('the outcomes of the default crawl do not hold up another one, and the other way round', async () => {
  const bench = await emptyLedger(redis, { outcomesLimit: 2 })
  await storeAll(bench.ledger, [...some(DEFAULT_CRAWL, 5), ...some('news', 2)])
  for (let turns = 0; turns < 4; turns++) await visitNext(bench)
  expect([(await idsOf(bench, DEFAULT_CRAWL)).length, (await idsOf(bench, 'news')).length]).toEqual([2, 2])
  expect(await bench.reserve()).toEqual([])
  await bench.raw.xtrim(keys.outcomes, 'MAXLEN', 0)
  bench.clock.pass(30_000)
  expect((await bench.reserveOne()).urls[0]?.id).toBe('default-2')
})

test('a paused crawl waits, its URLs expire in time, and after it is resumed it has saved no turns', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock } = bench
  await storeAll(ledger, [...some('a', 60), ...some('b', 60)])
  await ledger.changeCrawl({ name: 'a', change: { state: 'paused' }, ...by })
  for (let turns = 0; turns < 20; turns++) expect(await visitNext(bench)).toMatch(/^b/)
  await ledger.changeCrawl({ name: 'b', change: { state: 'paused' }, ...by })
  expect(await bench.reserve()).toEqual([])
  expect((await ledger.viewOrigin(ORIGIN, [AGENT])).lanes[0]).toMatchObject({ heldBy: 'crawl-held', waiting: 100 })
  await ledger.changeCrawl({ name: 'a', change: { state: 'running' }, ...by })
  await ledger.changeCrawl({ name: 'b', change: { state: 'running' }, ...by })
  clock.pass(1_000)
  const order: string[] = []
  for (let turns = 0; turns < 20; turns++) order.push(await visitNext(bench))
  const ofA = order.filter((id) => id.startsWith('a')).length
  expect([9, 10, 11]).toContain(ofA)
})

test('the URL of a paused crawl that has expired is handed out, so that it ends', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock } = bench
  await ledger.store(0, [url('x', { crawl: 'a', expiresAt: clock.now + 5_000 })])
  await ledger.changeCrawl({ name: 'a', change: { state: 'paused' }, ...by })
  clock.pass(1_000)
  expect(await bench.reserve()).toEqual([])
  clock.pass(10_000)
  const reserved = await bench.reserveOne()
  expect(reserved.urls[0]?.id).toBe('x')
  expect(reserved.closedUntil).toBeGreaterThan(clock.now)
})

test('a paused default crawl waits as well, in lanes of its own, too', async () => {
  const bench = await emptyLedger(redis)
  await bench.ledger.store(0, [url('d'), url('e', { origin: 'http://other.test', crawl: 'news' })])
  await bench.ledger.changeCrawl({ name: DEFAULT_CRAWL, change: { state: 'paused' }, ...by })
  expect((await bench.reserve()).map(({ urls }) => urls[0]?.id)).toEqual(['e'])
  await bench.ledger.changeCrawl({ name: DEFAULT_CRAWL, change: { state: 'running' }, ...by })
  bench.clock.pass(1_000)
  expect((await bench.reserve()).map(({ urls }) => urls[0]?.id)).toEqual(['d'])
})

test('cancelled: every stored URL ends once, in bounded steps; what is in flight ends with its request', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, startPage } = bench
  await storeAll(ledger, [
    ...some('gone', 150),
    ...some('gone', 50, { origin: 'http://other.test' }).map((item, n) => {
      if (!('pending' in item)) throw new Error('a URL is expected')
      return {
        ...item,
        pending: { ...item.pending, id: `other-${n}`, priority: n % 2 ? ('high' as const) : ('normal' as const) },
      }
    }),
    ...some('stays', 5),
  ])
  const lanes = await bench.reserve()
  const flying = lanes.find(({ origin, urls }) => origin === ORIGIN && urls[0]?.crawl === 'gone') ?? lanes.at(-1)
  if (flying === undefined) throw new Error('a lane is reserved')
  await startPage(flying)
  await ledger.changeCrawl({ name: 'gone', change: { state: 'cancelled' }, ...by })
  await ledger.crawlBook.refresh()
  const steps: number[] = []
  for (let step = await ledger.sweepCrawls(0); step > 0; step = await ledger.sweepCrawls(0)) steps.push(step)
  expect(Math.max(...steps)).toBeLessThanOrEqual(20 * 200)
  await finish(ledger, flying)
  expect(await ledger.sweepCrawls(0)).toBe(0)
  const ended = await outcomesOf(bench, 'gone')
  const isGone = flying.urls[0]?.crawl === 'gone'
  expect(new Set(ended.map(({ id }) => id)).size).toBe(200)
  expect(ended.length).toBe(200)
  expect(ended.filter((one) => one.kind === 'refused' && one.reason === 'cancelled').length).toBe(isGone ? 199 : 200)
  expect(await waitingOf(ledger)).toMatchObject({ gone: 0, stays: isGone ? 5 : 4 })
  await expect(ledger.changeCrawl({ name: 'gone', change: { state: 'running' }, ...by })).rejects.toThrow(/cancelled/)
})

test('a limit refuses what is beyond it, and says which it was', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock } = bench
  await ledger.changeCrawl({ name: 'few', change: { limits: { stored: 5 } }, ...by })
  await ledger.store(0, [
    ...some('few', 4),
    ...some('few', 3, { origin: 'http://other.test' }).map((item, n) =>
      'pending' in item ? { ...item, pending: { ...item.pending, id: `o${n}` } } : item,
    ),
  ])
  const reasons = (await outcomesOf(bench, 'few')).map((one) => ('reason' in one ? one.reason : ''))
  expect(reasons).toEqual(['crawl-full', 'crawl-full'])
  expect(await waitingOf(ledger)).toMatchObject({ few: 5 })

  await ledger.changeCrawl({ name: 'day', change: { limits: { pagesPerDay: 3 } }, ...by })
  await ledger.store(0, some('day', 4))
  clock.pass(86_400_000)
  await ledger.store(0, [url('tomorrow', { crawl: 'day' })])
  expect((await outcomesOf(bench, 'day')).map(({ id, ...one }) => [id, 'reason' in one && one.reason])).toEqual([
    ['day-3', 'crawl-per-day'],
  ])

  await ledger.changeCrawl({ name: 'host', change: { limits: { pagesPerHost: 2 } }, ...by })
  const twoSchemes = [url('1', { crawl: 'host' }), url('2', { crawl: 'host', origin: 'https://site.test' })]
  await ledger.store(0, [...twoSchemes, url('3', { crawl: 'host', origin: 'http://site.test:81' })])
  await ledger.store(0, [url('4', { crawl: 'host' }), url('5', { crawl: 'host', origin: 'http://other.test' })])
  expect((await outcomesOf(bench, 'host')).map(({ id, ...one }) => [id, 'reason' in one && one.reason])).toEqual([
    ['3', 'crawl-per-host'],
    ['4', 'crawl-per-host'],
  ])
})

test('a limit per registrable domain counts all its hosts, in whichever partition they are', async () => {
  for (const partitions of [1, 3]) {
    const bench = await emptyLedger(redis, { partitions })
    const { ledger } = bench
    await ledger.changeCrawl({ name: 'domain', change: { limits: { pagesPerDomain: 4, pagesPerHost: 2 } }, ...by })
    await ledger.crawlBook.refresh()
    const hosts = [
      'site.co.uk',
      'a.site.co.uk',
      'b.site.co.uk',
      'c.site.co.uk',
      'd.site.co.uk',
      'other.co.uk',
      '127.0.0.1',
    ]
    const places = new Set(hosts.slice(0, 5).map((host) => ledger.partitionOf(`http://${host}`)))
    expect(places.size, 'they are spread').toBeGreaterThan(partitions === 1 ? 0 : 1)
    for (const host of hosts)
      await ledger.store(
        ledger.partitionOf(`http://${host}`),
        [1, 2, 3].map((n) => url(`${host}/${n}`, { crawl: 'domain', origin: `http://${host}` })),
      )
    const seen: [string, unknown][] = []
    for (const tag of ledger.tags)
      for (const [, fields] of await bench.raw.xrange(`${tag}:outcomes:domain`, '-', '+')) {
        const { id, reason } = JSON.parse(fields[1] ?? '') as { id: string; reason: string }
        seen.push([id, reason])
      }
    expect(Object.fromEntries(seen), `${partitions} partitions`).toEqual({
      'site.co.uk/3': 'crawl-per-host',
      'a.site.co.uk/3': 'crawl-per-host',
      ...Object.fromEntries(
        ['b', 'c', 'd'].flatMap((one) => [1, 2, 3].map((n) => [`${one}.site.co.uk/${n}`, 'crawl-per-domain'])),
      ),
      'other.co.uk/3': 'crawl-per-host',
      '127.0.0.1/3': 'crawl-per-host',
    })
    await ledger.changeCrawl({ name: 'domain', change: { limits: { pagesPerDomain: null } }, ...by })
    await ledger.crawlBook.refresh()
    const last = 'http://d.site.co.uk'
    expect(await ledger.store(ledger.partitionOf(last), [url('d', { crawl: 'domain', origin: last })])).toMatchObject({
      stored: 1,
    })
    await expect(
      ledger.changeCrawl({ name: 'domain', change: { limits: { pagesPerDomain: 0 } }, ...by }),
    ).rejects.toThrow('the limit pagesPerDomain is a whole number from 1')
  }
})

test('a crawl ends at its end, or when it has fetched as many bytes as it may', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, startPage } = bench
  await ledger.store(0, [...some('bytes', 3), url('t', { crawl: 'timed', origin: 'http://other.test' })])
  await ledger.changeCrawl({ name: 'bytes', change: { limits: { bytes: 1_000 } }, ...by })
  await ledger.changeCrawl({ name: 'timed', change: { expiresAt: clock.now + 60_000 }, ...by })
  const reserved = (await bench.reserve()).find(({ urls }) => urls[0]?.crawl === 'bytes')
  if (reserved === undefined) throw new Error('a lane of the crawl is due')
  await startPage(reserved)
  await finish(ledger, reserved, { kind: 'fetched', bytes: 1_200 })
  clock.pass(61_000)
  await ledger.crawlBook.refresh()
  await ledger.limitCrawls()
  await ledger.crawlBook.refresh()
  while ((await ledger.sweepCrawls(0)) > 0);
  expect((await outcomesOf(bench, 'bytes')).map((one) => ('reason' in one ? one.reason : one.kind))).toEqual([
    'connect',
    'crawl-bytes',
    'crawl-bytes',
  ])
  expect((await outcomesOf(bench, 'timed')).map((one) => 'reason' in one && one.reason)).toEqual(['crawl-ended'])
  const states = (await ledger.crawls(['bytes', 'timed'])).map(({ record: { state } }) => state)
  expect(states).toEqual(['spent', 'ended'])
})

test('a change that reached the first partition alone is carried to the others', async () => {
  const { ledger, raw } = await emptyLedger(redis, { partitions: 3 })
  await ledger.changeCrawl({ name: 'news', change: { weight: 5, state: 'paused' }, ...by })
  const far = ledger.tags.map((tag) => `${tag}:crawl:news`)
  await raw.del(far[1] ?? '', far[2] ?? '')
  await raw.hset(far[2] ?? '', 'version', '7', 'weight', '1')
  await raw.hdel(`${ledger.tags[1]}:crawls`, 'news')
  await raw.hset(`${ledger.tags[2]}:crawls`, 'news', '7', 'late', '0')
  await ledger.crawlBook.refresh()
  for (const key of far) expect(await raw.hmget(key, 'weight', 'held')).toEqual(['5', '1'])
  expect((await ledger.crawls()).map(({ name }) => name)).toEqual(['default', 'late', 'news'])
  expect(ledger.crawlBook.has('late')).toBe(true)
})

test('a thousand crawls of few lanes each are stored, listed and end', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, clock, startPage } = bench
  const items = Array.from({ length: 1_000 }, (_, c) => [
    url('own', { crawl: `c${c}`, origin: `http://own-${c}.test` }),
    url('shared', { crawl: `c${c}` }),
  ]).flat()
  await storeAll(ledger, items)
  const seen: string[] = []
  for (let rounds = 0; rounds < 1_010 && seen.length < 2_000; rounds++) {
    const lanes = await bench.reserve({ limit: 200 })
    await Promise.all(
      lanes.map(async (one) => {
        await startPage(one, { delayMs: 0 })
        await finish(ledger, one)
        seen.push(one.urls[0]?.crawl ?? '')
      }),
    )
    clock.pass(1)
  }
  expect(seen.length).toBe(2_000)
  expect(new Set(seen).size).toBe(1_000)
  const crawls = await ledger.crawls()
  expect(crawls.length).toBe(1_001)
  expect(crawls.every(({ waiting }) => waiting === 0)).toBe(true)
})

test('what is wrong with a change is said, and nothing is changed', async () => {
  const { ledger } = await emptyLedger(redis)
  const change = (name: string, what: object) => ledger.changeCrawl({ name, change: what, ...by })
  await expect(change('a', { weight: 0 })).rejects.toThrow(/weight/)
  await expect(change('a', { limits: { stored: 1.5 } })).rejects.toThrow(/stored/)
  await expect(change('a', { expiresAt: 5 })).rejects.toThrow(/end/)
  await expect(change(DEFAULT_CRAWL, { state: 'cancelled' })).rejects.toThrow(/default/)
  expect((await ledger.crawls()).map(({ name }) => name)).toEqual(['default'])
})

test('the ids of two crawls never meet', () => {
  expect(idSlot('a', DEFAULT_CRAWL)).toEqual(idSlot('a'))
  expect(idSlot('a', 'news')).not.toEqual(idSlot('a'))
  expect(idSlot('a', 'news')).not.toEqual(idSlot('news a'))
})

test('find, cancel by id and drop know the crawl', async () => {
  const bench = await emptyLedger(redis)
  const { ledger } = bench
  await ledger.store(0, [url('x'), url('x', { crawl: 'news' }), url('y', { crawl: 'news' })])
  const { found } = await ledger.findPending(lane, { id: 'x', crawl: 'news' })
  const [one] = found
  if (one === undefined) throw new Error('it is there')
  expect(await ledger.cancel(one, outcomeOf('x', { crawl: 'news' }))).toBe('cancelled')
  expect(await idsOf(bench, 'news')).toEqual(['x'])
  expect(await ledger.dropBacklog(lane, 'test', 'test')).toBe(2)
  expect(await idsOf(bench, DEFAULT_CRAWL)).toEqual(['x'])
  expect((await idsOf(bench, 'news')).sort()).toEqual(['x', 'y'])
  expect(await waitingOf(ledger)).toEqual({ default: 0, news: 0 })
})

test('a crawl that was forgotten stays so, whatever gateways that do not have that change yet write meanwhile', async () => {
  for (const [name, partitions] of [
    ['over', 1],
    ['over', 2],
    ['constructor', 2],
  ] as const) {
    const bench = await emptyLedger(redis, { partitions })
    const { ledger } = bench
    const gateway = await bench.another()
    await ledger.changeCrawl({ name, change: { state: 'cancelled' }, ...by })
    await gateway.crawlBook.refresh()
    expect(await ledger.forgetCrawl(name)).toBe('forgotten')
    await gateway.crawlBook.refresh()
    await gateway.limitCrawls()
    expect(
      (await ledger.crawls()).map((crawl) => crawl.name),
      `${partitions} partitions`,
    ).toEqual([DEFAULT_CRAWL])
    await gateway.crawlBook.refresh()
    expect(gateway.crawlBook.recordOf(name).state).toBe('running')
    expect(await ledger.forgetCrawl(name)).toBe('absent')
    // Named anew before the gateway has looked again.
    await ledger.changeCrawl({ name, change: { state: 'cancelled' }, ...by })
    await gateway.crawlBook.refresh()
    expect(await ledger.forgetCrawl(name)).toBe('forgotten')
    await ledger.store(0, [url('one', { crawl: name })])
    await gateway.crawlBook.refresh()
    expect(gateway.crawlBook.recordOf(name).state).toBe('running')
    const [, anew] = await ledger.crawls()
    expect(anew).toMatchObject({ name, waiting: 1, record: { state: 'running' } })
  }
})

test('what a later version keeps of a crawl is no outcome here, and stays when this one changes the record', async () => {
  const { ledger, raw } = await emptyLedger(redis)
  const { record } = await ledger.changeCrawl({ name: 'later', change: { state: 'paused' }, ...by })
  await raw.hset(
    keys.crawl('later'),
    'record',
    JSON.stringify({ ...record, owner: 'ann' }),
    'owned',
    'ann',
    'fetched',
    '2',
  )
  await ledger.changeCrawl({ name: 'later', change: { weight: 2 }, ...by })
  const [, crawl] = await ledger.crawls()
  expect(crawl?.counts).toEqual({ fetched: 2 })
  expect(crawl?.record).toMatchObject({ state: 'paused', weight: 2, owner: 'ann' })
})

test('a record that Redis has lost is written again by a process that has seen it, and no older one takes its place', async () => {
  const { ledger, raw, another } = await emptyLedger(redis, { partitions: 2 })
  const late = await another()
  await ledger.changeCrawl({ name: 'news', change: { weight: 3 }, ...by })
  await late.crawlBook.refresh()
  await ledger.changeCrawl({ name: 'news', change: { state: 'paused' }, ...by })
  await ledger.crawlBook.refresh()
  for (const tag of ledger.tags) await raw.del(`${tag}:crawl:news`, `${tag}:crawls`)
  await late.crawlBook.refresh()
  await ledger.crawlBook.refresh()
  for (const tag of ledger.tags) expect(await raw.hget(`${tag}:crawl:news`, 'held')).toBe('1')
  await late.crawlBook.refresh()
  expect(late.crawlBook.recordOf('news').state).toBe('paused')
})

test('a share of a limit that was taken away after the limit had been read is not written', async () => {
  const { ledger, raw, another } = await emptyLedger(redis, { partitions: 2 })
  const set = (stored: number | null) => ledger.changeCrawl({ name: 'news', change: { limits: { stored } }, ...by })
  const gateway = await another()
  await set(5)
  await gateway.crawlBook.refresh()
  const stands = async () => /^blocked_clients:(\d+)/m.exec(await raw.info('clients'))?.[1]
  await raw.client('PAUSE', 5_000, 'WRITE') // both read what there is, and then wait in this order
  const taken = set(null)
  await expect.poll(stands).toBe('1')
  const shared = gateway.limitCrawls()
  await expect.poll(stands).toBe('2')
  await raw.client('UNPAUSE')
  await Promise.all([taken, shared])
  for (const tag of ledger.tags) expect(await raw.hget(`${tag}:crawl:news`, 'stored')).toBeNull()
})

test.each(['share', 'pool'] as const)(
  'a lane whose next URL waits for a slot or a worker (%s) goes on with the URLs of other crawls at once',
  async (why) => {
    const { ledger, clock, reserve, reserveOne, startPage } = await emptyLedger(redis)
    const turnAway = async (reserved: ReservedLane): Promise<void> => {
      const next = { kind: 'defer' as const, until: clock.now + 30_000, why }
      await ledger.resolve(0, [{ ...reserved, dropped: [], next }])
    }
    await storeAll(ledger, some('greedy', 2))
    await turnAway(await reserveOne())
    clock.pass(29_000)
    expect(await reserve(), 'of one crawl, it waits as long as it is told').toEqual([])
    clock.pass(1_000)
    const first = await reserveOne()
    await startPage(first, { delayMs: 0 })
    await finish(ledger, first)
    await storeAll(ledger, some('other', 10))
    let visited = 0
    for (let turn = 0; turn < 10; turn++) {
      const reserved = await reserveOne()
      if (reserved.urls[0]?.crawl === 'greedy') await turnAway(reserved)
      else {
        await startPage(reserved, { delayMs: 0 })
        await finish(ledger, reserved)
        visited++
      }
      clock.pass(100)
    }
    expect(visited, 'every second turn').toBeGreaterThanOrEqual(5)
  },
)

test('a lane whose crawls all wait for a slot is looked at less and less often', async () => {
  const { ledger, clock, reserve } = await emptyLedger(redis)
  await storeAll(ledger, [...some('one', 2), ...some('other', 2)])
  let looks = 0
  for (let passed = 0; passed < 30_000; passed += 100) {
    for (const reserved of await reserve()) {
      looks++
      const next = { kind: 'defer' as const, until: clock.now + 30_000, why: 'share' as const }
      await ledger.resolve(0, [{ ...reserved, dropped: [], next }])
    }
    clock.pass(100)
  }
  expect(looks).toBeGreaterThanOrEqual(10)
  expect(looks).toBeLessThanOrEqual(12)
})

test('a head that was tried and waits for a worker of its pool holds no other crawl, and keeps its tries', async () => {
  const { ledger, clock, reserve, reserveOne, startPage } = await emptyLedger(redis)
  await storeAll(ledger, some('rendered', 1))
  const first = await reserveOne()
  await startPage(first, { delayMs: 0 })
  const { agent, origin, fence } = first
  await ledger.complete({ agent, origin, fence, delayMs: 0, elapsedMs: 0, load: { kind: 'normal' } })
  await storeAll(ledger, some('other', 10))
  let visited = 0
  for (let turn = 0; turn < 12; turn++) {
    for (const reserved of await reserve()) {
      if (reserved.urls[0]?.crawl === 'rendered') {
        expect(reserved.tries).toBe(1)
        const next = { kind: 'defer' as const, until: clock.now + 30_000, why: 'pool' as const }
        await ledger.resolve(0, [{ ...reserved, dropped: [], next }])
      } else {
        await startPage(reserved, { delayMs: 0 })
        await finish(ledger, reserved)
        visited++
      }
    }
    clock.pass(100)
  }
  expect(visited).toBeGreaterThanOrEqual(5)
})

test('requests that were made for a URL stay counted while a URL of another crawl is tried in its lane', async () => {
  const { ledger, clock, reserve, startPage } = await emptyLedger(redis)
  await storeAll(ledger, [...some('rendered', 1), ...some('other', 1)])
  const tries: Record<string, number[]> = { rendered: [], other: [] }
  let seen = 0
  for (let turn = 0; turn < 200 && (tries.rendered?.length ?? 0) < 3; turn++) {
    for (const reserved of await reserve()) {
      const { agent, origin, fence, urls } = reserved
      const crawl = urls[0]?.crawl ?? ''
      const lastTry = tries[crawl]?.at(-1)
      if (crawl === 'rendered' && seen++ % 4 !== 0) {
        // There is no worker of its pool: the other crawl has its turn.
        const next = { kind: 'defer' as const, until: clock.now + 30_000, why: 'pool' as const }
        await ledger.resolve(0, [{ ...reserved, dropped: [], next }])
        if (lastTry !== undefined) expect(reserved.tries).toBe(lastTry + 1)
        continue
      }
      tries[crawl]?.push(reserved.tries)
      await startPage(reserved, { delayMs: 0 })
      await ledger.complete({ agent, origin, fence, delayMs: 0, elapsedMs: 0, load: { kind: 'normal' } })
    }
    clock.pass(100)
  }
  expect(tries.rendered).toEqual([0, 1, 2])
  expect(tries.other?.length).toBeGreaterThan(2)
  expect(tries.other).toEqual(tries.other?.map((_, n) => n))
})

test('a URL that was requested in vain before its crawl was cancelled ends with its number of requests', async () => {
  const bench = await emptyLedger(redis)
  const { ledger, startPage, reserveOne } = bench
  await storeAll(ledger, some('gone', 2))
  const tried = await reserveOne()
  await startPage(tried, { delayMs: 0 })
  const { agent, origin, fence } = tried
  await ledger.complete({ agent, origin, fence, delayMs: 0, elapsedMs: 0, load: { kind: 'normal' } })
  await ledger.changeCrawl({ name: 'gone', change: { state: 'cancelled' }, ...by })
  await ledger.crawlBook.refresh()
  while ((await ledger.sweepCrawls(0)) > 0);
  const ended = await outcomesOf(bench, 'gone')
  expect(ended.map(({ attempts }) => attempts).toSorted((a, b) => a - b)).toEqual([0, 1])
})

test('requests that were made for a URL before its lane had a second crawl stay counted, too', async () => {
  const { ledger, clock, reserve, startPage } = await emptyLedger(redis)
  const tried: string[] = []
  const visit = async (): Promise<void> => {
    for (const reserved of await reserve()) {
      const { agent, origin, fence, urls, tries } = reserved
      const crawl = urls[0]?.crawl ?? 'default'
      if (crawl === 'default' && tries > 0 && tried.length < 3) {
        const next = { kind: 'defer' as const, until: clock.now + 30_000, why: 'pool' as const }
        await ledger.resolve(0, [{ ...reserved, dropped: [], next }])
        continue
      }
      tried.push(`${crawl} ${tries}`)
      await startPage(reserved, { delayMs: 0 })
      await ledger.complete({ agent, origin, fence, delayMs: 0, elapsedMs: 0, load: { kind: 'normal' } })
    }
    clock.pass(100)
  }
  await storeAll(ledger, [url('a')])
  await visit()
  await storeAll(ledger, some('other', 1))
  for (let turn = 0; turn < 200 && tried.filter((one) => one.startsWith('default')).length < 2; turn++) await visit()
  expect(tried.filter((one) => one.startsWith('default'))).toEqual(['default 0', 'default 1'])
  expect(tried.filter((one) => one.startsWith('other')).length).toBeGreaterThanOrEqual(2)
})
