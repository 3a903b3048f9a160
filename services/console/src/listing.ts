/** Which lanes open soonest, as the ledger keeps them (lua/common.lua names the keys). Reads only, bounded. */
import type { LaneRef } from '@decorum/ledger'
import type { Redis } from 'ioredis'

/** Of the lanes listed, at most one in three is in flight: the waiting ones are the question. */
const IN_FLIGHT_SHARE = 3

/**
 * @param redis  a connection of the console's own: a listing must not wait behind a grant
 * @returns lanes in flight whose leases end first, then waiting ones by their due time: O(log lanes + limit)
 */
export async function soonestLanes(redis: Redis, tag: string, limit: number): Promise<LaneRef[]> {
  const [flying, due] = await Promise.all([
    redis.zrange(`${tag}:inflight`, '0', String(Math.floor(limit / IN_FLIGHT_SHARE))),
    redis.zrange(`${tag}:due`, '0', String(limit - 1)),
  ])
  return [...flying, ...due].map((lane) => {
    const blank = lane.indexOf(' ') // an agent's key holds none
    return { agent: lane.slice(0, blank), origin: lane.slice(blank + 1) }
  })
}
