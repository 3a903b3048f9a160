/** Counts URLs of a registrable domain in all partitions: its hosts may live in several, and a limit per domain holds for all of them. */
import { DEFAULT_CRAWL, type Deadline } from '@decorum/protocol'
import type { Keys } from '../layout.ts'
import type { RedisLink } from '../link.ts'
import { answersOf } from '../scripts.ts'
import type { StoreItem } from '../types.ts'
import { type Elsewhere, limitedDomain } from '../verbs/store.ts'
import type { CrawlBook } from './book.ts'

/**
 * Counts the URLs that other partitions have taken in from the domains of these items, where their crawl limits domains.
 * @param others  all other partitions, including retired ones
 * @returns       undefined: no item has such a limit
 * @throws        LedgerUnavailableError while a partition does not answer: how much room is left is then unknown
 */
export async function takenElsewhere(
  { redis, others, deadline }: { redis: RedisLink; others: readonly Keys[]; deadline: Deadline },
  book: CrawlBook,
  items: readonly StoreItem[],
): Promise<Elsewhere | undefined> {
  if (others.length === 0) return undefined
  const wanted = new Map<string, Set<string>>()
  for (const item of items) {
    if (!('pending' in item)) continue
    const { crawl = DEFAULT_CRAWL } = item.pending
    if (book.recordOf(crawl).limits?.pagesPerDomain === undefined) continue
    wanted.set(crawl, (wanted.get(crawl) ?? new Set()).add(limitedDomain(item.lane.origin)))
  }
  if (wanted.size === 0) return undefined
  const asked = [...wanted].map(([crawl, domains]) => ({ crawl, domains: [...domains] }))
  const counted = await Promise.all(
    others.map((keys) => {
      const pipeline = redis.pipeline()
      for (const { crawl, domains } of asked) pipeline.hmget(keys.hostsOf(crawl), ...domains.map((one) => `@${one}`))
      return answersOf(pipeline, deadline, 'store') as Promise<(string | null)[][]>
    }),
  )
  const taken = new Map<string, number>()
  for (const [at, { crawl, domains }] of asked.entries())
    for (const [n, domain] of domains.entries())
      taken.set(
        `${crawl} ${domain}`,
        counted.reduce((sum, counts) => sum + Number(counts[at]?.[n] ?? 0), 0),
      )
  return (crawl, domain) => taken.get(`${crawl} ${domain}`) ?? 0
}
