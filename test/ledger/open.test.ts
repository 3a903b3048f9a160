/** openLedgerWithViews: which Redis is fit, and how hosts are spread over partitions. */

import { setTimeout as sleep } from 'node:timers/promises'
import { LedgerUnavailableError, LedgerUnfitError, linkTo, PARTITIONS_KEY, reachRedis } from '@decorum/ledger'
import { EPOCH } from '@decorum/ledger/testing'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { systemClock } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest, startRedis } from '../support/redis.ts'
import { clockAt, FIRST_HOLD, keys, outcomeOf, PATIENT, url } from './ledger-for-test.ts'

const redis = await redisForTest()

async function raw(): Promise<Redis> {
  const connection = new Redis(redis.url)
  onTestFinished(() => connection.disconnect())
  await connection.flushall()
  return connection
}

test('a Redis that evicts is refused, with the way out', async () => {
  const connection = await raw()
  await connection.config('SET', 'maxmemory-policy', 'allkeys-lru')
  const opening = openLedgerWithViews({ redis: redis.url, partitions: 1, ...PATIENT })
  await expect(opening).rejects.toBeInstanceOf(LedgerUnfitError)
  await expect(opening).rejects.toThrow(/maxmemory-policy allkeys-lru\): set it to noeviction/)
  await connection.config('SET', 'maxmemory-policy', 'noeviction')
  const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1, ...PATIENT })
  await ledger.close()
})

test('the error says why there is no connection: a password, a port', async () => {
  const connection = await raw()
  await connection.call('ACL', 'SETUSER', 'fleet', 'on', '>right', '~*', '&*', '+@all')
  const wrong = redis.url.replace('redis://', 'redis://fleet:wrong@')
  await expect(openLedgerWithViews({ redis: wrong, partitions: 1 })).rejects.toThrow(/WRONGPASS/)
  await expect(openLedgerWithViews({ redis: 'redis://127.0.0.1:1', partitions: 1 })).rejects.toThrow(
    /ECONNREFUSED 127.0.0.1:1/,
  )
})

test('a ledger of another version is neither read nor written, by whoever starts and whoever runs', async () => {
  const connection = await raw()
  const running = await openLedgerWithViews({ redis: redis.url, partitions: 1, ...PATIENT })
  onTestFinished(() => running.close())
  const epoch = keys.epoch
  expect(await connection.hget(epoch, EPOCH.layout)).toMatch(/^\d+$/)
  for (const other of ['999', undefined]) {
    await (other === undefined ? connection.hdel(epoch, EPOCH.layout) : connection.hset(epoch, EPOCH.layout, other))
    const before = await connection.hgetall(epoch)
    await expect(openLedgerWithViews({ redis: redis.url, partitions: 1, ...PATIENT })).rejects.toThrow(
      /another version of Decorum/,
    )
    await expect(running.store(0, [url('a')])).rejects.toBeInstanceOf(LedgerUnfitError)
    expect(await connection.hgetall(epoch)).toEqual(before)
  }
  expect(await connection.exists(keys.lanes, keys.due)).toBe(0)
})

test('a Redis without an append-only file is used, with a warning; with one there is none', async () => {
  await raw()
  const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1, ...PATIENT })
  onTestFinished(() => ledger.close())
  expect(ledger.warnings).toEqual([expect.stringContaining('appendonly yes')])
  const durable = await startRedis({ appendonly: true })
  onTestFinished(() => durable.stop())
  const other = await openLedgerWithViews({ redis: durable.url, partitions: 1, ...PATIENT })
  onTestFinished(() => other.close())
  expect(other.warnings).toEqual([])
})

test('no Redis there: LedgerUnavailableError, soon', async () => {
  await expect(
    openLedgerWithViews({ redis: 'redis://127.0.0.1:1', partitions: 1, callDeadlineMs: 300 }),
  ).rejects.toBeInstanceOf(LedgerUnavailableError)
})

test('a Redis that is too busy for its first answer is waited for, longer than any later call is', async () => {
  const busy = await startRedis()
  onTestFinished(() => busy.stop())
  process.kill(busy.pid, 'SIGSTOP')
  const link = linkTo(busy.url, { away: 'fail', lazyConnect: true })
  onTestFinished(() => link.disconnect())
  const reaching = reachRedis(link, { deadline: { clock: systemClock, ms: 100 }, isOwn: true }, async () => 'reached')
  await Promise.race([reaching.catch(() => undefined), sleep(4_000)])
  process.kill(busy.pid, 'SIGCONT')
  expect(await reaching).toBe('reached')
})

test('the number of partitions is written down the first time and must stay', async () => {
  const connection = await raw()
  const first = await openLedgerWithViews({ redis: redis.url, partitions: 3, ...PATIENT })
  onTestFinished(() => first.close())
  expect(await connection.lrange(PARTITIONS_KEY, 0, -1)).toEqual(first.tags)
  const again = await openLedgerWithViews({ redis: redis.url, partitions: 3, ...PATIENT })
  onTestFinished(() => again.close())
  expect(again.tags).toEqual(first.tags)
  await expect(openLedgerWithViews({ redis: redis.url, partitions: 2, ...PATIENT })).rejects.toThrow(
    /holds 3 partitions, DECORUM_PARTITIONS says 2: use 3/,
  )
})

test('a list of partitions that Redis has lost with all else is written again by a process that runs', async () => {
  const connection = await raw()
  const running = await openLedgerWithViews({ redis: redis.url, partitions: 3, ...PATIENT })
  onTestFinished(() => running.close())
  await connection.flushall()
  await running.announce({ id: 'one', role: 'gateway', slots: 0 }) // as each process does once a second
  await expect.poll(() => connection.lrange(PARTITIONS_KEY, 0, -1)).toEqual(running.tags)
})

test('several that start together agree on one list', async () => {
  const connection = await raw()
  const ledgers = await Promise.all(
    Array.from({ length: 6 }, () => openLedgerWithViews({ redis: redis.url, partitions: 4, ...PATIENT })),
  )
  onTestFinished(async () => void (await Promise.all(ledgers.map((ledger) => ledger.close()))))
  expect(await connection.llen(PARTITIONS_KEY)).toBe(4)
})

test('everything about a host lives in one partition: both schemes, all ports', async () => {
  await raw()
  const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 5, ...PATIENT })
  onTestFinished(() => ledger.close())
  for (const host of ['a.test', 'xn--bcher-kva.example', '[2001:db8::1]', '192.0.2.7']) {
    const places = [`http://${host}`, `https://${host}`, `http://${host}:8080`].map((origin) =>
      ledger.partitionOf(origin),
    )
    expect(new Set(places).size).toBe(1)
  }
})

test('two partitions know nothing of each other', async () => {
  await raw()
  const clock = clockAt()
  const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 2, ...PATIENT, nowMs: () => clock.now })
  onTestFinished(() => ledger.close())
  clock.pass(FIRST_HOLD)
  const origins = Array.from({ length: 40 }, (_, i) => `http://s${i}.test`)
  const of = (partition: number) => origins.filter((origin) => ledger.partitionOf(origin) === partition)
  expect(of(0).length * of(1).length).toBeGreaterThan(0)
  for (const partition of [0, 1]) {
    await ledger.store(
      partition,
      of(partition).map((origin) => url(`same id ${origin}`, { origin, path: '/' })),
    )
  }
  const reserve = (partition: number) =>
    ledger.reserve(partition, { limit: 100, aheadMs: 0, inFlightLimit: 100, peek: 1 })
  for (const partition of [0, 1]) {
    const taken = await reserve(partition)
    if (taken.kind !== 'reserved') throw new Error('all are due')
    expect(taken.lanes.map(({ origin }) => origin).sort()).toEqual(of(partition).sort())
    const settled = await Promise.all(
      taken.lanes.map(async (lane) => {
        const permit = await ledger.start({ ...lane, kind: 'page', version: 0, delayMs: 1 })
        expect(permit.kind).toBe('granted')
        const outcome = outcomeOf(lane.urls[0]!.id)
        return ledger.complete({ ...lane, delayMs: 1, elapsedMs: 0, load: { kind: 'normal' }, outcome })
      }),
    )
    expect(new Set(settled)).toEqual(new Set(['completed']))
    expect(await ledger.viewPartition(partition)).toMatchObject({
      tag: ledger.tags[partition],
      unread: of(partition).length,
    })
  }
  expect(() => ledger.viewPartition(2)).toThrow(RangeError)
})

test('without nowMs the clock is Redis’s, to the microsecond, and now() never runs ahead of it', async () => {
  const connection = await raw()
  const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1, ...PATIENT })
  onTestFinished(() => ledger.close())
  const read = async (): Promise<number> => {
    const [seconds, micros] = await connection.time()
    return Number(seconds) * 1_000 + Number(micros) / 1_000
  }
  const before = await read()
  const { now } = await ledger.viewPartition(0)
  expect(now).toBeGreaterThanOrEqual(before)
  const ours = ledger.now()
  expect(ours).toBeGreaterThanOrEqual(now)
  expect(await read()).toBeGreaterThanOrEqual(ours)
})

test('a connection that was lent stays open; one of our own is closed', async () => {
  const connection = await raw()
  const ledger = await openLedgerWithViews({ redis: connection, partitions: 1, ...PATIENT })
  await ledger.close()
  expect(await connection.ping()).toBe('PONG')
  const own = await openLedgerWithViews({ redis: redis.url, partitions: 1, ...PATIENT })
  expect(own.isReady()).toBe(true)
  await own.close()
  await expect(own.viewPartition(0)).rejects.toBeInstanceOf(LedgerUnavailableError)
})
