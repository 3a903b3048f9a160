/** URLs of a registrable domain in all partitions: its hosts may live in several, and a limit per domain is one of all of them. */
import { DEFAULT_CRAWL, type Deadline } from '@decorum/protocol'
import type { Keys } from '../layout.ts'
import type { RedisLink } from '../link.ts'
import { answersOf } from '../scripts.ts'
import type { StoreItem } from '../types.ts'
import { type Elsewhere, limitedDomain } from '../verbs/store.ts'
import type { CrawlBook } from './book.ts'

/**
 * What the other partitions have taken in of the domains of these items, where their crawl has a limit for it.
 * @param others  of all other partitions, those that are no longer used as well
 * @returns       undefined: none of the items has such a limit
 * @throws        LedgerUnavailableError while one of them does not answer: it is unknown then how much room is left
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
