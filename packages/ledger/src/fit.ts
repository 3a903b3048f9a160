/** Checks once, at start, that this Redis can keep the promises; errors and warnings are for the person who set it up. */
import { partitionTags } from '@decorum/protocol'
import { within } from '@decorum/protocol/within'
import type { Redis } from 'ioredis'
import { LedgerUnfitError } from './errors.ts'
import { ANNOUNCED, EPOCH, keysOf, NEW_KEY, PARTITIONS_KEY, RETIRED_KEY } from './layout.ts'
import { mastersOf, type RedisLink } from './link.ts'
import { carryGroups } from './outcomes.ts'

const OLDEST = 7
/** Most partitions there may be (DECORUM_PARTITIONS). */
const MOST = 1_024

/**
 * In a cluster each master is checked; one that does not answer is left out, as long as another one does.
 * @returns warnings: what works but weakens a promise. @throws LedgerUnfitError naming what is wrong and the way out
 */
export async function checkRedis(redis: RedisLink, deadlineMs: number): Promise<string[]> {
  const asked = mastersOf(redis).map((server) => within(checkServer(server, redis.isCluster), deadlineMs))
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
      `Redis may evict keys (maxmemory-policy ${policy}): set it to noeviction, or URLs and due times will be lost`,
    )
  }
  const warnings: string[] = []
  if (field('aof_enabled') !== '1')
    warnings.push('Redis keeps no append-only file: a crash of Redis loses pending URLs (set appendonly yes)')
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

/** undefined where CONFIG is not allowed, as on managed servers */
async function coverage(redis: Redis): Promise<string | undefined> {
  const answer = await redis.config('GET', 'cluster-require-full-coverage').catch(() => [])
  return (answer as string[])[1]
}

/** The partitions' tags as they are stored; empty lists before a fleet has first started. */
export async function readTags(redis: RedisLink): Promise<{ tags: string[]; retired: string[] }> {
  const lists = [PARTITIONS_KEY, RETIRED_KEY].map((key) => redis.lrange(key, 0, MOST - 1))
  const [tags = [], retired = []] = await Promise.all(lists)
  return { tags, retired }
}

/** The announcement ends after this: by then the Redis may have been used, and emptied. */
const NEW_LIFE_MS = 3_600_000

/**
 * Announces that a Redis has never held a ledger. An empty one may also have been emptied under a fleet, so without this nothing is
 * granted there for lease + quarantine (docs/decisions/0015-an-empty-ledger.md).
 * @param how  'unknown' where no process but those of the caller can know its address and password: nothing is held then
 */
export async function announceNew(redis: RedisLink, how: keyof typeof ANNOUNCED = 'plain'): Promise<void> {
  await redis.set(NEW_KEY, ANNOUNCED[how], 'PX', NEW_LIFE_MS)
}

/** The first of several processes that start together writes the tags, and all read what it wrote. The keys are in one slot. */
const REGISTER = `if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('RPUSH', KEYS[1], unpack(ARGV)) end
redis.call('DEL', KEYS[2])
return redis.call('LRANGE', KEYS[1], 0, -1)`

/**
 * Of a partition that was never called: no lease can be left there, as after an announced restart (epoch.lua), or none after so many
 * ms.
 */
const MARK_NEW = `local t = redis.call('TIME')
if redis.call('EXISTS', KEYS[1]) == 1 then return end
redis.call('HSET', KEYS[1], '${EPOCH.restartAnnounced}', ARGV[2])
if ARGV[1] ~= '0' then redis.call('HSET', KEYS[1], '${EPOCH.holdUntil}', string.format('%.3f', t[1] * 1000 + t[2] / 1000 + ARGV[1])) end`

/**
 * Stores the partitions the first time; afterwards the number must be the same, because it decides where the state of a host lies.
 * @param known  the caller vouches that this Redis is new, as `announceNew` does; or how long nothing may be granted when it is
 *               not known to be new
 * @throws LedgerUnfitError
 */
export async function registerPartitions(
  redis: RedisLink,
  count: number,
  known: { isNew: boolean } | { holdMs: number },
): Promise<string[]> {
  const { tags } = await readTags(redis)
  const there = tags.length > 0 ? tags : await registerFirst(redis, partitionTags(count), known)
  if (there.length === count) return there
  throw new LedgerUnfitError(
    `this Redis holds ${there.length} partition${there.length === 1 ? '' : 's'}, DECORUM_PARTITIONS says ${count}: use ${there.length}, or stop the fleet and change it: 'decorum partitions ${count}'`,
  )
}

/** Frontiers that started before the fleet read the stream of the first partition, which exists under every number. */
async function registerFirst(
  redis: RedisLink,
  wanted: string[],
  known: { isNew: boolean } | { holdMs: number },
): Promise<string[]> {
  const left = await holdLeft(redis, known)
  if (left !== undefined)
    await Promise.all(wanted.map((tag) => redis.eval(MARK_NEW, 1, keysOf(tag).epoch, Math.max(0, left.ms), left.as)))
  const tags = (await redis.eval(REGISTER, 2, PARTITIONS_KEY, NEW_KEY, ...wanted)) as string[]
  await carryGroups(redis, partitionTags(1), tags)
  return tags
}

/** How long a lease of an earlier ledger may still last, ms, and what is announced; undefined: that is not known. */
async function holdLeft(
  redis: RedisLink,
  known: { isNew: boolean } | { holdMs: number },
): Promise<{ ms: number; as: string } | undefined> {
  if ('isNew' in known && known.isNew) return { ms: 0, as: ANNOUNCED.plain }
  const as = await redis.get(NEW_KEY)
  if (as !== null) return { ms: 0, as }
  if (!('holdMs' in known) || redis.isCluster) return undefined
  const emptyMs = emptySinceMs(await redis.info('everything'))
  return emptyMs === undefined ? undefined : { ms: known.holdMs - emptyMs, as: ANNOUNCED.plain }
}

/** Commands that could have removed a ledger since the server was started, by their names in INFO. */
const TAKES_AWAY =
  /^cmdstat_(?:del|unlink|flush\w+|swapdb|rename\w*|move|migrate|restore\w*|replicaof|slaveof|debug\S*|config\|resetstat|cluster\S*):/m

/**
 * A server without a ledger from which nothing was removed since it was started has held none in all that time: the leases of an
 * earlier one have had so long to end.
 * @param info  INFO everything, of a Redis without a ledger
 * @returns     ms; undefined when it may have held one since
 */
export function emptySinceMs(info: string): number | undefined {
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  const hasServed = field('role') === 'master' && /^0*$/.test(field('master_replid2'))
  const uptime = field('uptime_in_seconds')
  if (!hasServed || !/^\d+$/.test(uptime) || !info.includes('# Commandstats') || TAKES_AWAY.test(info)) return undefined
  return Math.max(0, Number(uptime) - 1) * 1_000 // the difference of two instants in whole seconds: up to one too long
}
