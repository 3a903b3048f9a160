/** What a crawl's record bounds: its end, its limits as shares of the partitions, and its URLs once it is over. */
import { DAY, type Instant, type Outcome, outcomeOf } from '@decorum/protocol'
import { CRAWL, laneName, listsOf, readLaneName } from '../layout.ts'
import { shareLimits } from '../record-scripts.ts'
import { decodeIn } from '../records/pending-text.ts'
import { answersOf, withDeadline } from '../scripts.ts'
import type { CrawlBook } from './book.ts'
import { type CrawlPlace, crawlOf, type Facts, factsOf, NOTHING, type Places } from './list.ts'
import { type CrawlRecord, endedBy, endingOf } from './record.ts'

/** Of one step of `sweepCrawl`. */
const LANES_AT_ONCE = 20
const URLS_AT_ONCE = 100

/** Ends crawls whose end has come, and shares limits among the partitions. Once a second is enough. */
export async function limitCrawls(from: Places, book: CrawlBook, now: Instant): Promise<void> {
  const { redis, places, callDeadlineMs } = from
  const names = [...book.names()].filter((name) => {
    const { expiresAt, limits } = book.recordOf(name)
    return expiresAt !== undefined || limits !== undefined
  })
  if (names.length === 0) return
  const answered = await Promise.all(places.map(({ keys }) => factsOf(from, keys, names)))
  const today = String(Math.floor(now / DAY))
  for (const [at, name] of names.entries()) {
    const facts = answered.map((one) => one[at] ?? NOTHING)
    const { record, bytes, waiting } = crawlOf(name, facts)
    const end = endedBy(record, bytes, now)
    if (end !== undefined) {
      await places[0]?.verbs.crawl(name, end, record.version)
      continue
    }
    const { stored, pagesPerDay } = record.limits ?? {}
    if (places.length === 1 || (stored === undefined && pagesPerDay === undefined)) continue
    const takenIn = ({ fields }: Facts): number => (fields[CRAWL.day] === today ? Number(fields[CRAWL.today] ?? 0) : 0)
    const inAll = facts.reduce((sum, one) => sum + takenIn(one), 0)
    const shares = places.map(({ keys }, place) => {
      const one = facts[place] ?? NOTHING
      const here = Number(one.fields[CRAWL.storedEver] ?? 0) - Number(one.fields[CRAWL.left] ?? 0)
      const share = [
        ...(stored === undefined ? [] : [CRAWL.stored, Math.max(0, stored - waiting + here)]),
        ...(pagesPerDay === undefined ? [] : [CRAWL.perDay, Math.max(0, pagesPerDay - inAll + takenIn(one))]),
      ]
      const written = shareLimits.run(redis, [keys.crawl(name)], { version: record.version }, share)
      return withDeadline(written, callDeadlineMs, 'crawls')
    })
    await Promise.all(shares)
  }
}

/**
 * Ends some URLs of a crawl that is over, each with its outcome, in one partition. What is in flight ends with its request.
 * @returns how many; 0: nothing is left, but for what is in flight
 */
export async function sweepCrawl(
  { redis, callDeadlineMs }: Omit<Places, 'places' | 'all'>,
  { keys, verbs }: CrawlPlace,
  name: string,
  record: CrawlRecord,
  now: Instant,
): Promise<number> {
  const reason = endingOf(record)
  if (reason === undefined) return 0
  const [lanes] = await answersOf(
    redis.pipeline().srandmember(keys.lanesOf(name), LANES_AT_ONCE),
    callDeadlineMs,
    'sweep',
  )
  let ended = 0
  for (const lane of lanes as string[]) {
    const { agent, origin } = readLaneName(lane)
    for (const list of listsOf(name)) {
      const key = keys.list(list, laneName(agent, origin))
      const [entries] = await answersOf(redis.pipeline().lrange(key, 0, URLS_AT_ONCE - 1), callDeadlineMs, 'sweep')
      const urls = (entries as string[]).map((entry): { entry: string; outcome: Outcome } => {
        const { id, path, crawl, meta } = decodeIn(list, entry)
        const about = { id, url: origin + path, agent, at: Math.floor(now), attempts: 0, crawl, meta }
        return { entry, outcome: outcomeOf(about, { kind: 'refused', reason }) }
      })
      const answers = await verbs.cancel({ agent, origin, list }, urls)
      ended += answers.filter((answer) => answer === 'cancelled').length
    }
  }
  return ended
}
