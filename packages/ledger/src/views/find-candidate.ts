/**
 * Finds a candidate: in a lane, in a job that no gateway has taken in yet, or among the latest outcomes. The ledger has no index from an id
 * to its lane, so the places where a URL would be are searched; each search is bounded, and reports when it was cut short.
 */

import { DEFAULT_CRAWL, type Outcome, outcomesKey, readOutcome } from '@decorum/protocol'
import type { LaneRef, RedisLink } from '../index.ts'
import { decodeIn, KEY, type Keys, LIST, type List, laneName, listsOf, readLaneRecord } from '../stored.ts'
import type { PendingUrl, WantedCandidate } from './types.ts'

/** Number of URLs or outcomes read by one command. */
const PAGE = 1_000
/** Number of URLs of a lane that are searched: about a millisecond of Redis. */
export const SEARCHED_URLS = 20_000
/** Number of outcomes that are searched, the latest ones. */
export const SEARCHED_OUTCOMES = 5_000
/** Number of waiting jobs that are searched, and likewise of active ones. */
const SEARCHED_JOBS = 5

const isWanted = ({ path, id }: WantedCandidate, found: { path: string; id: string }): boolean =>
  (path === undefined || found.path === path) && (id === undefined || found.id === id)

export type FoundPending = {
  found: PendingUrl[]
  /** false: the lane has more URLs than were searched */
  complete: boolean
}

/**
 * The wanted URLs of a lane, in one crawl, in the order in which they will be fetched; `place` does not count other crawls' URLs.
 * @param most  number of URLs that are searched
 */
export async function findPending(
  redis: RedisLink,
  keys: Keys,
  lane: LaneRef,
  wanted: WantedCandidate,
  most = SEARCHED_URLS,
): Promise<FoundPending> {
  const name = laneName(lane.agent, lane.origin)
  const found: PendingUrl[] = []
  /** Collects an entry if it is wanted. An entry begins with its path, so few entries must be parsed. */
  const match = (entry: string, list: List, place: number): void => {
    if (wanted.path !== undefined && !entry.startsWith(`${wanted.path} `)) return
    const pending = decodeIn(list, entry)
    if (isWanted(wanted, pending)) found.push({ ...lane, list, entry, place, pending })
  }
  let searched = 0
  let place = 0
  const page = async (list: List): Promise<boolean> => {
    for (let at = 0; ; at += PAGE) {
      if (searched >= most) return false
      const entries = await redis.lrange(keys.list(list, name), at, at + PAGE - 1)
      for (const entry of entries) match(entry, list, place++)
      searched += entries.length
      if (entries.length < PAGE) return true
    }
  }
  const { crawl = DEFAULT_CRAWL } = wanted
  const [high, normal] = listsOf(crawl)
  const isWhole = await page(high)
  if (crawl !== DEFAULT_CRAWL) {
    if (!isWhole) place = await redis.llen(keys.list(high, name))
    return { complete: (await page(normal)) && isWhole, found }
  }
  const { first, more } = readLaneRecord((await redis.hget(keys.lanes, name)) ?? '')
  if (!isWhole) place = await redis.llen(keys.list(LIST.high, name))
  if (first !== '') match(first, LIST.normal, place++)
  const complete = first === '' || !more ? isWhole : (await page(LIST.normal)) && isWhole
  return { found, complete }
}

/** Whether a waiting or active job of candidates holds the wanted one; searches the oldest jobs. `complete`: no other jobs exist. */
export async function findInJobs(
  redis: RedisLink,
  { tag }: Keys,
  { crawl = DEFAULT_CRAWL, ...wanted }: { id?: string; url?: string; crawl?: string },
): Promise<{ found: boolean; complete: boolean }> {
  const key = (name: string): string => `${tag}:${KEY.candidateJob}${name}`
  const [active, waits] = await Promise.all([
    redis.lrange(key('active'), 0, SEARCHED_JOBS - 1),
    redis.lrange(key('wait'), -SEARCHED_JOBS, -1),
  ])
  const data = await Promise.all([...active, ...waits].map((job) => redis.hget(key(job), 'data')))
  const found = data.some((text) => {
    const holds = (part: string | undefined): boolean =>
      part === undefined || text?.includes(JSON.stringify(part)) === true
    const isOfCrawl = crawl === DEFAULT_CRAWL || text?.includes(`"crawl":${JSON.stringify(crawl)}`) === true
    return text !== null && holds(wanted.id) && holds(wanted.url) && isOfCrawl
  })
  return { found, complete: active.length < SEARCHED_JOBS && waits.length < SEARCHED_JOBS }
}

/** The outcome of the candidate, if it is among the latest of the crawl in this partition. */
export async function findOutcome(
  redis: RedisLink,
  { tag }: Keys,
  crawl: string,
  wanted: { id?: string; url?: string },
): Promise<Outcome | undefined> {
  let to = '+'
  for (let searched = 0; searched < SEARCHED_OUTCOMES; searched += PAGE) {
    const rows = await redis.xrevrange(outcomesKey(tag, crawl), to, '-', 'COUNT', PAGE)
    for (const [, fields] of rows) {
      const text = fields[1] ?? ''
      const isLikely = (part: string | undefined): boolean => part === undefined || text.includes(JSON.stringify(part))
      if (!isLikely(wanted.id) || !isLikely(wanted.url)) continue
      const outcome = readOutcome(text)
      if (outcome === undefined) continue
      if ((wanted.id ?? outcome.id) === outcome.id && (wanted.url ?? outcome.url) === outcome.url) return outcome
    }
    if (rows.length < PAGE) return undefined
    to = `(${rows.at(-1)?.[0]}`
  }
  return undefined
}
