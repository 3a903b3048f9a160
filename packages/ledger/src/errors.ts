/** Errors that interrupt the work; ordinary refusals are values. */

/** Redis did not answer a ledger command. Nothing was granted, so nothing may be fetched; asking again is safe. */
export class LedgerUnavailableError extends Error {
  override readonly name = 'LedgerUnavailableError'
  readonly code = 'LEDGER_UNAVAILABLE'
  constructor(verb: string, cause: unknown) {
    super(`the ledger did not answer '${verb}': ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

/** The Redis at hand cannot keep the promises (evicts, another partition count, too old). Starting anyway would be ruder. */
export class LedgerUnfitError extends Error {
  override readonly name = 'LedgerUnfitError'
  readonly code = 'LEDGER_UNFIT'
}
