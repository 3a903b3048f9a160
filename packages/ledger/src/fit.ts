/** Is this Redis fit to keep the promises? Asked once, at start; the answer is for the person who set it up. */
import { partitionTags } from '@decorum/protocol'
import type { Redis } from 'ioredis'
import { LedgerUnfitError } from './errors.ts'
import { keysOf, NEW_KEY, PARTITIONS_KEY, RETIRED_KEY } from './keys.ts'
import { mastersOf, type RedisLink } from './link.ts'

const OLDEST = 7
/** Most partitions there may be (DECORUM_PARTITIONS). */
const MOST = 1_024

/**
 * Of a cluster each master is asked; one that does not answer is passed over, as long as another does.
 * @returns warnings: what works but weakens a promise. @throws LedgerUnfitError naming what is wrong and the way out
 */
export async function checkRedis(redis: RedisLink, deadlineMs: number): Promise<string[]> {
  const asked = mastersOf(redis).map((server) => within(deadlineMs, checkServer(server, redis.isCluster)))
  const answers = await Promise.allSettled(asked)
  const warnings = new Set<string>()
  for (const answer of answers) {
    if (answer.status === 'fulfilled') for (const warning of answer.value) warnings.add(warning)
    else if (answer.reason instanceof LedgerUnfitError || answers.every(({ status }) => status === 'rejected'))
      throw answer.reason
  }
  return [...warnings]
}

async function checkServer(redis: Redis, ofCluster: boolean): Promise<string[]> {
  const info = await redis.info()
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  const version = field('redis_version')
  if (Number.parseInt(version, 10) < OLDEST) {
    throw new LedgerUnfitError(`Redis ${version} is too old: ${OLDEST}.0 or newer is needed`)
  }
  if (!ofCluster && isNode(info)) throw new LedgerUnfitError(ONE_NODE)
  const policy = field('maxmemory_policy')
  if (policy !== 'noeviction') {
    throw new LedgerUnfitError(
      `Redis may evict keys (maxmemory-policy ${policy}): set it to noeviction, or URLs and clocks will be lost`,
    )
  }
  const warnings: string[] = []
  if (field('aof_enabled') !== '1')
    warnings.push('Redis keeps no append-only file: a crash of Redis loses what is parked (set appendonly yes)')
  if (ofCluster && (await coverage(redis)) === 'yes')
    warnings.push(
      'one master that is down stops the whole cluster, not only its own partitions (set cluster-require-full-coverage no)',
    )
  return warnings
}

/** @param info  what INFO says */
const isNode = (info: string): boolean => info.includes('cluster_enabled:1')
const ONE_NODE = 'this Redis is a node of a cluster: name two or more of its nodes in REDIS_URL, separated by commas'

/** @throws LedgerUnfitError when a connection to one server has met a node of a cluster */
export async function checkOneServer(redis: RedisLink): Promise<void> {
  if (!redis.isCluster && isNode(await redis.info('cluster'))) throw new LedgerUnfitError(ONE_NODE)
}

/** undefined where CONFIG is not for us, as with managed servers */
async function coverage(redis: Redis): Promise<string | undefined> {
  const answer = await redis.config('GET', 'cluster-require-full-coverage').catch(() => [])
  return (answer as string[])[1]
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** What is written down; empty lists before a fleet has first started. */
export async function readTags(redis: RedisLink): Promise<{ tags: string[]; retired: string[] }> {
  const lists = [PARTITIONS_KEY, RETIRED_KEY].map((key) => redis.lrange(key, 0, MOST - 1))
  const [tags = [], retired = []] = await Promise.all(lists)
  return { tags, retired }
}

/** A word that nobody has taken up is void after this: by then the Redis may have been used, and emptied. */
const NEW_LIFE_MS = 3_600_000

/**
 * Says of a Redis that has never held a ledger that it is new. An empty one may also have been emptied under a fleet, so
 * without this word nothing is granted there for lease + quarantine (docs/decisions/0015-an-empty-ledger.md).
 */
export async function announceNew(redis: RedisLink): Promise<void> {
  await redis.set(NEW_KEY, '1', 'PX', NEW_LIFE_MS)
}

/** The first of several that start together writes; all read what it wrote. One slot, so one node of a cluster. */
const REGISTER = `if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('RPUSH', KEYS[1], unpack(ARGV)) end
redis.call('DEL', KEYS[2])
return redis.call('LRANGE', KEYS[1], 0, -1)`

/** Of a partition that nobody has ever called: nothing is out there, as after an announced restart (lua/common.lua). */
const MARK_NEW = `if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('HSET', KEYS[1], 'planned', '1') end`

/**
 * Writes down the partitions the first time; afterwards the number must be the same, since every host's state lives
 * where the number says.
 * @param isNew  the caller vouches for it, as `announceNew` does
 * @throws LedgerUnfitError
 */
export async function registerPartitions(redis: RedisLink, count: number, isNew: boolean): Promise<string[]> {
  const { tags } = await readTags(redis)
  const there = tags.length > 0 ? tags : await registerFirst(redis, partitionTags(count), isNew)
  if (there.length === count) return there
  throw new LedgerUnfitError(
    `this Redis holds ${there.length} partition${there.length === 1 ? '' : 's'}, DECORUM_PARTITIONS says ${count}: use ${there.length}, or stop the fleet and change it: 'decorum partitions ${count}'`,
  )
}

async function registerFirst(redis: RedisLink, tags: string[], isNew: boolean): Promise<string[]> {
  if (isNew || (await redis.exists(NEW_KEY)) === 1)
    await Promise.all(tags.map((tag) => redis.eval(MARK_NEW, 1, keysOf(tag).epoch)))
  return (await redis.eval(REGISTER, 2, PARTITIONS_KEY, NEW_KEY, ...tags)) as string[]
}
