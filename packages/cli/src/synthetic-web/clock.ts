/** The clock of records: several processes write down when something happened, and their lines are compared. */

/** Duration of the comparison of wall clock and monotonic clock when a process starts, ms: the wall clock ticks each millisecond. */
const COMPARED_MS = 3

/**
 * Offset from the monotonic clock of this process to ms since 1970 UTC: the largest of many measurements, because a pause between the two
 * readings of one can only make it too small. `performance.timeOrigin` is a single measurement, many milliseconds off on a busy machine.
 */
function lacking(): number {
  let most = -Infinity
  for (let at = performance.now(), until = at + COMPARED_MS; at < until; at = performance.now())
    most = Math.max(most, Date.now() - performance.now())
  return most
}

const origin = lacking()

/** ms since 1970 UTC on a clock that never steps; all processes of a machine agree on it. */
export const now = (): number => origin + performance.now()
