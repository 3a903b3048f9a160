/**
 * A ledger of each released layout becomes one of today: nothing is lost and nothing comes early, wherever the upgrade breaks off. The
 * fixtures in layouts/ were made by the code of their release (layouts/fill.ts).
 */

import { readdirSync, readFileSync } from 'node:fs'
import { announceNew } from '@decorum/ledger'
import { upgrade } from '@decorum/ledger/move'
import { EPOCH, keysOf, LAYOUT } from '@decorum/ledger/testing'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { fill, lane, START } from './layouts/fill.ts'
import { readStored, type StoredKey, writeStored } from './layouts/stored.ts'
import { keys, outcomeOf, PATIENT } from './ledger-for-test.ts'
import { cutAfter, watchedLink } from './watched-link.ts'

const redis = await redisForTest()
const folder = new URL('./layouts/', import.meta.url)
const layouts = readdirSync(folder).flatMap((name) => /^layout-(\d+)\.json$/.exec(name)?.[1] ?? [])
const fixture = (layout: string): StoredKey[] =>
  JSON.parse(readFileSync(new URL(`layout-${layout}.json`, folder), 'utf8')) as StoredKey[]
const earlier = layouts.filter((layout) => layout !== LAYOUT.version)

async function emptyRedis(): Promise<Redis> {
  const raw = new Redis(redis.url)
  onTestFinished(() => raw.disconnect())
  await raw.flushall()
  return raw
}

/** As the fleet left it, on the same server: the epoch goes on. */
async function load(raw: Redis, layout: string): Promise<void> {
  await raw.flushall()
  await writeStored(raw, fixture(layout))
  const run = /master_replid:(\w+)/.exec(await raw.info('replication'))?.[1] ?? ''
  await raw.hset(keys.epoch, EPOCH.run, run)
}

/** @param most  commands after which the connection is cut */
async function upgradeOnce(back = false, most = Infinity): Promise<{ error?: unknown; sent: number }> {
  let sent = 0
  const link = await watchedLink(redis.url, (count, ...command) => {
    sent = count
    return cutAfter(most)(count, ...command)
  })
  return upgrade({ redis: link, back })
    .then(
      () => ({ sent }),
      (error: unknown) => ({ error, sent }),
    )
    .finally(() => link.disconnect())
}

/** What a run that was cut off leaves behind, and what ends by itself after a while. */
const lockEnds = (raw: Redis) => raw.del('{decorum:partitions}:changing')

/** What is kept for people to see later: it fills by itself, so an earlier ledger has none of it, and it needs no other number. */
const KEPT_TO_SEE = /^\{decorum:\d+\}:(shut:|n:|f:|noted|ring|spent)/ // and what bodies have spent, which is counted since then
const COUNT_OF_A_REASON = /\["[a-z]+\/[\w-]+","\d+"\],?/g

/** What differs from one filling to the next: lives by the real clock, a back-off that chance lengthens, the run of Redis; and how it came here. */
const CHANCE =
  /"(run|upgraded|change)",\s*"[^"]*"|("robotsStateEnds"|"backOffUntil"|"bot http:\/\/slowed.test"),\s*"18\d+(\.\d+)?"/g
/** To ten minutes: none of the lives in the fixtures is so near to where one step becomes another that a busy machine makes a difference. */
const inSteps = (lifeMs: number): number => Math.floor((lifeMs - 140_000) / 600_000)
const comparable = (stored: StoredKey[]): unknown =>
  JSON.parse(
    JSON.stringify(
      stored
        .filter(({ key }) => !key.startsWith('{decorum:partitions}') && !KEPT_TO_SEE.test(key))
        .map(({ lifeMs, ...key }) => ({
          ...key,
          ...(lifeMs === undefined ? {} : { life: inSteps(lifeMs) }),
        })),
    ).replace(CHANCE, (text, name?: string) =>
      name === 'upgraded' || name === 'change' ? '"upgraded",""' : text.replace(/,.*/, ',""'),
    ),
  )
/** Entries of `operations` stay as they were written: an act was called `gap` then. */
const withoutHistory = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(COUNT_OF_A_REASON, '')
      .replaceAll('"action","gap"', '"action","delay"')
      .replaceAll('["upgraded",""],', '')
      .replaceAll(',["upgraded",""]', '')
      .replaceAll(/,\["of","\d+"\]|\["of","\d+"\],/g, ''), // written by the first call
  )
const seen = async (raw: Redis): Promise<unknown> => withoutHistory(comparable(await readStored(raw)))

/**
 * What layout 3 did not know: when exchanges ended, a pause of the whole host, which its act wrote nowhere but at its own origin, and that a
 * lease is a host's and not a pace group's.
 */
const asUpgraded = (stored: StoredKey[]): StoredKey[] =>
  stored
    .filter(({ key }) => !key.endsWith(':ended') && !key.endsWith(`:o:https://acted.test`))
    .map((one) =>
      one.key.endsWith(':leases')
        ? {
            ...one,
            value: (one.value as string[][]).map(([at = '', lease = '']) => [
              at,
              lease.replace('\0host\0', '\0pace-group\0'),
            ]),
          }
        : one,
    )

test('there is a fixture of each layout from the first release on, and none of one that is to come', () => {
  expect(layouts.toSorted()).toEqual(['3', LAYOUT.version])
})

test('the fixture of this layout is what this version stores: another form needs another number', async () => {
  const raw = await emptyRedis()
  await announceNew(raw)
  const ledger = await fill(redis.url)
  onTestFinished(() => ledger.close())
  expect(await seen(raw)).toEqual(withoutHistory(comparable(fixture(LAYOUT.version))))
})

test.each(earlier)(
  'layout %s becomes what this version would have stored, its end is written down, and again is nothing',
  async (layout) => {
    const raw = await emptyRedis()
    await load(raw, layout)
    expect(await upgradeOnce()).not.toHaveProperty('error')
    expect(await seen(raw)).toEqual(withoutHistory(comparable(asUpgraded(fixture(LAYOUT.version)))))
    expect(await raw.hget(keys.epoch, EPOCH.upgraded)).toMatch(new RegExp(`^${layout}>${LAYOUT.version} \\d{13}$`))
    const before = await readStored(raw)
    await upgradeOnce()
    expect((await readStored(raw)).map(({ lifeMs: _, ...key }) => key)).toEqual(
      before.map(({ lifeMs: _, ...key }) => key),
    )
  },
)

test.each(earlier)(
  'layout %s: an upgrade that breaks off anywhere goes on where it stopped, or steps back',
  async (layout) => {
    const raw = await emptyRedis()
    await load(raw, layout)
    const { sent } = await upgradeOnce()
    const upgraded = await seen(raw)
    await load(raw, layout)
    const original = await seen(raw)
    let steppedBack = 0
    for (let most = 1; most < sent - 1; most++) {
      for (const back of [false, true]) {
        await load(raw, layout)
        expect(await upgradeOnce(false, most), `cut after ${most}`).toHaveProperty('error')
        await lockEnds(raw)
        const wasOver = (await raw.hget(keys.epoch, EPOCH.layout)) === LAYOUT.version
        const { error } = await upgradeOnce(back)
        if (back && wasOver) {
          expect(String(error), `back after ${most}`).toMatch(/nothing to step back from/)
          expect(await seen(raw), `back after ${most}`).toEqual(upgraded)
          continue
        }
        expect(error, `again after ${most}`).toBeUndefined()
        expect(await seen(raw), `${back ? 'back' : 'again'} after ${most}`).toEqual(back ? original : upgraded)
        if (back) steppedBack++
      }
    }
    expect(steppedBack).toBeGreaterThan(5)
  },
)

test.each(earlier)(
  'layout %s: before and while it is upgraded, nobody reads or writes it, and the message says what to do',
  async (layout) => {
    const raw = await emptyRedis()
    await load(raw, layout)
    const open = () => openLedgerWithViews({ redis: redis.url, partitions: 1, nowMs: () => START + 89_000, ...PATIENT })
    await expect(open()).rejects.toThrow(/run 'decorum ledger upgrade'/)
    await upgradeOnce(false, 14)
    await lockEnds(raw)
    expect(await raw.hget(keys.epoch, EPOCH.layout)).toBe(`${layout}>${LAYOUT.version}`)
    const before = await readStored(raw, '{decorum:0}:epoch')
    await expect(open()).rejects.toThrow(/is being upgraded \(layout 3>5\)/)
    expect(await readStored(raw, '{decorum:0}:epoch')).toEqual(before)
  },
)

test.each(earlier)(
  'layout %s: after it, each URL has one outcome, no lane is due early, and leases that nobody completes come back',
  async (layout) => {
    const raw = await emptyRedis()
    await load(raw, layout)
    const due = new Map(await dueTimes(raw))
    const pending = new Set(JSON.stringify(fixture(layout)).match(/(?<=\/\S+ 1u5hvr4 0 )[\w-]+/g))
    await upgradeOnce()
    let now = START + 89_000
    const ledger = await openLedgerWithViews({
      redis: redis.url,
      partitions: 1,
      leaseMs: 45_000,
      quarantineMs: 10_000,
      nowMs: () => now,
      ...PATIENT,
    })
    onTestFinished(() => ledger.close())
    // A holder of the earlier version has lost nothing that was granted: its lane stays closed for lease + quarantine + delay.
    const leases = new Map(
      (await ledger.viewLanes(0, { order: 'in-flight', limit: 200 })).map(({ lane: at }) => [at.origin, at.state]),
    )
    expect(Object.fromEntries(leases)).toEqual(
      Object.fromEntries([
        [lane('hop').origin, 'in-flight'],
        [lane('pace').origin, 'in-flight'],
        [lane('reserved').origin, 'reserved'],
        [lane('robots').origin, 'in-flight'],
        [lane('ruled').origin, 'reserved'],
        [lane('started').origin, 'in-flight'],
      ]),
    )
    await ledger.operate({ origin: lane('blocked').origin, action: 'unblock', by: 'test', reason: '' }, [])
    const started = new Map<string, number>()
    const ended = new Set<string>()
    for (; now < START + 3_000_000; now += 5_000) {
      await ledger.reap(0)
      const found = await ledger.reserve(0, { limit: 100, aheadMs: 0, inFlightLimit: 1_000, peek: 1 })
      for (const { agent, origin, fence, urls, robots } of found.kind === 'reserved' ? found.lanes : []) {
        const [head] = urls
        if (head === undefined) throw new Error(`${origin} is reserved without a URL`)
        const answer = await ledger.start({
          agent,
          origin,
          fence,
          kind: 'page',
          version: robots.version,
          delayMs: 1_000,
        })
        if (answer.kind !== 'granted') continue
        started.set(`${agent} ${origin}`, Math.min(now, started.get(`${agent} ${origin}`) ?? Infinity))
        const outcome = outcomeOf(head.id)
        const completed = await ledger.complete({
          agent,
          origin,
          fence,
          delayMs: 1_000,
          elapsedMs: 0,
          load: { kind: 'normal' },
          outcome,
        })
        expect(completed).toBe('completed')
        expect(ended.has(head.id), `a second outcome of ${head.id}`).toBe(false)
        ended.add(head.id)
      }
    }
    expect(ended).toEqual(pending)
    for (const [name, at] of due) if (started.has(name)) expect(started.get(name), name).toBeGreaterThanOrEqual(at)
    // 45 s lease, 10 s quarantine and 1 s delay after the start at 89 s
    expect(started.get('bot http://started.test')).toBeGreaterThanOrEqual(START + 145_000)
  },
)

async function dueTimes(raw: Redis): Promise<[string, number][]> {
  const flat = await raw.zrange(keys.due, '0', '-1', 'WITHSCORES')
  return Array.from({ length: flat.length / 2 }, (_, n) => [flat[2 * n] ?? '', Number(flat[2 * n + 1])])
}

test('a step back is too late once one partition has the new layout; the upgrade ends with the others', async () => {
  const raw = await emptyRedis()
  await load(raw, '3')
  const { epoch } = keysOf('{decorum:1}')
  await raw.rpush('decorum:partitions', '{decorum:1}')
  await raw.hset(epoch, EPOCH.run, 'x', EPOCH.layout, LAYOUT.version)
  expect(String((await upgradeOnce(true)).error)).toMatch(/too late: 1 partition has layout 5 already/)
  expect(await raw.hget(keys.epoch, EPOCH.layout)).toBe(`3>${LAYOUT.version}`)
  expect(await upgradeOnce()).not.toHaveProperty('error')
  expect(await raw.hmget(keys.epoch, EPOCH.layout)).toEqual([LAYOUT.version])
})

test('partitions of layout 3 and 4 become 5 and 6; another layout beside them is refused before it is touched', async () => {
  const raw = await emptyRedis()
  await load(raw, '3')
  const { epoch, crawls } = keysOf('{decorum:1}')
  await raw.rpush('decorum:partitions', '{decorum:1}')
  await raw.hset(epoch, EPOCH.run, 'x', EPOCH.layout, '2')
  expect(String((await upgradeOnce()).error)).toMatch(/partition {decorum:1} has layout 2, not 3 or 4 as others have/)
  expect(await raw.hget(epoch, EPOCH.layout)).toBe('2')
  await raw.hset(epoch, EPOCH.layout, '4')
  await raw.hset(crawls, 'news', '0')
  expect(await upgradeOnce()).not.toHaveProperty('error')
  expect(await raw.hget(keys.epoch, EPOCH.layout)).toBe(LAYOUT.version)
  expect(await raw.hmget(epoch, EPOCH.layout)).toEqual([LAYOUT.withCrawls])
  expect(await raw.hget(epoch, EPOCH.upgraded)).toMatch(/^4>6 /)
})

test('a lease for a worker of a pool takes no slot of a fetcher afterwards either', async () => {
  const raw = await emptyRedis()
  await load(raw, '3')
  const [secondary] = await raw.zrange('{decorum:0}:secondary', '0', '-1')
  await raw.sadd('{decorum:0}:pooled', 'bot http://started.test')
  await upgradeOnce()
  expect(await raw.smembers(keys.slotless)).toEqual(expect.arrayContaining([secondary, 'bot http://started.test']))
  expect(await raw.exists('{decorum:0}:pooled', '{decorum:0}:secondary')).toBe(0)
})

test('orders of the earlier version that wait are dropped, candidates are not', async () => {
  const raw = await emptyRedis()
  await load(raw, '3')
  await raw.rpush('{decorum:0}:orders:wait', '1')
  await raw.hset('{decorum:0}:orders:1', 'data', '{}')
  await raw.rpush('{decorum:0}:candidates:wait', '1')
  await upgradeOnce()
  expect(await raw.keys('*:orders:*')).toEqual([])
  expect(await raw.exists('{decorum:0}:candidates:wait')).toBe(1)
})

test('a ledger with crawls has the layout of this version: nothing is left to do', async () => {
  const raw = await emptyRedis()
  await load(raw, LAYOUT.version)
  await raw.hset(keys.epoch, EPOCH.layout, LAYOUT.withCrawls)
  expect(await upgradeOnce()).not.toHaveProperty('error')
  expect(await raw.hget(keys.epoch, EPOCH.layout)).toBe(LAYOUT.withCrawls)
})
