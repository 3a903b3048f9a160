/** Reports the end of a lease to a ledger that may not answer. The fence makes a repeated report harmless. */

import { LedgerUnavailableError } from '@decorum/ledger'
import type { Clock } from '@decorum/protocol'
import { passed, retry, type Since } from '@decorum/runtime'

export type Report = {
  /** undefined: the ledger has not answered before the leases were over */
  send<T>(call: () => Promise<T>): Promise<T | undefined>
  /** the leases have expired: there is nothing left to report */
  isOver(): boolean
}

/** Reports the end of leases that were requested at an instant and last this long, ms. */
export type Reporter = (since: Since, leaseMs: number) => Report

/** One call: the caller gets an error, and reports again. */
export const once: Report = { send: (call) => call(), isOver: () => false }

/** Time between two calls to a ledger that does not answer. */
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
      if (result === 'stale' && isFirst) counts.stale++ // after a lost reply, a success is answered as 'stale'
      return result
    }
    return { send, isOver }
  }
