/** What the holder of a permit may do with it: complete it, give it back unused, or extend it. Only the ledger knows whether it is still held. */
import type {
  CompleteResult,
  Completion,
  Confirmation,
  ExtendAnswer,
  LeasedLane,
  Ledger,
  LedgerGateName,
  NextAnswer,
  SiteLoad,
} from '@decorum/ledger'
import { parseRetryAfter } from '@decorum/robots'
import { releaseLeases } from './attempt.ts'
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

/** Every lane that a permit holds, by partition; its own comes first. */
function heldBy({ agent, origin, fence, paceLeases, order }: Permit, ledger: Ledger): LeasedLane[][] {
  const own: LeasedLane = { agent, origin, fence, ...(order === undefined ? {} : { version: order.version }) }
  const all = [
    own,
    ...paceLeases.map((lease): LeasedLane => ({ agent: lease.agent, origin: lease.origin, fence: lease.fence })),
  ]
  return [...Map.groupBy(all, (lane) => ledger.partitionOf(lane.origin)).values()]
}

/** All that it holds lasts so much longer from now on; of several partitions the first gate that wants no more counts. */
export async function extend(permit: Permit, leaseMs: number, ledger: Ledger): Promise<ExtendAnswer> {
  const answers = await Promise.all(heldBy(permit, ledger).map((some) => ledger.extend(some, leaseMs)))
  const stale = answers.find(({ kind }) => kind === 'stale')
  const extended = answers.filter((answer) => answer.kind === 'extended')
  const [first] = extended
  if (stale !== undefined || first === undefined) return { kind: 'stale' }
  const leftMs = Math.min(...extended.map((answer) => answer.leftMs))
  return { ...(extended.find(({ stop }) => stop !== undefined) ?? first), leftMs }
}

/** Whether a request may be sent now under all that it holds. */
export async function confirm(permit: Permit, ledger: Ledger): Promise<Confirmation> {
  const answers = await Promise.all(heldBy(permit, ledger).map((some) => ledger.confirm(some)))
  return answers.find((answer) => answer !== 'granted') ?? 'granted'
}

/** One more request under all that it holds; the answer that allows it last, or the first that refuses it. */
export async function next(permit: Permit, delayMs: number, ledger: Ledger): Promise<NextAnswer> {
  const ask = (held: LeasedLane[]): Promise<NextAnswer> =>
    ledger.next({ kind: 'further', lane: permit, held, elapsedMs: 0, delayMs })
  const answers = await Promise.all(heldBy(permit, ledger).map(ask))
  const refused = answers.find(({ kind }) => kind !== 'granted')
  if (refused !== undefined) return refused
  return { kind: 'granted', waitMs: Math.max(...answers.map((answer) => ('waitMs' in answer ? answer.waitMs : 0))) }
}

/** `stop`: why its request may not be sent now */
export type Left = { kind: 'stale' } | { kind: 'held'; endsAt: number; stop?: LedgerGateName }

/** Whether a permit is held, until when by the ledger, and whether its request may be sent now. */
export async function leftOf(permit: Permit, ledger: Ledger): Promise<Left> {
  const left = await extend(permit, 0, ledger)
  // Rules are judged by whoever knows the URL: no version is given here.
  const { order: _, ...withoutRules } = permit
  const confirmed = await confirm(withoutRules, ledger)
  if (left.kind === 'stale' || confirmed === 'stale') return { kind: 'stale' }
  const endsAt = ledger.now(ledger.partitionOf(permit.origin)) + left.leftMs
  return { kind: 'held', endsAt, ...(confirmed === 'granted' ? {} : { stop: confirmed }) }
}
