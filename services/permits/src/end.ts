/** The end of a permit: the load that its holder reports, the leases that end with it, and the time left until then. */

import { type Ledger, LONGEST_BACK_OFF_MS, type SiteLoad } from '@decorum/ledger'
import { MAX_RETRY_AFTER_MS } from '@decorum/robots'
import { defined } from '@decorum/runtime'
import { confirm, extend, type Leases, laneOf, lanesOf, loadReported, NORMAL_LOAD } from '@decorum/sending'
import type { Token } from '@decorum/sending/granting'
import type { GrantedLeases, Permit } from './permit-id.ts'
import type { CompletionBody } from './schemas.ts'

/** Load of the origin according to a completion, judged as for a fetcher of the fleet. */
export function loadOf({ status, retryAfter, error }: CompletionBody): SiteLoad {
  if (status !== undefined) return loadReported(status, retryAfter)
  return error === undefined ? NORMAL_LOAD : { kind: 'no-answer' }
}

/**
 * The part of the load that this token may report. A back-off closes the site for all agents of the fleet, so a limited token closes it for
 * no longer than the fleet itself would after an answer without a given time: then one request finds out the site's state.
 * @param now  ms since 1970, of the clock that dates are compared with
 */
export function acceptedOf(load: SiteLoad, { agents, crawls, pools, maxRetryAfterMs }: Token, now: number): SiteLoad {
  const isLimited = agents !== undefined || crawls !== undefined || pools !== undefined
  const mostMs = maxRetryAfterMs ?? (isLimited ? LONGEST_BACK_OFF_MS : MAX_RETRY_AFTER_MS)
  if (load.kind === 'normal' || load.kind === 'no-answer') return load
  const { retryAfterMs, retryAfterAt } = load
  return {
    ...load,
    ...(retryAfterMs !== undefined && { retryAfterMs: Math.min(retryAfterMs, mostMs) }),
    ...(retryAfterAt !== undefined && { retryAfterAt: Math.min(retryAfterAt, now + mostMs) }),
  }
}

/** The leases of a permit. @param awaitedBy  agents whose lanes wait for this fetch; given if its URL is a robots.txt */
export function leasesOf(
  { agent, origin, fence, delayMs, paceLeases, order }: GrantedLeases,
  awaitedBy?: string[],
): Leases {
  const lane = { agent, origin, fence, delayMs }
  if (order === undefined) return { own: { ...lane, kind: 'secondary' }, paceLeases }
  const own = { ...lane, kind: 'page' as const, version: order.version }
  return { own: { ...own, ...defined({ awaitedBy }) }, paceLeases }
}

/** Whether a permit is held, until when in the ledger, and why its request may not be sent now (`stop`). */
export async function leftOf(permit: Permit, ledger: Ledger) {
  const leases = leasesOf(permit)
  const left = await extend(ledger, leases, 0)
  // The caller that has the URL judges the rules, so confirm gets no version here.
  const stop = await confirm(ledger, lanesOf(leases).map(laneOf))
  if (left.kind === 'stale' || stop === 'stale') return { kind: 'stale' as const }
  const endsAt = ledger.now(ledger.partitionOf(permit.origin)) + left.leftMs
  return { kind: 'held' as const, endsAt, ...defined({ stop }) }
}
