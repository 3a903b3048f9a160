/** What stands in the lists of one lane (lua/common.lua), for who holds it or only looks: by entry, in order. */
import { decodeEntry } from './entry.ts'
import { type Keys, laneName } from './keys.ts'
import type { RedisLink } from './link.ts'
import type { LaneRef, Parked } from './types.ts'

/** q: normal priority, its first URL in the lane's record; h: high */
export type List = 'q' | 'h'

/** A lane's record: `|tries|list|clock|why|high|`, then its first URL behind '+' when there may be more; each may be ''. */
export function partsOf(record: string): { memory: string; first: string } {
  const memory = /^(?:\|[^|]*){5}\|/.exec(record)?.[0] ?? ''
  return { memory, first: record.slice(memory.length) }
}

const firstOf = (record: string | null): string => partsOf(record ?? '').first.replace(/^\+/, '')

/** The last entry of each list that has one, of one moment: what comes later stands behind it. */
export async function lastOf(redis: RedisLink, keys: Keys, lane: LaneRef): Promise<[List, string][]> {
  const name = laneName(lane.agent, lane.origin)
  const answers = await redis
    .multi()
    .hget(keys.lanes, name)
    .lindex(keys.list('q', name), -1)
    .lindex(keys.list('h', name), -1)
    .exec()
  const [record = null, normal = null, high = null] = (answers ?? []).map(([, value]) => value as string | null)
  const last: [List, string | null][] = [
    ['h', high],
    ['q', normal ?? firstOf(record)],
  ]
  return last.filter((one): one is [List, string] => Boolean(one[1]))
}

/** How many URLs stand in a list up to an entry, that one counted; 0 when it has left. */
export async function placeOf(redis: RedisLink, keys: Keys, lane: LaneRef, list: List, entry: string): Promise<number> {
  const name = laneName(lane.agent, lane.origin)
  const answers = await redis.multi().hget(keys.lanes, name).lpos(keys.list(list, name), entry).exec()
  const [record = null, place = null] = (answers ?? []).map(([, value]) => value as string | number | null)
  const first = list === 'q' ? firstOf(record as string | null) : ''
  if (first === entry) return 1
  return place === null ? 0 : Number(place) + (first === '' ? 1 : 2)
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
  const first = list === 'q' ? firstOf(record as string | null) : ''
  const entries = [...(first === '' ? [] : [first]), ...((behind ?? []) as string[])].slice(0, most)
  return entries.map((entry) => decodeEntry(entry, list === 'h' ? 'high' : 'normal'))
}
