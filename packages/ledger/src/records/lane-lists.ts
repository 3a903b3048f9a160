/** The lists of one lane, read in pages by a caller that holds the lane or only looks. */
import { type Keys, LIST, type List, laneName, readLaneRecord } from '../layout.ts'
import type { RedisLink } from '../link.ts'
import type { LaneRef, Parked } from '../types.ts'
import { decodeEntry } from './entry.ts'

const firstOf = (record: string | null): string => readLaneRecord(record ?? '').first

/** The last entry of each list that has one, all at one moment: URLs that come later stand behind it. */
export async function lastOf(redis: RedisLink, keys: Keys, lane: LaneRef): Promise<[List, string][]> {
  const name = laneName(lane.agent, lane.origin)
  const answers = await redis
    .multi()
    .hget(keys.lanes, name)
    .lindex(keys.list(LIST.normal, name), -1)
    .lindex(keys.list(LIST.high, name), -1)
    .exec()
  const [record = null, normal = null, high = null] = (answers ?? []).map(([, value]) => value as string | null)
  const last: [List, string | null][] = [
    [LIST.high, high],
    [LIST.normal, normal ?? firstOf(record)],
  ]
  return last.filter((one): one is [List, string] => Boolean(one[1]))
}

/** Entries of one command. */
const PAGE = 500

/**
 * How many URLs stand in a list up to an entry, that one counted; 0 when it has left. The caller holds the lane, so that nothing
 * leaves meanwhile. It reads page by page, because Redis would search all of a list in one step.
 */
export async function placeOf(redis: RedisLink, keys: Keys, lane: LaneRef, list: List, entry: string): Promise<number> {
  const name = laneName(lane.agent, lane.origin)
  const first = list === LIST.normal ? firstOf(await redis.hget(keys.lanes, name)) : ''
  if (first === entry) return 1
  for (let at = 0; ; at += PAGE) {
    const page = await redis.lrange(keys.list(list, name), at, at + PAGE - 1)
    const place = page.indexOf(entry)
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
export async function headsOf(
  redis: RedisLink,
  keys: Keys,
  lane: LaneRef,
  list: List,
  most: number,
): Promise<Parked[]> {
  const name = laneName(lane.agent, lane.origin)
  const answers = await redis
    .multi()
    .hget(keys.lanes, name)
    .lrange(keys.list(list, name), 0, most - 1)
    .exec()
  const [record = null, behind = []] = (answers ?? []).map(([, value]) => value as string | string[] | null)
  const first = list === LIST.normal ? firstOf(record as string | null) : ''
  const entries = [...(first === '' ? [] : [first]), ...((behind ?? []) as string[])].slice(0, most)
  return entries.map((entry) => decodeEntry(entry, list === LIST.high ? 'high' : 'normal'))
}
