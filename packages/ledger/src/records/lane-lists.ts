/** Reads the lists of one lane in pages, for a caller that holds the lane or only reads. */
import { DEFAULT_CRAWL } from '@decorum/protocol'
import { type Keys, LIST, type List, laneName, listsOf, readLaneRecord } from '../layout.ts'
import type { RedisLink } from '../link.ts'
import { valuesOf } from '../scripts.ts'
import type { LaneRef, Pending } from '../types.ts'
import { decodeIn, isSameUrl } from './pending-text.ts'

const firstOf = (record: string | null): string => readLaneRecord(record ?? '').first

/** The lists of a lane that may hold URLs, from all crawls. */
export async function listsIn(redis: RedisLink, keys: Keys, lane: string): Promise<List[]> {
  const others = (await redis.zrange(keys.turns(lane), '0', '-1')).filter((crawl) => crawl !== DEFAULT_CRAWL)
  return [LIST.high, LIST.normal, ...others.flatMap(listsOf)]
}

/** The last entry of each non-empty list, all at one moment: later URLs are behind it. */
export async function lastOf(redis: RedisLink, keys: Keys, lane: LaneRef): Promise<[List, string][]> {
  const name = laneName(lane.agent, lane.origin)
  const lists = await listsIn(redis, keys, name)
  const look = redis.multi().hget(keys.lanes, name)
  for (const list of lists) look.lindex(keys.list(list, name), -1)
  const [record = null, ...ends] = valuesOf(await look.exec(), 'lastOf') as (string | null)[]
  const last = lists.map((list, at): [List, string] => {
    const end = ends[at] ?? ''
    return [list, end === '' && list === LIST.normal ? firstOf(record) : end]
  })
  return last.filter(([, end]) => end !== '')
}

/** Number of entries in one command. */
const PAGE = 500

/**
 * The number of URLs in a list up to an entry, inclusive; 0 when the entry has left. The caller holds the lane, so that no URL leaves
 * meanwhile. Reads page by page, because Redis would search the whole list in one step.
 */
export async function placeOf(redis: RedisLink, keys: Keys, lane: LaneRef, list: List, entry: string): Promise<number> {
  const name = laneName(lane.agent, lane.origin)
  const first = list === LIST.normal ? firstOf(await redis.hget(keys.lanes, name)) : ''
  if (isSameUrl(first, entry)) return 1
  for (let at = 0; ; at += PAGE) {
    const page = await redis.lrange(keys.list(list, name), at, at + PAGE - 1)
    const place = page.findIndex((one) => isSameUrl(one, entry))
    if (place >= 0) return at + place + (first === '' ? 1 : 2)
    if (page.length < PAGE) return 0
  }
}

export async function isEmpty(redis: RedisLink, keys: Keys, lane: LaneRef, list: List): Promise<boolean> {
  const name = laneName(lane.agent, lane.origin)
  if (list === LIST.normal) return firstOf(await redis.hget(keys.lanes, name)) === ''
  return (await redis.llen(keys.list(list, name))) === 0
}

/** The first URLs of a list. */
export async function firstUrlsOf(
  redis: RedisLink,
  keys: Keys,
  lane: LaneRef,
  list: List,
  most: number,
): Promise<Pending[]> {
  const name = laneName(lane.agent, lane.origin)
  const answers = await redis
    .multi()
    .hget(keys.lanes, name)
    .lrange(keys.list(list, name), 0, most - 1)
    .exec()
  const [record, behind] = valuesOf(answers, 'firstUrlsOf') as [string | null, string[]]
  const first = list === LIST.normal ? firstOf(record) : ''
  const entries = [...(first === '' ? [] : [first]), ...behind].slice(0, most)
  return entries.map((entry) => decodeIn(list, entry))
}
