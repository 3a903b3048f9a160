/** Another number of partitions: all that is known of a host moves with it, and callers that know the old number are refused. */

import { LedgerUnfitError, readTags } from '@decorum/ledger'
import { repartition } from '@decorum/ledger/move'
import { holdingChange, moveLane } from '@decorum/ledger/move/testing'
import { EPOCH, idSlot, keysOf, LIST, writeLaneRecord } from '@decorum/ledger/testing'
import { type LaneView, type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { hashesOf } from '@decorum/robots'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { every } from '../../support/every.ts'
import { redisForTest } from '../../support/redis.ts'
import { keys, outcomeOf, PATIENT, url } from '../ledger-for-test.ts'
import { type OnTheWay, watchedLink } from '../watched-link.ts'

const redis = await redisForTest()
const AGENTS = ['bot', 'other']
const ORIGINS = Array.from({ length: 30 }, (_, n) => `https://s${n}.test`)
const TIMES = { leaseMs: 400, quarantineMs: 100 }
const HOUR = 3_600_000

async function open(partitions: number): Promise<LedgerWithViews> {
  const ledger = await openLedgerWithViews({ redis: redis.url, partitions, ...TIMES, ...PATIENT })
  onTestFinished(() => ledger.close())
  return ledger
}

async function empty(): Promise<Redis> {
  const raw = new Redis(redis.url)
  onTestFinished(() => raw.disconnect())
  await raw.flushall()
  return raw
}

async function change(to: number, onProgress: () => void = () => undefined, onTheWay: OnTheWay = () => undefined) {
  const link = await watchedLink(redis.url, onTheWay)
  return repartition({ redis: link, to, ...TIMES, onProgress }).finally(() => link.disconnect())
}
/** What a run that was cut off leaves behind, and what ends by itself after a while. */
const lockEnds = (raw: Redis) => raw.del('{decorum:partitions}:changing')

/** New partitions hold their grants for a second: here nothing was granted before. */
async function noHold(raw: Redis, ledger: LedgerWithViews): Promise<void> {
  await counted(ledger)
  for (const tag of ledger.tags) {
    await raw.hset(keysOf(tag).epoch, EPOCH.holdUntil, 0)
    await raw.hdel(keysOf(tag).epoch, EPOCH.lost)
  }
}

/** All that can be seen of a host, but the instant at which it is looked at. */
async function seen(ledger: LedgerWithViews) {
  const views = await Promise.all(ORIGINS.map((origin) => ledger.viewOrigin(origin, AGENTS)))
  // A new partition holds its grants for a second: that gate is not the host's.
  const ofHost = (lane: LaneView) => ({ ...lane, closed: lane.closed.filter(({ gate }) => gate !== 'startup-hold') })
  return views.map(({ now: _, lanes, ...view }) => ({ ...view, lanes: lanes.map(ofHost) }))
}
const counted = async (ledger: LedgerWithViews) => {
  const views = await Promise.all(ledger.tags.map((_, partition) => ledger.viewPartition(partition)))
  return { waiting: views.reduce((n, one) => n + one.waiting, 0), lanes: views.reduce((n, one) => n + one.lanes, 0) }
}

/** Lanes of all kinds: long, of high priority, with tries, deferred, cooling down; origins with rules, back-off, a pause. */
async function filled(raw: Redis): Promise<LedgerWithViews> {
  const ledger = await open(2)
  await noHold(raw, ledger)
  const reserve = (partition: number) =>
    ledger.reserve(partition, { limit: 200, aheadMs: 0, inFlightLimit: 10_000, peek: 1 })
  for (const [n, origin] of ORIGINS.entries()) {
    const partition = ledger.partitionOf(origin)
    const store = (id: string, more = {}) => ledger.store(partition, [url(`${n}-${id}`, { origin, ...more })])
    await store('a', { meta: { n } })
    if (n % 3 === 0) await store('b', { agent: 'other' })
    if (n % 4 === 0) await store('urgent', { priority: 'high' })
    if (n % 5 === 0)
      await ledger.operate({ origin, by: 'me', reason: 'test', action: 'pause', until: Date.now() + HOUR }, AGENTS)
  }
  for (const partition of ledger.tags.keys()) {
    const taken = await reserve(partition)
    for (const [n, lane] of (taken.kind === 'reserved' ? taken.lanes : []).entries()) {
      const { agent, origin, fence, urls } = lane
      const kind = n % 3 === 2 ? ('robots' as const) : ('page' as const)
      const permit = await ledger.start({ agent, origin, fence, kind, version: 0, delayMs: 5_000 })
      if (permit.kind !== 'granted') continue
      if (kind === 'robots') {
        const olderCopies = { partial: { kind: 'partial', hash: `old-${origin}`, at: 1 } }
        const copy = { hash: `h${n % 2}`, at: 1, freshUntil: 2 }
        const state = { answer: { kind: 'found' as const, at: 1 }, copy, olderCopies }
        const body = { hash: `h${n % 2}`, bytes: Buffer.from(`User-agent: *\nDisallow: /${n % 2}`) }
        const delays = [{ agent, delayMs: 7_000 }]
        await ledger.record({ agent, origin, fence, state: state as never, body, delays, delayMs: 7_000, elapsedMs: 0 })
      } else {
        const load = n % 3 === 1 ? { kind: 'asked-for-less' as const, retryAfterMs: HOUR } : { kind: 'normal' as const }
        const outcome = load.kind === 'normal' ? { outcome: outcomeOf(urls[0]!.id) } : {}
        await ledger.complete({ agent, origin, fence, delayMs: 9_000, elapsedMs: 0, load, ...outcome })
      }
    }
  }
  await Promise.all(
    ORIGINS.map((origin, n) => ledger.store(ledger.partitionOf(origin), [url(`${n}-late`, { origin })])),
  )
  return ledger
}

test('all of a host moves: URLs in order, due times, tries, robots, back-off, pauses, ids; also when it breaks off half way', async () => {
  const raw = await empty()
  const small = await filled(raw)
  const [before, sums] = [await seen(small), await counted(small)]
  const bodiesOf = (ledger: LedgerWithViews) =>
    Promise.all(
      before.map(({ state }, n) =>
        Promise.all(hashesOf(state).map((hash) => ledger.body(ledger.partitionOf(ORIGINS[n] as string), hash))),
      ),
    )
  for (const [n, { state }] of before.entries()) {
    const tag = small.tags[small.partitionOf(ORIGINS[n] as string)]
    for (const hash of hashesOf(state).slice(1))
      await raw.set(keysOf(tag as string).body(hash), `\0${hash}`, 'PX', 3_600_000)
  }
  const bodies = await bodiesOf(small)
  expect(bodies.filter((all) => all.length === 2 && all.every((one) => one !== undefined)).length).toBeGreaterThan(3)
  expect(before.filter(({ state }) => state.copy !== undefined).length).toBeGreaterThan(3)
  expect(before.filter(({ backOff }) => backOff !== undefined).length).toBeGreaterThan(3)

  let steps = 0
  const breakOff = (): void => {
    if (++steps === 12) throw new Error('cut off')
  }
  await expect(change(5, breakOff)).rejects.toThrow('cut off')
  await expect(small.viewPartition(0)).rejects.toThrow("(2>5): 'decorum ledger partitions 5' has not ended yet")
  await expect(open(2)).rejects.toBeInstanceOf(LedgerUnfitError)
  await expect(change(3)).rejects.toThrow('a change of partitions (2>5) is not finished: give 5 again first')
  const done = await change(5)
  expect(done.lanes).toBeGreaterThan(5)

  const large = await open(5)
  expect(large.tags).toHaveLength(5)
  expect(await seen(large)).toEqual(before)
  expect(await counted(large)).toEqual(sums)
  await expect(small.store(0, [url('x', { origin: ORIGINS[0]! })])).rejects.toThrow('holds 5 partitions now')
  for (const [n, origin] of ORIGINS.entries()) {
    const again = await large.store(large.partitionOf(origin), [url(`${n}-late`, { origin })])
    expect(again, 'its id is stored where it is now').toMatchObject({ stored: 0, absorbed: 1 })
  }
  for (const [n, all] of (await bodiesOf(large)).entries())
    for (const [at, body] of all.entries()) if (bodies[n]?.[at] !== undefined) expect(body).toEqual(bodies[n][at])

  await noHold(raw, large)
  await change(2)
  const back = await open(2)
  expect(await seen(back)).toEqual(before)
  expect(await counted(back)).toEqual(sums)
  expect(back.retired.length).toBeGreaterThan(0)
  for (const tag of back.retired)
    for (const kind of ['q', 'h', 'o', 'ids'])
      expect(await raw.keys(`${tag.replace(/[{}]/g, '\\$&')}:${kind}:*`)).toEqual([])
})

test('cut off after ever more commands, each time taken up again: the end is the same', async () => {
  const raw = await empty()
  const small = await filled(raw)
  const [before, sums] = [await seen(small), await counted(small)]
  let cuts = 0
  for (let most = 1; ; most += 1 + (cuts % 7)) {
    const goes: OnTheWay = (sent, _, link) => {
      if (sent > most) link.disconnect()
      return undefined
    }
    const isDone = await change(3, undefined, goes).then(
      () => true,
      (error: unknown) => {
        expect(error).not.toBeInstanceOf(LedgerUnfitError)
        return false
      },
    )
    if (isDone) break
    cuts++
    await lockEnds(raw)
  }
  expect(cuts).toBeGreaterThan(20)
  const large = await open(3)
  expect(await seen(large)).toEqual(before)
  expect(await counted(large)).toEqual(sums)
})

test('a lease that is out is waited for; its URL and its quarantine go along', async () => {
  await empty()
  const ledger = await open(1)
  const origin = ORIGINS[0]!
  await ledger.store(0, [url('a', { origin })])
  const ask = { limit: 1, aheadMs: 0, inFlightLimit: 10, peek: 1 }
  await expect.poll(async () => (await ledger.viewPartition(0)).holdUntil).toBeUndefined()
  const from = Date.now()
  const taken = await ledger.reserve(0, ask)
  const [lane] = taken.kind === 'reserved' ? taken.lanes : []
  expect(await ledger.start({ ...lane!, kind: 'page', version: 0, delayMs: 2_000 })).toMatchObject({ kind: 'granted' })
  await change(3)
  expect(Date.now() - from).toBeGreaterThan(TIMES.leaseMs - 100)
  const outcome = outcomeOf('a')
  const told = ledger.complete({ ...lane!, delayMs: 0, elapsedMs: 0, load: { kind: 'normal' }, outcome })
  await expect(told).rejects.toBeInstanceOf(LedgerUnfitError)
  const [view] = (await (await open(3)).viewOrigin(origin, ['bot'])).lanes
  expect(view).toMatchObject({ waiting: 1, tries: 1, state: 'waiting' })
  expect(view!.due! - from).toBeGreaterThan(TIMES.leaseMs + 2_000 + TIMES.quarantineMs - 50)
})

test('processes that live, and jobs that are half way in, are named; nothing is changed', async () => {
  const raw = await empty()
  await expect(change(2)).rejects.toThrow('no fleet has run on this Redis yet')
  const ledger = await open(1)
  const fetcher = { id: 'f1', role: 'fetcher', slots: 3 }
  await ledger.announce(fetcher)
  const stop = every(300, () => ledger.announce(fetcher))
  await expect(change(2)).rejects.toThrow('(fetcher f1): stop all gateways and fetchers first')
  await stop()
  await ledger.announce(fetcher, 0)
  await raw.lpush('{decorum:0}:candidates:active', '7')
  await expect(change(2)).rejects.toThrow('half way in (1 in {decorum:0})')
  await raw.del('{decorum:0}:candidates:active')
  expect(await ledger.store(0, [url('a')])).toMatchObject({ stored: 1 })
  expect((await readTags(raw)).tags).toHaveLength(1)
  expect(await change(1)).toMatchObject({ from: 1, to: 1, lanes: 0 })
})

test('an id with a plus in it goes along as it is: absorbed where it is stored, free where it was', async () => {
  const raw = await empty()
  const [from, to, lane] = ['{one}', '{two}', 'bot https://s0.test']
  const id = 'YSBwbHVz+Yg=='
  const { bucket, number } = idSlot(id)
  await raw.hset(keysOf(from).lanes, lane, `/x 1z 0 ${id}`)
  await raw.sadd(keysOf(from).ids(bucket), number)
  await raw.zadd(keysOf(from).due, 9_000, lane)
  await holdingChange(raw, async (held) => {
    for (const tag of [from, to]) await held.take(tag, '1>2')
    return moveLane({ redis: raw, change: held }, from, to, lane, 0)
  })
  expect(await raw.sismember(keysOf(to).ids(bucket), number)).toBe(1)
  expect(await raw.exists(keysOf(from).ids(bucket), keysOf(from).lanes, keysOf(from).due)).toBe(0)
})

test('a deferred lane keeps its own due time, later by as much as its new server may be ahead', async () => {
  const raw = await empty()
  const [from, to, lane] = ['{one}', '{two}', 'bot https://s0.test']
  const put = (ownDue: string): string => {
    const memory = { attempts: '2', list: LIST.normal, ownDue, heldBy: 'back-off', hasHigh: '' }
    return writeLaneRecord({ memory, first: '/a 0 0 #:1', more: false })
  }
  await raw.hset(keysOf(from).lanes, lane, put('1000.500'))
  await raw.zadd(keysOf(from).due, 9_000, lane)
  const move = () =>
    holdingChange(raw, async (held) => {
      for (const tag of [from, to]) await held.take(tag, '1>2')
      return moveLane({ redis: raw, change: held }, from, to, lane, 7)
    })
  await move()
  expect(await raw.hget(keysOf(to).lanes, lane)).toBe(put('1007.500'))
  expect(await raw.zscore(keysOf(to).due, lane)).toBe('9007')
  expect(await raw.exists(keysOf(from).lanes, keysOf(from).due)).toBe(0)
  const there = await raw.dumpBuffer(keysOf(to).lanes)
  expect(await move(), 'it has moved').toBe(0)
  expect(await raw.dumpBuffer(keysOf(to).lanes)).toEqual(there)
  expect(await raw.zscore(keysOf(to).due, lane)).toBe('9007')
})

test('a second change is refused while one works; one that was frozen and overtaken changes nothing any more', async () => {
  const raw = await empty()
  const small = await filled(raw)
  const [before, sums] = [await seen(small), await counted(small)]
  const look = async (partitions: number) => {
    const ledger = await open(partitions)
    expect(await seen(ledger)).toEqual(before)
    expect(await counted(ledger)).toEqual(sums)
    await noHold(raw, ledger)
    return ledger.tags
  }
  let second: Promise<string> | undefined
  await change(5, () => {
    second ??= change(5).then(() => 'done', String)
  })
  expect(await second).toContain("another 'decorum ledger partitions' or 'decorum ledger upgrade' is at work")
  let now = 5
  let frozen = 0
  for (let most = 12; ; most += most) {
    const to = 7 - now
    const { promise: thawed, resolve: thaw } = Promise.withResolvers<void>()
    const { promise: stands, resolve: stand } = Promise.withResolvers<void>()
    const old = change(to, undefined, (sent) => {
      if (sent < most) return undefined
      stand()
      return thawed
    }).then(() => 'done', String)
    // A freeze in the very last commands is none: nothing is left to be done.
    if ((await Promise.race([stands, old])) === 'done') break
    frozen++
    await lockEnds(raw)
    await change(to)
    const tags = await look(to)
    thaw()
    const end = await old
    expect(end, `frozen at ${most}`).toMatch(/LedgerUnfitError: (another .* has overtaken|this Redis holds)/)
    expect(await look(to), `frozen at ${most}`).toEqual(tags)
    now = to
  }
  expect(frozen).toBeGreaterThan(3)
})

test('a hold is waited for; retired queues are looked at, and their serial numbers rise with the others', async () => {
  const raw = await empty()
  await open(1)
  const holdUntil = Date.now() + 300
  await raw.hset(keys.epoch, EPOCH.holdUntil, holdUntil)
  await change(3)
  expect(Date.now()).toBeGreaterThanOrEqual(holdUntil)
  await noHold(raw, await open(3))
  const { retired } = await change(1)
  expect(retired).toHaveLength(2)
  const [gone] = retired as [string]
  await raw.lpush(`${gone}:candidates:active`, '7')
  await expect(change(2)).rejects.toThrow(`half way in (1 in ${gone})`)
  await raw.del(`${gone}:candidates:active`)
  await raw.set('{decorum:0}:candidates:id', 40)
  await change(2)
  for (const tag of ['{decorum:0}', ...retired]) expect(await raw.get(`${tag}:candidates:id`)).toBe('40')
})

test.each(['delayed', 'prioritized', 'wait', 'paused'])(
  'a job half way in is seen where it waits for its next turn: %s',
  async (where) => {
    const raw = await empty()
    await open(1)
    await raw.hset(keys.epoch, EPOCH.holdUntil, 0)
    const queue = '{decorum:0}:candidates'
    const put = (id: number) =>
      where === 'wait' || where === 'paused'
        ? raw.lpush(`${queue}:${where}`, id)
        : raw.zadd(`${queue}:${where}`, id, String(id))
    for (let id = 1; id <= 600; id++) await put(id) // more than one page, and nobody has had them in hand yet
    await raw.hset(`${queue}:577`, 'ats', 1)
    await expect(change(2)).rejects.toThrow('half way in (1 in {decorum:0})')
    await raw.hdel(`${queue}:577`, 'ats')
    expect(await change(2)).toMatchObject({ from: 1, to: 2 })
  },
)

test('a job that is started right before the gate is closed is seen: the gate opens again', async () => {
  const raw = await empty()
  const ledger = await open(1)
  await raw.hset(keys.epoch, EPOCH.holdUntil, 0)
  let started = false
  const start: OnTheWay = (_, args) => {
    if (started || !args.includes('1>3')) return undefined
    started = true
    return raw.lpush('{decorum:0}:candidates:active', '7')
  }
  await expect(change(3, undefined, start)).rejects.toThrow('half way in (1 in {decorum:0})')
  expect(await ledger.store(0, [url('a')])).toMatchObject({ stored: 1 })
  await raw.del('{decorum:0}:candidates:active')
  expect(await change(3)).toMatchObject({ from: 1, to: 3 })
})

test('a key that ends while it is moved ends: it is not there for ever at its new place', async () => {
  const raw = await empty()
  const ledger = await open(1)
  const moved = ORIGINS.slice(0, 4)
  for (const origin of moved) await ledger.operate({ origin, action: 'refetch', by: 'ann', reason: 'x' }, [])
  const [tag] = ledger.tags
  await ledger.close()
  const seenOnce = new Set<string>()
  await change(4, undefined, (_sent, args) => {
    if (!moved.some((origin) => args === `${tag}:o:${origin}`)) return undefined
    if (!seenOnce.has(args)) return void seenOnce.add(args) // the copy is taken
    return raw.del(args) // and its life is asked for when it has just ended
  })
  expect(seenOnce.size).toBeGreaterThan(0)
  const there = await raw.keys('*:o:https://s*')
  for (const key of there) expect(await raw.pttl(key), key).toBeGreaterThan(0)
})

test('between partitions whose clocks have leapt differently, what is left of a delay moves along', async () => {
  const raw = await empty()
  const ledger = await open(1)
  await expect.poll(async () => (await ledger.viewPartition(0)).holdUntil).toBeUndefined()
  const [tag = ''] = ledger.tags
  const DAY = 86_400_000
  await ledger.close()
  const now = Number(await raw.hget(keysOf(tag).epoch, EPOCH.now))
  await raw.hset(keysOf(tag).epoch, EPOCH.shift, DAY, EPOCH.now, now + DAY, EPOCH.holdUntil, 0) // it has once been set back by a day
  const waiting = await open(1)
  for (const origin of ORIGINS) {
    await waiting.store(0, [url(`of-${origin}`, { origin })])
    await waiting.operate({ origin, action: 'pause', until: now + DAY + 60_000, by: 'ann', reason: 'x' }, ['bot'])
  }
  const { lanes } = await waiting.viewOrigin(ORIGINS[0] as string, ['bot'])
  expect(lanes[0]?.due).toBeGreaterThan(now + DAY - 1_000)
  await waiting.close()
  await change(3)
  const after = await open(3)
  for (const origin of ORIGINS) {
    const view = await after.viewOrigin(origin, ['bot'])
    expect((view.paused?.until ?? 0) - view.now, origin).toBeGreaterThan(0)
    expect((view.paused?.until ?? 0) - view.now, origin).toBeLessThanOrEqual(61_000)
    expect((view.lanes[0]?.due ?? 0) - view.now, origin).toBeLessThanOrEqual(1_000)
  }
})
