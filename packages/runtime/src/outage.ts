/** Says a trouble once: when it begins, and not each time that something fails by it. */
import type { Clock } from '@decorum/protocol/time'

/** Nothing has failed for so long: the trouble was over, and the next failure begins another one. */
const QUIET_MS = 30_000

/** @returns whether a failure begins an outage; to be asked at every failure */
export function outages(clock: Clock, quietMs = QUIET_MS): () => boolean {
  let last = Number.NEGATIVE_INFINITY
  return () => {
    const before = last
    last = clock.monotonic()
    return last - before > quietMs
  }
}
