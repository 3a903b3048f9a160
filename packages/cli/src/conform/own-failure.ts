/** Failures of processes that conform has started: the worker is then not at fault, and is not judged. */
import { setTimeout as sleep } from 'node:timers/promises'
import { LedgerUnavailableError } from '@decorum/ledger'
import { systemClock } from '@decorum/protocol'
import { retry } from '@decorum/runtime'
import { CommandError, messageOf } from '../exit.ts'
import type { RoleEvent } from '../fleet.ts'

export const ownFailure = (part: 'Redis' | 'sites' | 'fleet', why: string): CommandError =>
  new CommandError(`conform: the worker was not judged, because conform's own ${part} failed: ${why}`)

/** Longest wait for the report that the Redis process has ended: calls fail earlier, with less information. */
const REASON_WITHIN_MS = 1_000

/**
 * Replaces the error of a call to a Redis that does not answer by one about conform's Redis; returns any other error unchanged.
 * @param over  if it aborts, now or within a second, its reason is returned instead
 */
export async function withOwner(error: unknown, over?: AbortSignal): Promise<unknown> {
  const isOfRedis =
    error instanceof Error && ['LedgerUnavailableError', 'FrontierUnavailableError'].includes(error.name)
  if (!isOfRedis) return error
  if (over !== undefined) await sleep(REASON_WITHIN_MS, undefined, { signal: over }).catch(() => undefined)
  return over?.aborted ? over.reason : ownFailure('Redis', messageOf(error))
}

/** pino's level */
const ERROR = 50

/** Reports each process of the fleet that ends, unless its end is expected. */
export function roleTrouble(report: (why: string) => void) {
  const errors = new Map<string, string>()
  let expected: number | undefined
  return {
    expect: (pid: number): void => {
      expected = pid
    },
    onRoleEvent(event: RoleEvent): void {
      if (event.kind === 'line' && event.line.level >= ERROR) errors.set(event.name, event.line.msg)
      if (event.kind !== 'died') return
      // A process that cannot be restarted ends a second time, with the process id of its first end.
      if (event.pid === expected) expected = undefined
      else report(`${event.name} ended (${errors.get(event.name) ?? event.how})`)
    },
  }
}

/** A machine that stalls for some seconds must not count as a failure of Redis. */
const PATIENCE_MS = 60_000
const AGAIN_MS = 200

/**
 * Repeats a call to the ledger for a minute while Redis does not answer: a longer deadline for a single call would not help, because
 * the connection ends after 15 s without an answer.
 */
export async function patiently<T>(call: () => Promise<T>, over: AbortSignal, forMs = PATIENCE_MS): Promise<T> {
  const until = performance.now() + forMs
  const answer = await retry(systemClock, call, AGAIN_MS, (error) => {
    if (!(error instanceof LedgerUnavailableError) || over.aborted || performance.now() >= until) throw error
    return true
  })
  return answer as T // the loop gives up only by throwing
}

/** Runs all tasks in sequence, even if some fail. @throws the first error, at the end */
export async function runAll(ends: readonly (() => unknown)[]): Promise<void> {
  const errors: unknown[] = []
  for (const end of ends)
    try {
      await end()
    } catch (error) {
      errors.push(error)
    }
  if (errors.length > 0) throw errors[0]
}
