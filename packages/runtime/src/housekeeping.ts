/** Work that a process repeats beside its requests. */
import type { Clock } from '@decorum/protocol/time'
import type { Logger } from 'pino'
import { outages } from './outage.ts'
import { endIfUnfit } from './unfit.ts'

/**
 * Runs the work at once, and again `everyMs` after each end. A failure is logged once per outage; a ledger that does not fit ends the
 * process.
 * @param what  fields of the line in the log
 * @returns a function that stops it, after the work that is under way
 */
export function keepDoing(
  clock: Clock,
  work: (time: number) => Promise<void>,
  everyMs: number,
  log: Logger,
  what: object = {},
): () => Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  const loop = async (): Promise<void> => {
    const begins = outages(clock)
    for (let time = 0; !signal.aborted; time++) {
      try {
        await work(time)
      } catch (error) {
        endIfUnfit(error, log)
        if (begins()) log.warn({ ...what, err: (error as Error).message }, 'housekeeping waits')
      }
      await clock.sleep(everyMs, { signal })
    }
  }
  const done = loop()
  return () => {
    stopping.abort()
    return done
  }
}
