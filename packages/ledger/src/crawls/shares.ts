/** The share of each crawl in the stored URLs: decides which crawls may store URLs while little memory is left (memory.ts). */
import { DEFAULT_CRAWL, type Deadline } from '@decorum/protocol'
import { CRAWL, keysOf } from '../layout.ts'
import { mastersOf, type RedisLink } from '../link.ts'
import type { RedisMemory } from '../memory.ts'
import { crawlsIn } from '../outcomes.ts'
import { answersOf, withDeadline } from '../scripts.ts'

/**
 * The memory that Redis uses for a host that has been visited (its robots.txt, its last exchange, notes for operators), in bytes: 760,
 * measured with 20,000 hosts that have a short robots.txt, Redis 7.0, 27 November 2026. A waiting URL uses about as much.
 */
const HOST_BYTES = 760

/**
 * The share of maxmemory that will be used when all hosts with stored URLs have been visited. The URLs themselves are not subtracted: they
 * may stay for hours when sites do not answer.
 * @throws LedgerUnavailableError when a partition does not answer
 */
export async function shareToCome(
  redis: RedisLink,
  tags: readonly string[],
  { share, most }: RedisMemory,
  deadline: Deadline,
): Promise<number> {
  if (most === 0) return share
  const counts = Promise.all(tags.map((tag) => redis.hlen(keysOf(tag).lanes)))
  const lanes = (await withDeadline(counts, deadline, 'lanes')).reduce((sum, count) => sum + count, 0)
  return share + (lanes * HOST_BYTES) / mastersOf(redis).length / most
}

/** Number of stored URLs by crawl, for crawls that have any. */
export type StoredUrls = ReadonlyMap<string, number>

/** @throws LedgerUnavailableError when a partition does not answer */
export async function storedUrls(redis: RedisLink, tags: readonly string[], deadline: Deadline): Promise<StoredUrls> {
  const crawls = await withDeadline(crawlsIn(redis, tags), deadline, 'crawls')
  const each = await Promise.all(
    tags.map(async (tag) => {
      const keys = keysOf(tag)
      const pipeline = redis.pipeline().hmget(keys.counts, 'parked', 'left')
      for (const crawl of crawls) pipeline.hmget(keys.crawl(crawl), CRAWL.storedEver, CRAWL.left)
      const answers = (await answersOf(pipeline, deadline, 'crawls')) as (string | null)[][]
      return answers.map(([stored, left]) => Number(stored ?? 0) - Number(left ?? 0))
    }),
  )
  const [all = 0, ...others] = [DEFAULT_CRAWL, ...crawls].map((_, at) =>
    each.reduce((sum, one) => sum + (one[at] ?? 0), 0),
  )
  const ofDefault = all - others.reduce((sum, one) => sum + one, 0) // the default crawl has no count of its own
  return new Map(
    [ofDefault, ...others].flatMap((count, at) =>
      count > 0 ? [[at === 0 ? DEFAULT_CRAWL : (crawls[at - 1] as string), count]] : [],
    ),
  )
}

/** Whether a crawl has more stored URLs than an equal share among all crawls with URLs. */
export function isBeyondShare(stored: StoredUrls, crawl: string): boolean {
  const all = [...stored.values()].reduce((sum, one) => sum + one, 0)
  return (stored.get(crawl) ?? 0) * stored.size > all
}
