/** What a lane holds, read past the ledger: `path expiry hops id [meta]`, first to last. */
import { keysOf, LIST, type List, readLaneRecord } from '@decorum/ledger/testing'
import type { Redis } from 'ioredis'

/** @param lane  `agent origin`  @param list  of its URLs of priority normal, or of priority high */
export async function laneUrls(redis: Redis, tag: string, lane: string, list: List = LIST.normal): Promise<string[]> {
  const keys = keysOf(tag)
  const rest = await redis.lrange(keys.list(list, lane), 0, -1)
  if (list === LIST.high) return rest
  const urls = behind((await redis.hget(keys.lanes, lane)) ?? '', rest)
  if (urls.some((url) => url.startsWith(LOST))) throw new Error(`URLs that are never found: ${rest.join(', ')}`)
  return urls
}

const LOST = 'lost '

/**
 * @param record  of the lane
 * @param rest    what stands in its list q; marked when the record does not say that there is more, because it is never found then
 */
export function behind(record: string, rest: string[]): string[] {
  const { first, more } = readLaneRecord(record)
  const found = more ? rest : rest.map((url) => LOST + url)
  return first === '' ? found : [first, ...found]
}
