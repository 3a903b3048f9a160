/** The document in Redis: who writes it first, who is told that he comes too late, and what is remembered. */
import { FLEET_SETTINGS, fleetSettingsOf, readDocument } from '@decorum/config'
import {
  agree,
  connectForConfig,
  OvertakenError,
  readCurrent,
  readHistory,
  readLatest,
  startJoined,
  type Version,
  write,
} from '@decorum/config/fleet-config'
import { readConfig } from '@decorum/gateway/testing'
import { openLedger, type RedisLink } from '@decorum/ledger'
import { slotOf } from '@decorum/protocol'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'

const server = await redisForTest()
const redis: RedisLink = await connectForConfig(server.url)
afterAll(() => redis.disconnect())
beforeEach(async () => void (await redis.flushall()))

const CONFIG = '{decorum:partitions}:config'
const draft = (values: object): Omit<Version, 'version' | 'at'> => ({
  values: readDocument(values),
  by: 'a test',
  reason: 'why not',
  via: 'apply',
})
const start = (env: Record<string, string>, by = 'a gateway') =>
  agree(redis, { env, reads: fleetSettingsOf('gateway'), by })

test('of ten processes that start at once one writes, and all go by what it wrote', async () => {
  const delays = Array.from({ length: 10 }, () => ({ DEFAULT_DELAY_MS: '300' }))
  const agreed = await Promise.all(delays.map((env) => start(env)))
  expect(new Set(agreed.map(({ document }) => document?.version))).toEqual(new Set([1]))
  expect(await readHistory(redis)).toHaveLength(1)
})

test('of processes that start at once and contradict each other one wins, and each of the others is told both values', async () => {
  const starts = await Promise.allSettled(['50', '1000', '70'].map((ms) => start({ DEFAULT_DELAY_MS: ms })))
  const told = starts.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))
  const winner = Number((await readCurrent(redis))?.values.DEFAULT_DELAY_MS)
  expect(told).toHaveLength(2)
  for (const sentence of told) expect(sentence).toMatch(new RegExp(`it is \\d+ here, but ${winner} in the fleet's`))
})

test('what the environment does not say comes from the document, the number of partitions from its own list', async () => {
  await start({ DEFAULT_DELAY_MS: '300' })
  await redis.rpush('decorum:partitions', '{a}', '{b}')
  const { env } = await start({ PORT: '1' })
  expect(env).toMatchObject({ DEFAULT_DELAY_MS: '300', DECORUM_PARTITIONS: '2', PORT: '1' })
})

test('a fleet that is started anew decides all settings, one that is resumed only those that its environment gives', async () => {
  const whole = (wholeFleet: 'new' | 'resumed', env: Record<string, string>) =>
    agree(redis, { env, reads: FLEET_SETTINGS, by: 'a crawl', wholeFleet })
  await whole('new', { DEFAULT_DELAY_MS: '1500', DECORUM_ALLOW_ADDRESSES: '10.0.0.0/8', MAX_DELAY_MS: '9000' })
  const resumed = await whole('resumed', { MAX_DELAY_MS: '8000' })
  const kept = { DEFAULT_DELAY_MS: '1500', DECORUM_ALLOW_ADDRESSES: '10.0.0.0/8', MAX_DELAY_MS: '8000' }
  expect(resumed.env).toMatchObject(kept)
  expect((await readCurrent(redis))?.reason).toBe('the fleet was resumed')
  const anew = await whole('new', {})
  expect(anew.env).toMatchObject({ DEFAULT_DELAY_MS: '1000', DECORUM_ALLOW_ADDRESSES: '', MAX_DELAY_MS: '10000' })
})

test('a process that decides something wrong writes nothing', async () => {
  await expect(start({ LEASE_MS: '10' })).rejects.toThrow(/a fetch must end inside its lease/)
  expect(await readCurrent(redis)).toBe(undefined)
})

test('of changes made from one version at once one is written, and the others are told which version is in force', async () => {
  await start({})
  const changes = await Promise.allSettled([2, 3, 4].map((n) => write(redis, 1, draft({ MAX_ATTEMPTS: n }))))
  expect(changes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const one of changes)
    if (one.status === 'rejected') {
      expect(one.reason).toBeInstanceOf(OvertakenError)
      expect(String(one.reason)).toContain('has become version 2 meanwhile')
    }
  expect(await readCurrent(redis)).toMatchObject({ version: 2, by: 'a test', reason: 'why not' })
})

test('a hundred versions are remembered, newest first, each with who, when and why', async () => {
  for (let version = 0; version < 103; version++)
    await write(redis, version, { ...draft({ MAX_ATTEMPTS: version + 1 }), reason: `a line\nbreak ${version}` })
  const history = await readHistory(redis)
  expect(history.map(({ version }) => version)).toEqual(Array.from({ length: 100 }, (_, n) => 103 - n))
  expect(history[0]).toEqual(await readCurrent(redis))
  expect(history[0]?.reason).toBe('a line\nbreak 102')
  expect(Math.abs((history[0]?.at ?? 0) - Date.now())).toBeLessThan(60_000)
})

/** A gateway's process, as far as it follows the document. @returns the version that it follows */
async function followed(env: Record<string, string> = {}): Promise<() => number> {
  const address = { REDIS_URL: server.url, DECORUM_ALLOW_ADDRESSES: '' }
  const following = await startJoined('gateway', { ...address, ...env }, readConfig, async (joined) => {
    const ledger = await openLedger({ redis: server.url, partitions: 1, isNew: true })
    await joined.enforce(ledger)
    const log = { info() {}, warn() {} }
    const one = joined.follow({ ledger, log, onUnfit: fail, apply() {} })
    onTestFinished(() => ledger.close())
    return one
  })
  onTestFinished(() => following.stop())
  return () => following.now().version
}
const fail = (error: Error): never => {
  throw error
}

test('where an earlier version comes back, a process that follows a later one writes that again', async () => {
  const version = await followed()
  const first = await redis.hgetall(CONFIG)
  await write(redis, 1, draft({ MAX_ATTEMPTS: 7 }))
  await expect.poll(version).toBe(2)
  await redis.hset(CONFIG, first) // as after a promotion that lost the latest writes
  expect(await readLatest(redis)).toMatchObject({ version: 2, values: { MAX_ATTEMPTS: 7 }, via: 'memory' })
  expect(await write(redis, 2, draft({ MAX_ATTEMPTS: 5 }))).toMatchObject({ version: 3 })
  await expect.poll(version).toBe(3)
})

test('of two records of one version the one that a running process follows stays, under the next version', async () => {
  const version = await followed({ MAX_ATTEMPTS: '7' })
  await redis.flushall()
  await write(redis, 0, draft({ MAX_ATTEMPTS: 5 })) // by a process that has started meanwhile
  await expect.poll(() => readCurrent(redis)).toMatchObject({ version: 2, values: { MAX_ATTEMPTS: 7 } })
  await expect.poll(version).toBe(2)
})

test('a version that some partition has taken over is not used again, also where no process runs that knows it', async () => {
  await start({})
  const ledger = await openLedger({ redis: server.url, partitions: 1, isNew: true })
  onTestFinished(() => ledger.close())
  await ledger.setRates({ version: 4, leastDelays: [], sitePolicies: [] })
  expect(await write(redis, 1, draft({ MAX_ATTEMPTS: 5 }))).toMatchObject({ version: 5 })
})

test('a full Redis takes a change of the configuration: it may be what makes room', async () => {
  await start({})
  await redis.config('SET', 'maxmemory', '1')
  try {
    expect(await write(redis, 1, draft({ LANE_LIMIT: 10 }))).toMatchObject({ version: 2 })
  } finally {
    await redis.config('SET', 'maxmemory', '0')
  }
})

test('both keys are in the slot of the list of partitions', () => {
  const slots = ['decorum:partitions', '{decorum:partitions}:config', '{decorum:partitions}:config-history'].map(
    (key) => slotOf(/\{(.*)\}/.exec(key)?.[1] ?? key),
  )
  expect(new Set(slots).size).toBe(1)
})
