/** Connects to the Redis at an address for one piece of work. */

import { linkTo, type RedisLink, reachRedis } from '@decorum/ledger'
import { systemClock } from '@decorum/protocol'

const CALL_MS = 5_000

/** @throws LedgerUnavailableError with the reason why there is none · LedgerUnfitError when it cannot be used · errors of `work` */
export async function withRedis<T>(url: string, work: (redis: RedisLink) => Promise<T>): Promise<T> {
  const redis = linkTo(url, { away: 'fail', lazyConnect: true })
  try {
    await reachRedis(redis, { deadline: { clock: systemClock, ms: CALL_MS }, isOwn: true }, async () => undefined)
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}
