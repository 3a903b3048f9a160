/** What happens when Redis restarts or forgets: nothing is granted until every request that may be out has ended. */
import { readdir, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { announceNew, LedgerUnavailableError, type ReservedLane } from '@decorum/ledger'
import { EPOCH } from '@decorum/ledger/testing'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { laneUrls } from '../support/lane-urls.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import {
  clockAt,
  emptyLedger,
  FIRST_HOLD,
  keys,
  LEASE,
  outcomeOf,
  PATIENT,
  QUARANTINE,
  TAG,
  url,
  urls,
} from './ledger-for-test.ts'

const HOLD = LEASE + QUARANTINE
const ask = { limit: 10, aheadMs: 0, inFlightLimit: 100, peek: 1 }

const ready = (connection: Redis): Promise<void> => new Promise((resolve) => connection.once('ready', () => resolve()))

/**
 * Every answered call is in the append-only file: while a sync is under way, Redis keeps what it owes in memory for up
 * to two seconds, and SIGKILL would lose that, too.
 */
async function written(connection: Redis): Promise<void> {
  while (!/aof_buffer_length:0\r/.test(await connection.info('persistence'))) await setImmediate()
}

/** A Redis of its own that can be killed, and a ledger whose connection comes back by itself. */
async function mortal(partitions = 1) {
  const redis = await startRedis({ appendonly: true })
  onTestFinished(() => redis.stop())
  const clock = clockAt()
  const connect = async (more: { isNew?: boolean } = {}): Promise<{ ledger: LedgerWithViews; connection: Redis }> => {
    const connection = new Redis(redis.url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => 20,
    })
    connection.on('error', () => {}) // it dies on purpose
    onTestFinished(() => connection.disconnect())
    await ready(connection)
    const options = { partitions, leaseMs: LEASE, quarantineMs: QUARANTINE, nowMs: () => clock.now, ...PATIENT }
    return { ledger: await openLedgerWithViews({ redis: connection, ...options, ...more }), connection }
  }
  const { ledger, connection } = await connect()
  clock.pass(FIRST_HOLD)
  /** Ends the server in a way, and starts it again; resolves when the ledger's connection is back. */
  const restart = async (how: 'stop' | 'kill9', before = async (): Promise<void> => {}): Promise<void> => {
    const back = ready(connection)
    if (how === 'kill9') await written(connection)
    await redis[how]()
    await before()
    await redis.restart()
    await back
  }
  return { redis, clock, ledger, connection, connect, restart }
}

async function reserveOne(ledger: LedgerWithViews): Promise<ReservedLane> {
  const taken = await ledger.reserve(0, ask)
  if (taken.kind !== 'reserved' || taken.lanes[0] === undefined)
    throw new Error(`nothing to reserve: ${JSON.stringify(taken)}`)
  return taken.lanes[0]
}
const page = { kind: 'page' as const, version: 0, delayMs: 1_000 }
const done = { delayMs: 1_000, elapsedMs: 0, load: { kind: 'normal' as const } }
const held = (waitMs: number) => ({ kind: 'wait', why: 'startup-hold', waitMs })

/** Bytes of the append-only file right now: what was answered is in it. */
async function tailOf(redis: TestRedis, connection: Redis): Promise<{ path: string; size: number }> {
  await written(connection)
  const folder = join(redis.dir, 'appendonlydir')
  const name = (await readdir(folder)).find((one) => one.endsWith('.incr.aof'))
  if (name === undefined) throw new Error('there is no append-only file')
  const path = join(folder, name)
  return { path, size: (await stat(path)).size }
}

test('a Redis that was killed and came back grants nothing for lease + quarantine; nothing stored is lost', async () => {
  const { ledger, clock, restart } = await mortal()
  await ledger.store(0, urls('a', 'b'))
  const first = await reserveOne(ledger)
  await ledger.start({ ...first, ...page })
  await restart('kill9')
  clock.pass(10)
  await ledger.store(0, [url('c', { origin: 'http://other.test' })])
  expect(await ledger.reserve(0, ask)).toEqual(held(HOLD))
  expect(await ledger.viewPartition(0)).toMatchObject({ holdUntil: clock.now + HOLD, waiting: 3, inFlight: 1 })
  expect(await ledger.complete({ ...first, ...done, outcome: outcomeOf('a') }), 'who holds a lease may end it').toBe(
    'completed',
  )
  clock.pass(HOLD - 1)
  expect(await ledger.reserve(0, ask)).toEqual(held(1))
  clock.pass(1)
  const taken = await ledger.reserve(0, ask)
  expect(taken).toMatchObject({ kind: 'reserved', lanes: [{ urls: [{ id: 'c' }] }, { urls: [{ id: 'b' }] }] })
})

test('the hold also refuses what was reserved before', async () => {
  const { ledger, clock, restart } = await mortal()
  await ledger.store(0, urls('a'))
  const lane = await reserveOne(ledger)
  await restart('kill9')
  expect(await ledger.start({ ...lane, ...page })).toEqual({ kind: 'refused', why: 'startup-hold' })
  clock.pass(HOLD)
  expect((await reserveOne(ledger)).fence).toBeGreaterThan(lane.fence)
})

test('one restart is one hold, however many processes notice it and however often', async () => {
  const { ledger, clock, connect, restart } = await mortal()
  const other = await connect()
  const otherBack = ready(other.connection)
  await restart('kill9')
  await otherBack
  expect(await ledger.reserve(0, ask)).toEqual(held(HOLD))
  clock.pass(20_000)
  expect(await other.ledger.reserve(0, ask)).toEqual(held(HOLD - 20_000))
  const late = await connect()
  expect(await late.ledger.reserve(0, ask)).toEqual(held(HOLD - 20_000))
  clock.pass(HOLD - 20_000)
  expect(await ledger.reserve(0, ask)).toMatchObject({ why: 'nothing-due' })
})

test('a Redis that lost its tail: the forgotten request cannot be overtaken, and fences rise all the same', async () => {
  const { redis, ledger, connection, clock, restart } = await mortal()
  await ledger.store(0, urls('a', 'b'))
  const before = await tailOf(redis, connection)
  const fences: number[] = []
  const forgotten = await reserveOne(ledger)
  fences.push(forgotten.fence)
  await ledger.start({ ...forgotten, ...page })
  await ledger.complete({ ...forgotten, ...done, outcome: outcomeOf('a') })
  clock.pass(1_000)
  const onTheWire = await reserveOne(ledger)
  fences.push(onTheWire.fence)
  await ledger.start({ ...onTheWire, ...page })
  await restart('kill9', () => truncate(before.path, before.size))
  expect(await ledger.reserve(0, ask)).toEqual(held(HOLD))
  expect(await ledger.complete({ ...onTheWire, ...done, outcome: outcomeOf('b') }), 'its lease is forgotten').toBe(
    'stale',
  )
  clock.pass(HOLD)
  const again = await reserveOne(ledger)
  expect(again.urls[0]?.id, 'the outcome was lost with the tail, so it is fetched again').toBe('a')
  expect(again.fence).toBeGreaterThan(Math.max(...fences))
})

test('a tail torn within a call leaves whole calls only', async () => {
  const { redis, ledger, connection, restart } = await mortal()
  await ledger.store(0, urls('a', 'b', 'c'))
  const lane = await reserveOne(ledger)
  await ledger.start({ ...lane, ...page })
  await ledger.complete({ ...lane, ...done, outcome: outcomeOf('a') })
  const end = await tailOf(redis, connection)
  await restart('kill9', () => truncate(end.path, end.size - 3))
  const name = 'bot http://site.test'
  expect(await laneUrls(connection, TAG, name), 'settle is gone as a whole').toHaveLength(3)
  expect(await connection.hget(keys.leases, name)).toContain(String(lane.fence))
  expect(await connection.xlen(keys.outcomes)).toBe(0)
  expect(await connection.zscore(keys.due, name)).toBeNull()
})

test('a Redis without its data: who knew the old epoch makes it hold', async () => {
  const { ledger, connection, connect, clock } = await mortal()
  await ledger.store(0, urls('a'))
  await connection.flushall()
  expect(await ledger.reserve(0, ask), 'the knowing one comes first').toEqual(held(HOLD))

  clock.pass(HOLD)
  await connection.flushall()
  const stranger = await connect({ isNew: true })
  expect(await stranger.ledger.reserve(0, ask), 'a stranger who takes it for a new one').toEqual(held(FIRST_HOLD))
  clock.pass(FIRST_HOLD - 1)
  expect(await ledger.reap(0), 'any word of the knowing one will do').toMatchObject({ started: 0 })
  expect(await stranger.ledger.reserve(0, ask)).toEqual(held(HOLD))
})

test('an empty Redis that a fresh process meets first is held in full, and says so in a line', async () => {
  const redis = await startRedis({ isNew: false })
  onTestFinished(() => redis.stop())
  const clock = clockAt()
  const notices: string[] = []
  const onNotice = (sentence: string): void => void notices.push(sentence)
  const options = { redis: redis.url, leaseMs: LEASE, quarantineMs: QUARANTINE, nowMs: () => clock.now, onNotice }
  const fresh = await openLedgerWithViews({ ...options, partitions: 1, isNew: false })
  onTestFinished(() => fresh.close())
  await fresh.store(0, urls('a'))
  clock.pass(HOLD - 1)
  expect(await fresh.reserve(0, ask)).toEqual(held(1))
  clock.pass(1)
  expect(await reserveOne(fresh)).toMatchObject({ urls: [{ id: 'a' }] })
  expect(notices).toEqual([expect.stringMatching(/^Redis is empty, .* nothing is fetched for 55 s/)])
})

test('a Redis that has run for long enough without a ledger, and lost nothing, is new; one that was emptied is not', async () => {
  const LENGTHS = { leaseMs: 1_500, quarantineMs: 500 }
  const redis = await startRedis({ isNew: false })
  onTestFinished(() => redis.stop())
  const raw = new Redis(redis.url)
  onTestFinished(() => raw.disconnect())
  const open = async (): Promise<LedgerWithViews> => {
    const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1, ...LENGTHS, ...PATIENT })
    onTestFinished(() => ledger.close())
    return ledger
  }
  await expect.poll(() => raw.info('server')).toMatch(/uptime_in_seconds:([3-9]|\d\d)/)
  const { holdUntil = 0, now } = await (await open()).viewPartition(0)
  expect(holdUntil - now, 'for the living to speak up').toBeLessThanOrEqual(FIRST_HOLD)
  await raw.flushall()
  const [s = 0, us = 0] = (await raw.time()).map(Number)
  await open()
  const emptiedUntil = Number(await raw.hget(keys.epoch, EPOCH.holdUntil))
  expect(emptiedUntil - s * 1_000 - us / 1_000).toBeGreaterThanOrEqual(LENGTHS.leaseMs + LENGTHS.quarantineMs - 1)
})

/** A Redis of which nothing is known, a connection to it, and ledgers there on one clock that stands still. */
async function emptyRedis(partitions: number): Promise<{ raw: Redis; open: () => Promise<LedgerWithViews> }> {
  const redis = await startRedis({ isNew: false })
  onTestFinished(() => redis.stop())
  const raw = new Redis(redis.url)
  onTestFinished(() => raw.disconnect())
  const clock = clockAt()
  const open = async (): Promise<LedgerWithViews> => {
    const options = { leaseMs: LEASE, quarantineMs: QUARANTINE, nowMs: () => clock.now, isNew: false, ...PATIENT }
    const ledger = await openLedgerWithViews({ redis: redis.url, partitions, ...options })
    onTestFinished(() => ledger.close())
    return ledger
  }
  return { raw, open }
}

test('known to be new: once, by a word in Redis that ends with the first ledger there', async () => {
  const { raw, open } = await emptyRedis(3)
  await announceNew(raw)
  const first = await open()
  for (const partition of [0, 1, 2]) expect(await first.reserve(partition, ask)).toEqual(held(FIRST_HOLD))
  await raw.flushall()
  const second = await open()
  for (const partition of [0, 1, 2]) expect(await second.reserve(partition, ask)).toEqual(held(HOLD))
  await raw.flushall()
  await announceNew(raw)
  expect(await first.reserve(0, ask), 'who knew another epoch is believed rather than the word').toEqual(held(HOLD))
})

test('new, and its address not published yet: nothing is held, unless a process calls that knew another epoch', async () => {
  const { raw, open } = await emptyRedis(1)
  await announceNew(raw, 'unknown')
  const first = await open()
  expect(await first.reserve(0, ask)).toMatchObject({ why: 'nothing-due' })
  expect(await raw.exists('{decorum:partitions}:new'), 'the word is taken away').toBe(0)
  await raw.flushall()
  await announceNew(raw, 'unknown')
  expect(await first.reserve(0, ask)).toEqual(held(HOLD))
})

test('a Redis that failed over and back with no call in between is another run: what it lost may be on the wire', async () => {
  const [a, b] = [await startRedis({ appendonly: true }), await startRedis({ appendonly: true, isNew: false })]
  onTestFinished(() => Promise.all([a.kill9(), b.kill9()]).then(() => undefined)) // in order, each would wait for the other
  const clock = clockAt()
  const [one, two] = [new Redis(a.url), new Redis(b.url)]
  onTestFinished(() => {
    for (const link of [one, two]) link.disconnect()
  })
  const follow = async (replica: Redis, port: number): Promise<void> => {
    await replica.replicaof('127.0.0.1', port)
    await expect.poll(() => replica.info('replication')).toMatch(/master_link_status:up/)
  }
  await follow(two, a.port)
  const options = {
    redis: a.url,
    partitions: 1,
    leaseMs: LEASE,
    quarantineMs: QUARANTINE,
    nowMs: () => clock.now,
    ...PATIENT,
  }
  const ledger = await openLedgerWithViews(options)
  onTestFinished(() => ledger.close())
  clock.pass(FIRST_HOLD)
  await ledger.store(0, urls('a'))
  await expect.poll(() => two.xlen(keys.outcomes)).toBe(0)
  await two.replicaof('NO', 'ONE')
  await follow(one, b.port)
  await one.replicaof('NO', 'ONE')
  await follow(two, a.port)
  expect(await ledger.reserve(0, ask)).toEqual(held(HOLD))
})

test('a restart that was announced does not hold; the next one that was not does', async () => {
  const { ledger, clock, restart } = await mortal()
  await ledger.store(0, urls('a'))
  await ledger.announceRestart()
  await restart('stop')
  const lane = await reserveOne(ledger)
  expect(await ledger.start({ ...lane, ...page })).toMatchObject({ kind: 'granted' })
  clock.pass(1)
  await restart('stop')
  expect(await ledger.reserve(0, ask)).toEqual(held(HOLD))
})

test('an announcement is void once something was granted after it', async () => {
  const { ledger, restart } = await mortal()
  await ledger.store(0, urls('a'))
  const lane = await reserveOne(ledger)
  await ledger.announceRestart()
  expect(await ledger.start({ ...lane, ...page })).toMatchObject({ kind: 'granted' })
  await restart('kill9')
  expect(await ledger.reserve(0, ask)).toEqual(held(HOLD))
})

test('each partition holds for itself: one that is asked late still holds', async () => {
  const { ledger, clock, restart } = await mortal(2)
  await restart('kill9')
  expect(await ledger.reserve(0, ask)).toEqual(held(HOLD))
  clock.pass(HOLD)
  expect(await ledger.reserve(0, ask)).toMatchObject({ why: 'nothing-due' })
  expect(await ledger.reserve(1, ask), 'first word to this one since').toEqual(held(HOLD))
})

test('without Redis every call fails with LedgerUnavailableError; when it is back the same ledger goes on', async () => {
  const { redis, ledger, connection } = await mortal()
  const back = ready(connection)
  await redis.stop()
  const calls = [
    ledger.store(0, urls('a')),
    ledger.reserve(0, ask),
    ledger.start({ agent: 'bot', origin: 'http://site.test', fence: 1, ...page }),
    ledger.reap(0),
    ledger.viewPartition(0),
  ]
  for (const result of await Promise.allSettled(calls)) {
    expect(result).toMatchObject({ status: 'rejected', reason: expect.any(LedgerUnavailableError) })
  }
  await redis.restart()
  await back
  expect(await ledger.store(0, urls('a'))).toMatchObject({ stored: 1 })
})

test('a Redis that hangs is given up after callDeadlineMs', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const { another } = await emptyLedger(redis, { callDeadlineMs: 150 })
  const ledger = await another()
  process.kill(redis.pid, 'SIGSTOP')
  try {
    const from = performance.now()
    await expect(ledger.reserve(0, ask)).rejects.toThrow(/the ledger did not answer 'reserve': no answer within 150 ms/)
    expect(performance.now() - from).toBeGreaterThanOrEqual(149)
  } finally {
    process.kill(redis.pid, 'SIGCONT')
  }
  expect(await ledger.reserve(0, ask)).toMatchObject({ kind: 'wait' })
})

test('an answer that came while this process stood still for longer than callDeadlineMs counts', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const { another } = await emptyLedger(redis, { callDeadlineMs: 150 })
  const ledger = await another()
  const answer = ledger.reserve(0, ask)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
  expect(await answer).toMatchObject({ kind: 'wait' })
})

test('scripts that were flushed from Redis are sent again', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const { ledger, raw } = await emptyLedger(redis)
  await ledger.store(0, urls('a'))
  await raw.script('FLUSH')
  expect(await ledger.store(0, urls('b'))).toMatchObject({ stored: 1 })
})
