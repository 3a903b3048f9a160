/**
 * The ledger's time in one process, bounded from both sides, from the times in replies and the process's own monotonic clock. A reply was
 * written after its request and before it was read, so the offset between the two clocks is then between two numbers. A bound is kept until
 * a reply disproves it; then the reply's own bound replaces it.
 */

import type { Clock } from '@decorum/protocol'

/** How fast two clocks may drift apart: a bound loosens by this share of the time since it was measured (NTP slews by 0.05 %). */
const DRIFT = 0.001
/**
 * A process does not vouch for the ledger's time until this long after its first reply: after a leap of the clock, the ledger relies on
 * processes that ran before the leap, and waits 2 s for them (DOUBT_MS in clock.lua).
 */
const KNOWN_MS = 5_000

export type RedisClock = {
  /** @param calledAt  when the call was made, on the monotonic clock */
  seen(redisMs: number, calledAt: number): void
  /**
   * Not ahead of the ledger's time, except where this process's clock runs fast: then by no more than its gain since the latest reply and
   * the time the call took to reach Redis.
   */
  now(): number
  /** never behind the ledger's time, unless that leaps; undefined for a process that has just started */
  most(): number | undefined
}

export function redisClock(clock: Pick<Clock, 'monotonic'>): RedisClock {
  let least = Number.NEGATIVE_INFINITY
  let most = Number.POSITIVE_INFINITY
  let at = 0
  let firstAt: number | undefined
  const loosened = (now: number): { least: number; most: number } => {
    const drift = (now - at) * DRIFT
    return { least: least - drift, most: most + drift }
  }
  return {
    seen(redisMs, calledAt) {
      const now = clock.monotonic()
      firstAt ??= now
      const kept = loosened(now)
      const [low, high] = [redisMs - now, redisMs - calledAt]
      least = kept.least > high ? low : Math.max(kept.least, low)
      most = kept.most < low ? high : Math.min(kept.most, high)
      at = now
    },
    now() {
      const now = clock.monotonic()
      return firstAt === undefined ? 0 : loosened(now).least + now
    },
    most() {
      const now = clock.monotonic()
      return firstAt === undefined || now - firstAt < KNOWN_MS ? undefined : loosened(now).most + now
    },
  }
}

/** The least time between two readings that are compared, ms: over less time, the errors of the readings would hide the rate. */
const SPAN_MS = 5_000
/** Two readings are compared only if the error of their rate is at most this. */
const EXACT = 0.01
/** A difference in rate up to this is ignored: unslewed clocks differ by up to 0.05 %. */
const TOLERATED = 0.002

type Reading = { at: number; least: number; most: number }
const width = ({ least, most }: Reading): number => most - least

export type ClockRate = {
  seen(redisMs: number, calledAt: number): void
  /** The share of the time on Redis's clock that has not passed on this process's own: 0.074 while that clock runs 8 % fast; usually 0. */
  excess(): number
}

/**
 * How much faster Redis's clock runs than the process's monotonic one. Only differences that the replies prove count, so a late reply has
 * no effect. Two consecutive stretches have to show it, because a clock that steps once looks fast in one of them.
 */
export function clockRate(clock: Pick<Clock, 'monotonic'>): ClockRate {
  let from: Reading | undefined
  let before = 0
  let latest = 0
  return {
    seen(redisMs, calledAt) {
      const at = clock.monotonic()
      const reading = { at, least: redisMs - at, most: redisMs - calledAt }
      if (from === undefined || width(reading) * 2 < width(from)) {
        from = reading
        return
      }
      const span = at - from.at
      if (span < SPAN_MS || width(reading) + width(from) > span * EXACT) return
      before = latest
      const isFast = reading.least - from.most > span * TOLERATED
      const gained = isFast ? reading.most - from.least : 0 // the largest certain gain
      latest = gained / (span + gained)
      from = reading
    },
    excess: () => Math.min(before, latest),
  }
}
