/**
 * Lists the addresses of the fleet's fetchers: those that have announced in Redis that they serve what they keep. The fleet's token
 * is sent only to them, because anybody can write a reference.
 */

import { contentKey, type RedisLink } from '@decorum/ledger'
import type { Clock } from '@decorum/protocol/time'
import { within } from '@decorum/protocol/within'

const CALL_MS = 5_000

/** @returns a check that throws while Redis is unavailable. An address that was once a fetcher's is not looked up again. */
export function fetchersOf(redis: RedisLink, clock: Clock): (base: string) => Promise<boolean> {
  const known = new Set<string>()
  const asking = new Map<string, Promise<boolean>>()
  const ask = async (base: string): Promise<boolean> =>
    (await within(clock, redis.exists(contentKey(base)), CALL_MS)) === 1
  return async (base) => {
    if (known.has(base)) return true
    const answer = asking.get(base) ?? ask(base)
    asking.set(base, answer)
    try {
      if (await answer) known.add(base)
      return await answer
    } finally {
      asking.delete(base)
    }
  }
}
