/** Reports an outage once, when it begins, instead of at each failure. */
import type { Clock } from '@decorum/protocol/time'

/** After this long without a failure the outage has ended, and the next failure begins another. */
const QUIET_MS = 30_000

/** @returns a function to call at every failure; it returns whether the failure begins an outage */
export function outages(clock: Clock, quietMs = QUIET_MS): () => boolean {
  let last = Number.NEGATIVE_INFINITY
  return () => {
    const before = last
    last = clock.monotonic()
    return last - before > quietMs
  }
}
