/** Errors that a frontier can meet; the message says what to do next. */
import { explainRefusal } from '@decorum/protocol/redis-refusal'
import type { Clock } from '@decorum/protocol/time'
import { within } from '@decorum/protocol/within'

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

/** The longest wait for an answer of Redis, ms. */
export const CALL_MS = 5_000

/** @param what  says in the error what could not be done. @throws FrontierUnavailableError when Redis does not answer in time */
export const answered = <T>(clock: Clock, what: string, work: Promise<T>): Promise<T> =>
  within(clock, work, CALL_MS).catch((error: unknown) => {
    throw new FrontierUnavailableError(what, error)
  })
