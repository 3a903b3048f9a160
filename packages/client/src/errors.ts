/** Errors of a frontier's side: what to do next is in the message. */

/** Redis did not take or give in time. Nothing is lost; enqueue the same candidates under the same ids again. */
export class FrontierUnavailableError extends Error {
  override readonly name = 'FrontierUnavailableError'
  readonly code = 'FRONTIER_UNAVAILABLE'
  constructor(what: string, cause: unknown) {
    super(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

/** What was asked does not fit the Redis at hand, e.g. another number of partitions: candidates would go astray. */
export class FrontierUnfitError extends Error {
  override readonly name = 'FrontierUnfitError'
  readonly code = 'FRONTIER_UNFIT'
}
