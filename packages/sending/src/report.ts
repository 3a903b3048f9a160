/** How the end of a lease is reported to a ledger that may not answer. The fence makes a repeated report harmless. */

import { LedgerUnavailableError } from '@decorum/ledger'
import type { Clock } from '@decorum/protocol'
import { passed, retry, type Since } from '@decorum/runtime'

export type Report = {
  /** undefined: the ledger has not answered before the leases were over */
  send<T>(call: () => Promise<T>): Promise<T | undefined>
  /** the leases have ended by themselves: there is nothing to report any more */
  isOver(): boolean
}

/** How the end of leases is reported that were asked for at an instant, and last so long, ms. */
export type Reporter = (since: Since, leaseMs: number) => Report

/** One call: whoever waits for the answer hears of an error, and reports again. */
export const once: Report = { send: (call) => call(), isOver: () => false }

/** Between two calls to a ledger that does not answer. */
const AGAIN_MS = 250

/**
 * Calls until the ledger has answered, or the leases are over.
 * @param counts  calls that had to be repeated, and leases that had ended before they were completed
 */
export const untilOver =
  (clock: Clock, counts: { unheard: number; stale: number }): Reporter =>
  (since, leaseMs) => {
    const isOver = (): boolean => passed(clock, since) >= leaseMs
    const send = async <T>(call: () => Promise<T>): Promise<T | undefined> => {
      let isFirst = true
      const result = await retry(clock, call, AGAIN_MS, (error) => {
        if (!(error instanceof LedgerUnavailableError)) throw error
        counts.unheard++
        isFirst = false
        return !isOver()
      })
      if (result === 'stale' && isFirst) counts.stale++ // after a lost reply, 'stale' is what a success looks like
      return result
    }
    return { send, isOver }
  }
