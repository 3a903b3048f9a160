/** What a lane holds, read past the ledger: `path expiry hops id [meta]`, first to last (lua/common.lua: heads, q, h). */
import type { Redis } from 'ioredis'

/** @param lane  `agent origin`  @param list  'q', or 'h' for its URLs of priority high */
export async function laneUrls(redis: Redis, tag: string, lane: string, list: 'q' | 'h' = 'q'): Promise<string[]> {
  const rest = await redis.lrange(`${tag}:${list}:${lane}`, 0, -1)
  const head = list === 'q' ? await redis.hget(`${tag}:heads`, lane) : null
  if (head === null) return rest
  if (!head.startsWith('+') && rest.length > 0) throw new Error(`${lane}: URLs that nobody would find`)
  return [head.replace(/^\+/, ''), ...rest]
}
