/** Reports the end of a lease to a ledger that may not answer. The fence makes a repeated report harmless. */

import { LedgerUnavailableError } from '@decorum/ledger'
import type { Clock } from '@decorum/protocol'
import { passed, retry, type Since } from '@decorum/runtime'

export type Report = {
  /** @returns undefined when the leases ended before the ledger answered */
  send<T>(call: () => Promise<T>): Promise<T | undefined>
  /** whether the leases have expired, so that nothing is left to report */
  isOver(): boolean
}

/** Makes a `Report` for leases that were requested at `since` and last `leaseMs`. */
export type Reporter = (since: Since, leaseMs: number) => Report

/** Calls once: an error goes to the caller, which reports again. */
export const once: Report = { send: (call) => call(), isOver: () => false }

/** Time between two calls to a ledger that does not answer. */
const AGAIN_MS = 250

/**
 * Calls until the ledger has answered, or the leases are over.
 * @param counts  unheard: calls that the ledger did not answer · stale: leases that had ended before they were completed
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
