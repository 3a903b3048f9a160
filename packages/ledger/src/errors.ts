/** Errors that interrupt the work. Ordinary refusals are values, not errors. */
import { explainRefusal } from '@decorum/protocol/redis-refusal'

/** Redis did not answer a ledger command. Nothing was granted, so nothing may be fetched; repeating the call is safe. */
export class LedgerUnavailableError extends Error {
  override readonly name = 'LedgerUnavailableError'
  readonly code = 'LEDGER_UNAVAILABLE'
  constructor(verb: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`the ledger did not answer '${verb}': ${explainRefusal(why)}`, { cause })
  }
}

/** This Redis cannot keep the ledger's promises: it evicts keys, is too old, or holds another number of partitions. */
export class LedgerUnfitError extends Error {
  override readonly name = 'LedgerUnfitError'
  readonly code = 'LEDGER_UNFIT'
}
