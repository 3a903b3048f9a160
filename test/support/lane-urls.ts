/** What a lane holds, read past the ledger: `path expiry hops id [meta]`, first to last (lua/common.lua: lanes, q, h). */
import type { Redis } from 'ioredis'

/** @param lane  `agent origin`  @param list  'q', or 'h' for its URLs of priority high */
export async function laneUrls(redis: Redis, tag: string, lane: string, list: 'q' | 'h' = 'q'): Promise<string[]> {
  const rest = await redis.lrange(`${tag}:${list}:${lane}`, 0, -1)
  const record = list === 'q' ? ((await redis.hget(`${tag}:lanes`, lane)) ?? '') : ''
  return record === '' ? rest : behind(record, rest)
}

/**
 * @param record  of the lane: what it remembers, then its first URL
 * @param rest    what stands in its list q: found by somebody only when the record says that there is more
 */
export function behind(record: string, rest: string[]): string[] {
  const head = headIn(record)
  if (head === '') return []
  return isPlus(record) ? [head, ...rest] : [head]
}

const MEMORY = /^(?:\|[^|]*){5}\|/
const isPlus = (record: string): boolean => record.replace(MEMORY, '').startsWith('+')
/** The first URL in a lane's record, '' when there is none. */
export const headIn = (record: string): string => record.replace(MEMORY, '').replace(/^\+/, '')
