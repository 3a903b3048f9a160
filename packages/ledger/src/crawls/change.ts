/** Changes the record of a crawl in all partitions, and forgets crawls that are over. */
import { DEFAULT_CRAWL, type Instant } from '@decorum/protocol'
import { CRAWL, type Keys } from '../layout.ts'
import { change, type Place } from '../record/place.ts'
import { dropCrawl } from '../record-scripts.ts'
import { answersOf, withDeadline } from '../scripts.ts'
import { FORGOTTEN, MOST_FORGOTTEN, readForgotten } from './book.ts'
import type { Places } from './list.ts'
import { type Changing, CrawlError, type CrawlRecord, changed, readRecord, USUAL } from './record.ts'

/**
 * @returns the record, and how many partitions did not answer: each gets it within a second of answering again
 * @throws  CrawlError · LedgerUnavailableError when no partition answers
 */
export function changeCrawl(
  { redis, places, deadline }: Places,
  changing: Changing,
  now: () => Instant,
): Promise<{ record: CrawlRecord; unreached: number }> {
  const { name } = changing
  let goneAt = 0 // the latest forgotten version of this name
  const recordPlaces = places.map(({ keys, verbs }): Place<CrawlRecord> => ({
    async read() {
      const pipeline = redis
        .pipeline()
        .hget(keys.crawl(name), CRAWL.record)
        .zrange(keys.forgotten, ...FORGOTTEN)
      const [text, gone] = await answersOf(pipeline, deadline, 'crawl')
      for (const [of, version] of (gone as string[]).map(readForgotten))
        if (of === name) goneAt = Math.max(goneAt, Number(version))
      return readRecord(text as string | null)
    },
    write: (record, expected) => verbs.crawl(name, record, expected),
  }))
  const edit = (before: CrawlRecord): CrawlRecord => {
    const next = changed(before, changing, now())
    return { ...next, version: Math.max(next.version, goneAt + 1) }
  }
  return change(
    deadline.clock,
    recordPlaces,
    () => USUAL,
    edit,
    () => new CrawlError(`others change the crawl '${name}' at the same time: try again`),
  )
}

/** How long a forgotten version is remembered: a process that was frozen may still have its record. */
const FORGOTTEN_MS = 3_600_000

/**
 * Forgets a crawl that holds no URLs and that no group reads: its record, its counts, and outcomes that were stored for no group. A later
 * candidate that names the crawl makes it anew.
 * @returns  forgotten, or why not: the crawl holds URLs (stored), a group reads it (read), or it is unknown (absent)
 */
export async function forgetCrawl(
  { redis, all, deadline }: Places,
  name: string,
): Promise<'forgotten' | 'stored' | 'read' | 'absent'> {
  if (name === DEFAULT_CRAWL) return 'stored'
  const pipeline = redis.pipeline()
  for (const keys of all) pipeline.hexists(keys.crawls, name)
  const known = await answersOf(pipeline, deadline, 'crawls')
  if (known.every((one) => one === 0)) return 'absent'
  const forgetIn = async (keys: Keys): Promise<'forgotten' | 'stored' | 'read'> => {
    const args = { name, keptMs: FORGOTTEN_MS, most: MOST_FORGOTTEN }
    const answer = dropCrawl.run(redis, [keys.epoch], args)
    return (await withDeadline(answer, deadline, 'crawls')) as 'forgotten' | 'stored' | 'read'
  }
  for (const [at, keys] of all.entries()) {
    const answer = await forgetIn(keys)
    if (answer === 'forgotten') continue
    for (const before of all.slice(0, at)) await remember(before)
    return answer
  }
  return 'forgotten'

  /** Undoes the forgetting: a partition that has forgotten the crawl gets its record again. */
  async function remember({ forgotten }: Keys): Promise<void> {
    const [members] = await answersOf(redis.pipeline().zrange(forgotten, ...FORGOTTEN), deadline, 'crawls')
    const own = (members as string[]).filter((member) => readForgotten(member)[0] === name)
    if (own.length > 0) await answersOf(redis.pipeline().zrem(forgotten, ...own), deadline, 'crawls')
  }
}
