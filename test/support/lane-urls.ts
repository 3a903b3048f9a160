/** What a lane holds, read past the ledger: `path expiry hops id [meta]`, first to last (lua/common.lua: lanes, q, h). */
import type { Redis } from 'ioredis'

/** @param lane  `agent origin`  @param list  'q', or 'h' for its URLs of priority high */
export async function laneUrls(redis: Redis, tag: string, lane: string, list: 'q' | 'h' = 'q'): Promise<string[]> {
  const rest = await redis.lrange(`${tag}:${list}:${lane}`, 0, -1)
  const record = list === 'q' ? ((await redis.hget(`${tag}:lanes`, lane)) ?? '') : ''
  if (list === 'h') return rest
  const urls = behind(record, rest)
  if (urls.some((url) => url.startsWith(LOST))) throw new Error(`URLs that nobody would find: ${rest.join(', ')}`)
  return urls
}

/**
 * @param record  of the lane: what it remembers, then its first URL
 * @param rest    what stands in its list q; marked when the record does not say that there is more: nobody would find it
 */
export function behind(record: string, rest: string[]): string[] {
  const head = headIn(record)
  const found = saysMore(record) ? rest : rest.map((url) => LOST + url)
  return head === '' ? found : [head, ...found]
}

const LOST = 'lost '
const MEMORY = /^(?:\|[^|]*){5}\|/
/** More URLs may stand in the list q. */
export const saysMore = (record: string): boolean => record.replace(MEMORY, '').startsWith('+')
/** The first URL in a lane's record, '' when there is none. */
export const headIn = (record: string): string => record.replace(MEMORY, '').replace(/^\+/, '')
