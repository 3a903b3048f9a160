/** Says a trouble once: when it begins, and not each time that something fails by it. */

/** Nothing has failed for so long: the trouble was over, and the next failure begins another one. */
const QUIET_MS = 30_000

/** @returns whether a failure begins an outage; to be asked at every failure */
export function outages(quietMs = QUIET_MS, now: () => number = () => performance.now()): () => boolean {
  let last = Number.NEGATIVE_INFINITY
  return () => {
    const before = last
    last = now()
    return last - before > quietMs
  }
}
