/** Applies the limits of crawls: ends crawls, divides their limits among the partitions, and ends the URLs of ended crawls. */
import { DAY, type Instant, type Outcome, outcomeOf } from '@decorum/protocol'
import { CRAWL, laneName, listsOf, readLaneName } from '../layout.ts'
import { shareLimits } from '../record-scripts.ts'
import { decodeIn } from '../records/pending-text.ts'
import { answersOf, withDeadline } from '../scripts.ts'
import type { CrawlBook } from './book.ts'
import { type CrawlPlace, crawlOf, factsOf, NOTHING, type Places } from './list.ts'
import { type CrawlRecord, endedBy, endingOf } from './record.ts'

/** Number of lanes that one step of `sweepCrawl` reads. */
const LANES_AT_ONCE = 20
const URLS_AT_ONCE = 100

/** Ends crawls whose end has come, and shares limits among the partitions. Once a second is enough. */
export async function limitCrawls(from: Places, book: CrawlBook, now: Instant): Promise<void> {
  const { redis, places, deadline } = from
  const names = [...book.names()].filter((name) => {
    const { expiresAt, limits } = book.recordOf(name)
    return expiresAt !== undefined || limits !== undefined
  })
  if (names.length === 0) return
  const answered = await Promise.all(places.map(({ keys }) => factsOf(from, keys, names)))
  const today = String(Math.floor(now / DAY))
  for (const [at, name] of names.entries()) {
    const facts = answered.map((one) => one[at] ?? NOTHING)
    const { record, bytes } = crawlOf(name, facts)
    const end = endedBy(record, bytes, now)
    if (end !== undefined) {
      await places[0]?.verbs.crawl(name, end, record.version)
      continue
    }
    if (places.length === 1) continue
    const shares = sharesOf(
      record,
      facts.map(({ fields }) => fields),
      today,
    )
    const written = places.map(async ({ keys }, place) => {
      const share = shares[place] ?? []
      if (share.length === 0) return
      const answer = shareLimits.run(redis, [keys.crawl(name)], { version: record.version }, share)
      await withDeadline(answer, deadline, 'crawls')
    })
    await Promise.all(written)
  }
}

/**
 * Divides a limit for all partitions together: each partition gets what it has used plus all that is left.
 * @param partitions  the fields of CRAWL in each partition
 * @param today       as CRAWL.day
 * @returns           for each partition the fields of its shares, with their values; none without such a limit
 */
export function sharesOf(
  { limits = {} }: CrawlRecord,
  partitions: readonly Record<string, string>[],
  today: string,
): (string | number)[][] {
  const stored = partitions.map((of) => Number(of[CRAWL.storedEver] ?? 0) - Number(of[CRAWL.left] ?? 0))
  const ofToday = partitions.map((of) => (of[CRAWL.day] === today ? Number(of[CRAWL.today] ?? 0) : 0))
  const share = (field: string, most: number | undefined, had: number[], at: number): (string | number)[] => {
    const others = had.reduce((sum, one) => sum + one, 0) - (had[at] ?? 0)
    return most === undefined ? [] : [field, Math.max(0, most - others)]
  }
  return partitions.map((_, at) => [
    ...share(CRAWL.stored, limits.stored, stored, at),
    ...share(CRAWL.perDay, limits.pagesPerDay, ofToday, at),
  ])
}

/**
 * Ends some URLs of a crawl that has ended, each with its outcome, in one partition. A URL in flight ends with its request.
 * @returns how many; 0: nothing is left, except what is in flight
 */
export async function sweepCrawl(
  { redis, deadline }: Omit<Places, 'places' | 'all'>,
  { keys, verbs }: CrawlPlace,
  name: string,
  record: CrawlRecord,
  now: Instant,
): Promise<number> {
  const reason = endingOf(record)
  if (reason === undefined) return 0
  const [lanes] = await answersOf(redis.pipeline().srandmember(keys.lanesOf(name), LANES_AT_ONCE), deadline, 'sweep')
  let ended = 0
  for (const lane of lanes as string[]) {
    const { agent, origin } = readLaneName(lane)
    for (const list of listsOf(name)) {
      const key = keys.list(list, laneName(agent, origin))
      const [entries] = await answersOf(redis.pipeline().lrange(key, 0, URLS_AT_ONCE - 1), deadline, 'sweep')
      const urls = (entries as string[]).map((entry): { entry: string; outcome: Outcome } => {
        const { id, path, attempts = 0, crawl, meta } = decodeIn(list, entry)
        const about = { id, url: origin + path, agent, at: Math.floor(now), attempts, crawl, meta }
        return { entry, outcome: outcomeOf(about, { kind: 'refused', reason }) }
      })
      const answers = await verbs.cancel({ agent, origin, list }, urls)
      ended += answers.filter((answer) => answer === 'cancelled').length
    }
  }
  return ended
}
