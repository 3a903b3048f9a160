/** How many of the stored URLs are whose: which crawls are let in while little memory is left (memory.ts). */
import { DEFAULT_CRAWL, type Deadline } from '@decorum/protocol'
import { CRAWL, keysOf } from '../layout.ts'
import { mastersOf, type RedisLink } from '../link.ts'
import type { RedisMemory } from '../memory.ts'
import { crawlsIn } from '../outcomes.ts'
import { answersOf, withDeadline } from '../scripts.ts'

/**
 * What Redis keeps of a host that has been visited (its robots.txt, the exchange that ended last, notes for operators), in bytes: 760 of
 * 20,000 hosts with a short robots.txt, Redis 7.0, 27 November 2026. A URL that waits takes about as much.
 */
const HOST_BYTES = 760

/**
 * The share of maxmemory that will be used when all hosts with stored URLs have been visited. The URLs themselves leave at any time or late:
 * sites may not answer for hours.
 * @throws LedgerUnavailableError when a partition does not answer
 */
export async function shareToCome(
  redis: RedisLink,
  tags: readonly string[],
  { share, most }: RedisMemory,
  deadline: Deadline,
): Promise<number> {
  if (most === 0) return share
  const asked = Promise.all(tags.map((tag) => redis.hlen(keysOf(tag).lanes)))
  const lanes = (await withDeadline(asked, deadline, 'lanes')).reduce((sum, count) => sum + count, 0)
  return share + (lanes * HOST_BYTES) / mastersOf(redis).length / most
}

/** Stored URLs by crawl, of those that have any. */
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
  const ofDefault = all - others.reduce((sum, one) => sum + one, 0) // it is not counted by itself
  return new Map(
    [ofDefault, ...others].flatMap((count, at) =>
      count > 0 ? [[at === 0 ? DEFAULT_CRAWL : (crawls[at - 1] as string), count]] : [],
    ),
  )
}

/** Whether a crawl has more of the stored URLs than each would have if all crawls with URLs had equally many. */
export function isBeyondShare(stored: StoredUrls, crawl: string): boolean {
  const all = [...stored.values()].reduce((sum, one) => sum + one, 0)
  return (stored.get(crawl) ?? 0) * stored.size > all
}
