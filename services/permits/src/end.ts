/** What the holder of a permit may do with it: complete it, give it back unused, or extend it. Only the ledger knows whether it is still held. */
import type { CompleteResult, Completion, ExtendedStop, LeasedLane, Ledger, SiteLoad } from '@decorum/ledger'
import { parseRetryAfter } from '@decorum/robots'
import { type Gate, releaseLeases } from './attempt.ts'
import type { Permit } from './permit-id.ts'

export type Ended = 'completed' | 'unused'

export type Said = {
  status?: number | undefined
  retryAfter?: string | undefined
  error?: string | undefined
  tookMs?: number | undefined
}

/** What the answer says about the load of its origin. 429, 503, and 403 and failures in a row lead to a back-off, as with the fleet's fetchers. */
export function loadOf({ status, retryAfter, error }: Said, wall: number): SiteLoad {
  if (status === 429 || status === 503) {
    const retryAfterMs = parseRetryAfter(retryAfter, wall)
    return { kind: 'asked-for-less', ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
  }
  if (status === 403) return { kind: 'turned-away' }
  return error !== undefined && status === undefined ? { kind: 'no-answer' } : { kind: 'normal' }
}

const FINE: SiteLoad = { kind: 'normal' }

/**
 * Ends what a permit holds. The delay starts when the completion arrives, because an earlier end cannot be checked.
 * @param end  what it says about the site; of an order of a pool also what becomes of its URL
 */
export async function completeLeases(
  { agent, origin, fence, paceLeases }: Permit,
  delayMs: number,
  end: Pick<Completion, 'load' | 'outcome' | 'candidate' | 'secondary'>,
  ledger: Ledger,
): Promise<CompleteResult> {
  const [given] = await Promise.all([
    ledger.complete({ agent, origin, fence, delayMs, elapsedMs: 0, ...end }),
    ...paceLeases.map(({ ofSite, delayMs: own, ...paceLane }) =>
      ledger.complete({
        agent: paceLane.agent,
        origin: paceLane.origin,
        fence: paceLane.fence,
        delayMs: ofSite ? Math.max(own, delayMs) : own,
        load: ofSite && end.load.kind === 'asked-for-less' ? end.load : FINE,
        elapsedMs: 0,
        secondary: true,
      }),
    ),
  ])
  return given
}

/** The holder reports that nothing was sent. That cannot be checked, so the delay is kept in any case. */
export const returnUnused = ({ agent, origin, fence, paceLeases }: Permit, ledger: Ledger): Promise<CompleteResult> =>
  releaseLeases(ledger, [{ agent, origin, fence }, ...paceLeases], 'unused')

/** `stop`: why its request may not be sent now */
export type Left = { kind: 'stale' } | { kind: 'held'; endsAt: number; stop?: Gate }

/** Whether a permit is held, until when by the ledger, and whether its request may be sent now. */
export async function leftOf(permit: Permit, ledger: Ledger): Promise<Left> {
  const endsAt = await ledger.leaseEndsAt(permit) // read first: a fence that is confirmed after it was in force before
  const answers = await Promise.all([...lanesOf(permit, ledger).values()].map((some) => ledger.confirm(some)))
  if (endsAt === undefined || answers.includes('stale')) return { kind: 'stale' }
  // Rules are judged by whoever knows the URL: confirm is given no version here.
  const stop = answers.find((answer) => answer !== 'granted') as Gate | undefined
  return { kind: 'held', endsAt, ...(stop === undefined ? {} : { stop }) }
}

/** All that it holds, by partition. */
function lanesOf(permit: Permit, ledger: Ledger): Map<number, LeasedLane[]> {
  const held = [permit, ...permit.paceLeases].map(({ agent, origin, fence }) => ({ agent, origin, fence }))
  return Map.groupBy(held, ({ origin }) => ledger.partitionOf(origin))
}

export type Extended = { kind: 'stale' } | { kind: 'extended'; stop?: ExtendedStop }

/** All that it holds lasts so much longer from now on. */
export async function extend(permit: Permit, leaseMs: number, ledger: Ledger): Promise<Extended> {
  const answers = await Promise.all([...lanesOf(permit, ledger).values()].map((some) => ledger.extend(some, leaseMs)))
  if (answers.some(({ kind }) => kind === 'stale')) return { kind: 'stale' }
  return answers.find((answer) => 'stop' in answer) ?? { kind: 'extended' }
}
