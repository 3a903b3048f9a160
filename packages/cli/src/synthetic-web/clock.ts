/** The clock of records: several processes write down when something happened, and their lines are compared. */

/** How long the wall clock is compared with the monotonic one when a process starts, ms: it ticks each millisecond. */
const COMPARED_MS = 3

/**
 * What the monotonic clock of this process lacks to ms since 1970 UTC. A process that is kept from running between two readings finds less
 * than that, never more, so the most of many readings counts. `performance.timeOrigin` is one reading: on a busy machine it is many
 * milliseconds off.
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
