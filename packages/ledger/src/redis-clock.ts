/**
 * The ledger's time as a process knows it, from both sides: the times that came with replies, against the process's own
 * monotonic clock. A reply that was read late shows the time of when it was written, so the largest offset seen from its
 * reading is nearest to the truth and still not ahead of it; the smallest seen from its asking is not behind it.
 */

/** How fast two clocks may part: an offset loses this share of the time since it was seen (NTP slews by 0.05 %). */
const DRIFT = 0.001
/** No reply is this late (calls have a deadline): the clock itself was set back. */
const SET_BACK_MS = 5_000
/**
 * Who has known the ledger for less cannot vouch for its time: the ledger asks those who were there before something
 * odd happened, and waits 2 s for them (lua/common.lua DOUBT_MS).
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
      offset = sample > kept || kept - sample > SET_BACK_MS ? sample : kept
      const least = most + (now - at) * DRIFT
      // beyond what we would have vouched for: others have seen that time pass
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
