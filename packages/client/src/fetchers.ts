/**
 * Checks whether an address is that of a fetcher of the fleet: these announce in Redis that they serve what they keep. The fleet's
 * token is sent only to them, because anybody can write a reference.
 */

import { contentKey, type RedisLink } from '@decorum/ledger'
import type { Clock } from '@decorum/protocol/time'
import { within } from '@decorum/protocol/within'
import { CALL_MS } from './errors.ts'

/** @returns a check that throws while Redis is unavailable. An address once found to be a fetcher's is not looked up again. */
export function fetchersOf(redis: RedisLink, clock: Clock): (base: string) => Promise<boolean> {
  const answers = new Map<string, Promise<boolean>>()
  return (base) => {
    const known = answers.get(base)
    if (known !== undefined) return known
    const answer = within(clock, redis.exists(contentKey(base)), CALL_MS).then((count) => count === 1)
    answers.set(base, answer)
    const forget = (): unknown => answers.delete(base)
    answer.then((isFetcher) => isFetcher || forget(), forget)
    return answer
  }
}
