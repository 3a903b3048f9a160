/** Checks once, at start, that this Redis can keep the ledger's promises. Errors and warnings address the person who set it up. */
import type { Deadline } from '@decorum/protocol'
import { within } from '@decorum/protocol/within'
import type { Redis } from 'ioredis'
import { LedgerUnfitError } from './errors.ts'
import { infoField } from './info.ts'
import { mastersOf, type RedisLink } from './link.ts'

/** The oldest supported major version: `redis_version` of INFO, which Valkey has as well. No other place has this number. */
export const OLDEST_REDIS = 7

/**
 * In a cluster each master is checked; a master that does not answer is skipped as long as another one answers.
 * @returns warnings: settings that work but weaken a promise. @throws LedgerUnfitError that says what is wrong and how to repair it
 */
export async function checkRedis(redis: RedisLink, { clock, ms }: Deadline): Promise<string[]> {
  const checks = mastersOf(redis).map((server) => within(clock, checkServer(server, redis.isCluster), ms))
  const answers = await Promise.allSettled(checks)
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
  const field = (name: string): string => infoField(info, name)
  const version = field('redis_version')
  if (Number.parseInt(version, 10) < OLDEST_REDIS) {
    throw new LedgerUnfitError(`Redis ${version} is too old: ${OLDEST_REDIS}.0 or newer is needed`)
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

/** @param info  the reply of INFO */
const isNode = (info: string): boolean => info.includes('cluster_enabled:1')
const ONE_NODE =
  'this Redis is a node of a cluster: write ?cluster behind REDIS_URL, or name several of its nodes, separated by commas'

/** @throws LedgerUnfitError when the connection was made for a single server, and this server is a node of a cluster */
export async function checkOneServer(redis: RedisLink): Promise<void> {
  if (!redis.isCluster && isNode(await redis.info('cluster'))) throw new LedgerUnfitError(ONE_NODE)
}

/** @returns `cluster-require-full-coverage`; undefined where CONFIG is not allowed, as on managed servers */
async function coverage(redis: Redis): Promise<string | undefined> {
  const answer = await redis.config('GET', 'cluster-require-full-coverage').catch(() => [])
  return (answer as string[])[1]
}

/** Commands that could have removed a ledger since the server started, by their names in INFO. */
const TAKES_AWAY =
  /^cmdstat_(?:del|unlink|flush\w+|swapdb|rename\w*|move|migrate|restore\w*|replicaof|slaveof|debug\S*|config\|resetstat|cluster\S*):/m

/**
 * How long a server without a ledger has certainly held none: its uptime, if nothing was removed since it started. Leases of an earlier
 * ledger have had that long to end.
 * @param info  the reply of `INFO everything`, of a Redis without a ledger
 * @returns     ms; undefined when the server may have held a ledger since it started
 */
export function emptySinceMs(info: string): number | undefined {
  const field = (name: string): string => infoField(info, name)
  const hasServed = field('role') === 'master' && /^0*$/.test(field('master_replid2'))
  const uptime = field('uptime_in_seconds')
  if (!hasServed || !/^\d+$/.test(uptime) || !info.includes('# Commandstats') || TAKES_AWAY.test(info)) return undefined
  return Math.max(0, Number(uptime) - 1) * 1_000 // uptime is in whole seconds, so it may be 1 s too long
}
