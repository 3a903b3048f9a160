/**
 * Redis's clock as a process knows it: the best of the times that came with replies. A reply that was read late shows
 * the clock of when it was written, so the largest offset seen is nearest to the truth and still not ahead of it.
 */

/** How fast two clocks may part: an offset loses this share of the time since it was seen (NTP slews by 0.05 %). */
const DRIFT = 0.001
/** No reply is this late (calls have a deadline): the clock itself was set back. */
const SET_BACK_MS = 5_000

export type RedisClock = { seen(redisMs: number): void; now(): number }

/** @param monotonic  ms; `performance.now()` but in tests */
export function redisClock(monotonic: () => number = () => performance.now()): RedisClock {
  let offset = Number.NEGATIVE_INFINITY
  let at = 0
  return {
    seen(redisMs) {
      const now = monotonic()
      const kept = offset - (now - at) * DRIFT
      const sample = redisMs - now
      offset = sample > kept || kept - sample > SET_BACK_MS ? sample : kept
      at = now
    },
    now: () => {
      const now = monotonic()
      return offset === Number.NEGATIVE_INFINITY ? 0 : offset - (now - at) * DRIFT + now
    },
  }
}
