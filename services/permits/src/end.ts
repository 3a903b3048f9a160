/** What the holder of a permit says at its end, what ends by it, and what is left of it before. */

import { type Ledger, LONGEST_BACK_OFF_MS, type SiteLoad } from '@decorum/ledger'
import { MAX_RETRY_AFTER_MS } from '@decorum/robots'
import { defined } from '@decorum/runtime'
import { confirm, extend, type Leases, laneOf, lanesOf, loadReported, NORMAL_LOAD } from '@decorum/sending'
import type { Token } from '@decorum/sending/granting'
import type { GrantedLeases, Permit } from './permit-id.ts'
import type { CompletionBody } from './schemas.ts'

/** What the answer says about the load of its origin: as of one to a fetcher of the fleet. */
export function loadOf({ status, retryAfter, error }: CompletionBody): SiteLoad {
  if (status !== undefined) return loadReported(status, retryAfter)
  return error === undefined ? NORMAL_LOAD : { kind: 'no-answer' }
}

/**
 * As much of it as this token may say. A back-off closes the site for all agents of the fleet, so a token that is limited closes it for no
 * longer than the fleet itself would close a site that says nothing of how long: then one request finds out what the site says.
 * @param now  ms since 1970, of the clock that dates are compared with
 */
export function believedOf(load: SiteLoad, { agents, crawls, pools, maxRetryAfterMs }: Token, now: number): SiteLoad {
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

/** What a permit holds. @param awaitedBy  its URL is a robots.txt, whose fetch the lanes of these agents wait for */
export function leasesOf(
  { agent, origin, fence, delayMs, paceLeases, order }: GrantedLeases,
  awaitedBy?: string[],
): Leases {
  const lane = { agent, origin, fence, delayMs }
  if (order === undefined) return { own: { ...lane, kind: 'secondary' }, paceLeases }
  const own = { ...lane, kind: 'page' as const, version: order.version }
  return { own: { ...own, ...defined({ awaitedBy }) }, paceLeases }
}

/** Whether a permit is held, until when by the ledger, and why its request may not be sent now (`stop`). */
export async function leftOf(permit: Permit, ledger: Ledger) {
  const leases = leasesOf(permit)
  const left = await extend(ledger, leases, 0)
  // Rules are judged by whoever knows the URL: confirm is given no version here.
  const stop = await confirm(ledger, lanesOf(leases).map(laneOf))
  if (left.kind === 'stale' || stop === 'stale') return { kind: 'stale' as const }
  const endsAt = ledger.now(ledger.partitionOf(permit.origin)) + left.leftMs
  return { kind: 'held' as const, endsAt, ...defined({ stop }) }
}
