/**
 * The ledger's time as a process knows it, bounded from both sides, from the times in replies and the process's own monotonic clock.
 * A reply holds the time at which it was written. The largest offset between that and the time of reading is nearest to the truth
 * without being ahead of it; the smallest offset to the time of asking is not behind it.
 */

/** How fast two clocks may drift apart: an offset loses this share of the time since it was seen (NTP slews by 0.05 %). */
const DRIFT = 0.001
/** A reply that was written after the call, and is so far behind what was known when it was made, shows that Redis's clock was set back. */
const SET_BACK_MS = 5_000
/**
 * A process that has known the ledger for less than this does not confirm its time: after a leap of the clock, the ledger relies on
 * processes that ran before, and waits 2 s for them (DOUBT_MS in clock.lua).
 */
const KNOWN_MS = 5_000

export type RedisClock = {
  /** @param askedAt  when the call was made, on the monotonic clock */
  seen(redisMs: number, askedAt: number): void
  /** never ahead of the ledger's time */
  now(): number
  /** never behind it, as long as its clock does not leap; undefined for a process that has only just started */
  most(): number | undefined
}

/** @param monotonic  ms; `performance.now()` but in tests */
export function redisClock(monotonic: () => number = () => performance.now()): RedisClock {
  let offset = Number.NEGATIVE_INFINITY
  let most = Number.POSITIVE_INFINITY
  let at = 0
  let firstAt: number | undefined
  return {
    seen(redisMs, askedAt) {
      const now = monotonic()
      firstAt ??= now
      const kept = offset - (now - at) * DRIFT
      const sample = redisMs - now
      offset = sample > kept || kept - (redisMs - askedAt) > SET_BACK_MS ? sample : kept
      const least = most + (now - at) * DRIFT
      // beyond what this process would have vouched for: others have seen that time pass
      most = sample > least ? redisMs - askedAt : Math.min(least, redisMs - askedAt)
      at = now
    },
    now() {
      const now = monotonic()
      return offset === Number.NEGATIVE_INFINITY ? 0 : offset - (now - at) * DRIFT + now
    },
    most() {
      const now = monotonic()
      if (firstAt === undefined || now - firstAt < KNOWN_MS) return undefined
      return most + (now - at) * DRIFT + now
    },
  }
}
