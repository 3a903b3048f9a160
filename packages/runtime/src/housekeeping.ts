/** Work that a process does again and again beside its requests. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { endIfUnfit } from './unfit.ts'

/**
 * Works at once, and again `everyMs` after each end. A failure is logged unless the one before it was; a ledger that does not fit ends
 * the process.
 * @param what  fields of the line in the log
 * @returns what stops it, after the work that is under way
 */
export function keepDoing(
  work: (time: number) => Promise<void>,
  everyMs: number,
  log: Logger,
  what: object = {},
): () => Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  const loop = async (): Promise<void> => {
    let troubled = false
    for (let time = 0; !signal.aborted; time++) {
      try {
        await work(time)
        troubled = false
      } catch (error) {
        endIfUnfit(error, log)
        if (!troubled) log.warn({ ...what, err: (error as Error).message }, 'housekeeping waits')
        troubled = true
      }
      await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    }
  }
  const done = loop()
  return () => {
    stopping.abort()
    return done
  }
}
