/** Repeats work after failures. */
import type { Clock } from '@decorum/protocol/time'

/**
 * Runs `work` until it succeeds, with a pause of `everyMs` after each failure.
 * @param again  called after each failure, with the number of failures so far; false gives up, and an error that it throws is passed on
 * @returns      the result of `work`; undefined after giving up
 */
export async function retry<T>(
  clock: Clock,
  work: () => Promise<T>,
  everyMs: number,
  again: (error: unknown, failures: number) => boolean,
): Promise<T | undefined> {
  for (let failures = 1; ; failures++) {
    try {
      return await work()
    } catch (error) {
      if (!again(error, failures)) return undefined
    }
    await clock.sleep(everyMs)
  }
}
