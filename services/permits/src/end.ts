/** What the holder of a permit says at its end, what ends by it, and what is left of it before. */
import type { Ledger, SiteLoad } from '@decorum/ledger'
import { defined } from '@decorum/runtime'
import { confirm, extend, type Leases, laneOf, lanesOf, loadOfPage, NORMAL_LOAD } from '@decorum/sending'
import type { GrantedLeases, Permit } from './permit-id.ts'
import type { CompletionBody } from './schemas.ts'

/** What the answer says about the load of its origin. 429, 503, and 403 and failures in a row lead to a back-off, as with the fleet's fetchers. */
export function loadOf({ status, retryAfter, error }: CompletionBody): SiteLoad {
  if (status !== undefined) return loadOfPage(status, retryAfter)
  return error === undefined ? NORMAL_LOAD : { kind: 'no-answer' }
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
