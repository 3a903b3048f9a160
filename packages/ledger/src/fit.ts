/** Is this Redis fit to keep the promises? Asked once, at start; the answer is for the person who set it up. */
import { partitionTags } from '@decorum/protocol'
import type { Redis } from 'ioredis'
import { LedgerUnfitError } from './errors.ts'
import { PARTITIONS_KEY } from './keys.ts'

const OLDEST = 7

/** @returns warnings: what works but weakens a promise. @throws LedgerUnfitError naming what is wrong and the way out */
export async function checkRedis(redis: Redis): Promise<string[]> {
  const info = await redis.info()
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
  const version = field('redis_version')
  if (Number.parseInt(version, 10) < OLDEST) {
    throw new LedgerUnfitError(`Redis ${version} is too old: ${OLDEST}.0 or newer is needed`)
  }
  const policy = field('maxmemory_policy')
  if (policy !== 'noeviction') {
    throw new LedgerUnfitError(
      `Redis may evict keys (maxmemory-policy ${policy}): set it to noeviction, or URLs and clocks will be lost`,
    )
  }
  return field('aof_enabled') === '1'
    ? []
    : ['Redis keeps no append-only file: a crash of Redis loses what is parked (set appendonly yes)']
}

/**
 * Writes down the partitions the first time; afterwards the number must be the same, since every host's state lives
 * where the number says. @throws LedgerUnfitError
 */
export async function registerPartitions(redis: Redis, count: number): Promise<string[]> {
  const tags = partitionTags(count)
  for (;;) {
    const there = await redis.lrange(PARTITIONS_KEY, 0, -1)
    if (there.length > 0) {
      if (there.length === count && there.every((tag, index) => tag === tags[index])) return there
      throw new LedgerUnfitError(
        `this Redis holds ${there.length} partition${there.length === 1 ? '' : 's'}, DECORUM_PARTITIONS says ${count}: use ${there.length}, or an empty Redis`,
      )
    }
    // the first of several that start together writes; the others read what it wrote
    await redis.watch(PARTITIONS_KEY)
    if ((await redis.exists(PARTITIONS_KEY)) === 1) await redis.unwatch()
    else
      await redis
        .multi()
        .rpush(PARTITIONS_KEY, ...tags)
        .exec()
  }
}
