/** The calls about crawls in all partitions, their outcomes, and the groups that read these. */
import { outcomesKey } from '@decorum/protocol'
import type { CrawlBook } from '../crawls/book.ts'
import { changeCrawl, forgetCrawl } from '../crawls/change.ts'
import { limitCrawls, sweepCrawl } from '../crawls/limits.ts'
import { type Crawl, listCrawls } from '../crawls/list.ts'
import { type Changing, type CrawlRecord, endingOf } from '../crawls/record.ts'
import { crawlsIn, oldestOutcome, trimOutcomes } from '../outcomes.ts'
import { type Forgetting, type Forgotten, forgetReader, type Reader, readersOf } from '../readers.ts'
import { readTags } from '../record/tags.ts'
import { thatAnswer } from '../that-answer.ts'
import type { Partitions } from './partitions.ts'

/** Number of crawls, beside the default one, whose outcomes one call trims. */
const TRIMMED_AT_ONCE = 50

/** The same partitions, in the form that the files of crawls/ use. */
export const crawlPlaces = ({ redis, active, all, deadline }: Partitions) => ({
  redis,
  places: active,
  all: all.map(({ keys }) => keys),
  deadline,
})

export function crawlCalls(partitions: Partitions, book: CrawlBook) {
  const { redis, tags, retired, of, timed, wall } = partitions
  const places = crawlPlaces(partitions)
  const trimmedTo = new Map<number, number>()
  return {
    /** The crawls with their counts, the default one first, from the partitions that answer. */
    crawls: (names?: readonly string[]): Promise<Crawl[]> => listCrawls(places, names),
    /**
     * Sets weight, pause, end, limits or settings of a crawl, or cancels it.
     * @returns the record, and how many partitions did not answer: each gets it when it answers again
     * @throws  CrawlError when the change is not possible: nothing was changed
     */
    changeCrawl: (changing: Changing): Promise<{ record: CrawlRecord; unreached: number }> =>
      changeCrawl(places, changing, wall),
    /** Forgets a crawl that holds no URLs and that no group reads. */
    forgetCrawl: (name: string) => forgetCrawl(places, name),
    /** Ends crawls whose end has come, and shares limits among the partitions. */
    limitCrawls: (): Promise<void> => limitCrawls(places, book, wall()),
    /** Ends some URLs of the crawls that have ended. @returns how many */
    async sweepCrawls(partition: number): Promise<number> {
      let ended = 0
      for (const name of book.names()) {
        const record = book.recordOf(name)
        if (endingOf(record) !== undefined)
          ended += await sweepCrawl(places, of(partition), name, record, wall(partition))
      }
      return ended
    },
    /** Trims the outcomes of the default crawl, and of some others in turn, so that all are trimmed in time. */
    async trimOutcomes(partition: number): Promise<void> {
      const { keys } = of(partition)
      await timed(trimOutcomes(redis, keys), 'trimOutcomes')
      const crawls = (await timed(crawlsIn(redis, [keys.tag]), 'trimOutcomes')).sort()
      const from = trimmedTo.get(partition) ?? 0
      for (const crawl of crawls.slice(from, from + TRIMMED_AT_ONCE))
        await timed(trimOutcomes(redis, keys, crawl), 'trimOutcomes')
      trimmedTo.set(partition, from + TRIMMED_AT_ONCE < crawls.length ? from + TRIMMED_AT_ONCE : 0)
    },
    /** Instant of the oldest outcome that some reader may still need, ms; undefined: there is none. Throws unless all partitions answer. */
    async oldestOutcome(): Promise<number | undefined> {
      const { tags, retired } = await timed(readTags(redis), 'oldestOutcome')
      return timed(oldestOutcome(redis, [...tags, ...retired]), 'oldestOutcome')
    },
    /** Number of outcomes of a crawl in each partition that answers; at OUTCOMES_LIMIT dispatch pauses. */
    unread: (crawl: string): Promise<number[]> =>
      thatAnswer(tags.map((tag) => timed(redis.xlen(outcomesKey(tag, crawl)), 'unread'))),
    /** The groups that read a crawl's outcomes, those with most to read first, from the partitions that answer. */
    readers: (crawl: string): Promise<Reader[]> => timed(readersOf(redis, [...tags, ...retired], crawl), 'readers'),
    /** Forgets a group and records that. Throws when a partition does not answer; repeating the call is safe. */
    forgetReader: (forgetting: Forgetting): Promise<Forgotten> =>
      timed(forgetReader(redis, [...tags, ...retired], forgetting), 'forgetReader'),
  }
}
