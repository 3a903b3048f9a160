/** Connects to a Redis for one piece of work. */

import { linkTo, type RedisLink, reachRedis } from '@decorum/ledger'
import { systemClock } from '@decorum/protocol'
import { runningRedis } from './running-redis.ts'

const CALL_MS = 5_000

/**
 * @param url  default: the Redis of the running fleet
 * @throws LedgerUnavailableError with the reason why Redis does not answer · LedgerUnfitError when it cannot be used · errors of `work`
 */
export async function withRedis<T>(work: (redis: RedisLink) => Promise<T>, url?: string): Promise<T> {
  const redis = linkTo(url ?? (await runningRedis()), { away: 'fail', lazyConnect: true })
  try {
    await reachRedis(redis, { deadline: { clock: systemClock, ms: CALL_MS }, isOwn: true }, async () => undefined)
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}
