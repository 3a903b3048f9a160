/** Errors that a frontier can meet; the message says what to do next. */
import { explainRefusal } from '@decorum/protocol/redis-refusal'

/** Redis did not answer in time. Nothing is lost; enqueue the same candidates under the same ids again. */
export class FrontierUnavailableError extends Error {
  override readonly name = 'FrontierUnavailableError'
  readonly code = 'FRONTIER_UNAVAILABLE'
  constructor(what: string, cause: unknown) {
    super(`${what}: ${explainRefusal(cause instanceof Error ? cause.message : String(cause))}`, { cause })
  }
}

/** The options do not fit this Redis, e.g. another number of partitions: candidates would go to wrong partitions. */
export class FrontierUnfitError extends Error {
  override readonly name = 'FrontierUnfitError'
  readonly code = 'FRONTIER_UNFIT'
}
