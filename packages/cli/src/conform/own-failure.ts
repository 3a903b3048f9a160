/** When what conform has started itself fails: the worker is not to blame, and nothing can be said of it. */
import { LedgerUnavailableError } from '@decorum/ledger'
import { retry } from '@decorum/runtime'
import { CommandError, messageOf } from '../exit.ts'
import type { RoleEvent } from '../fleet.ts'

export const ownFailure = (part: 'Redis' | 'sites' | 'fleet', why: string): CommandError =>
  new CommandError(`conform: the worker was not judged, because conform's own ${part} failed: ${why}`)

/** Errors of calls to a Redis that does not answer tell of conform's own; any other is given back as it is. */
export function withOwner(error: unknown): unknown {
  const isOfRedis =
    error instanceof Error && ['LedgerUnavailableError', 'FrontierUnavailableError'].includes(error.name)
  return isOfRedis ? ownFailure('Redis', messageOf(error)) : error
}

/** pino's level */
const ERROR = 50

/** Tells of each process of the fleet that ends, but for the one end of a process that is expected. */
export function roleTrouble(tell: (why: string) => void) {
  const errors = new Map<string, string>()
  let expected: number | undefined
  return {
    expect: (pid: number): void => {
      expected = pid
    },
    hear(event: RoleEvent): void {
      if (event.kind === 'line' && event.line.level >= ERROR) errors.set(event.name, event.line.msg)
      if (event.kind !== 'died') return
      // A process that cannot be started again ends once more under the number of the first.
      if (event.pid === expected) expected = undefined
      else tell(`${event.name} ended (${errors.get(event.name) ?? event.how})`)
    },
  }
}

/** A machine that stands still for some seconds is no reason to judge nothing. */
const PATIENCE_MS = 60_000
const AGAIN_MS = 200

/**
 * A call of the ledger that is made again while Redis does not answer, for a minute: a call with a longer deadline would not last longer,
 * because the connection ends after 15 s without an answer.
 */
export async function patiently<T>(call: () => Promise<T>, over: AbortSignal, forMs = PATIENCE_MS): Promise<T> {
  const until = performance.now() + forMs
  const answer = await retry(call, AGAIN_MS, (error) => {
    if (!(error instanceof LedgerUnavailableError) || over.aborted || performance.now() >= until) throw error
    return true
  })
  return answer as T // it is given up by an error alone
}
