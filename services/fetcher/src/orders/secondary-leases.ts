/**
 * Secondary leases: lanes and pace groups that one request holds besides its own lane. A request acquires all that it needs or
 * none, so that it waits for none while it holds another.
 */
import type { LaneRef, LeasedLane, Ledger, SecondaryRequest, SiteLoad } from '@decorum/ledger'
import { crashPoint, retry } from '@decorum/runtime'
import { NORMAL_LOAD } from '../http/read-answer.ts'

export type LeasesLedger = Pick<Ledger, 'confirm' | 'acquire' | 'next' | 'complete' | 'resolve' | 'partitionOf'>

export type SecondaryLease = LaneRef & {
  fence: number
  /** owed after the request, ms */
  delayMs: number
  /** of the site itself: the lane of an origin, or of its host */
  ofSite: boolean
}

/** A secondary lease of the host's lane, started together with the lane itself. */
export type HostLease = { fence: number; delayMs: number }

/** A lane that has to be acquired, or the first of several that is free. */
export type Wanted = SecondaryRequest & { ofSite: boolean }

/** The end of a request: its instant on `performance.now()`, what the site said by it, and the delay owed to the site, ms. */
export type End = { endedAt: number; load?: SiteLoad; delayMs: number }

/** A lease could not be acquired; `waitMs` is Infinity when an operator has blocked the origin of a hop. */
export type NotAcquired = { waitMs: number }

const REPORT_TRIES = 3
const AGAIN_MS = 250

/** Acquires all; what was acquired before one that is not free is released. @param by  the lane that keeps its place in line */
export async function acquireAll(
  ledger: LeasesLedger,
  wanted: Wanted[],
  by: LaneRef,
): Promise<SecondaryLease[] | NotAcquired> {
  const leases: SecondaryLease[] = []
  for (const { ofSite, ...request } of wanted) {
    const entry = await ledger.acquire({ ...request, by }).catch(() => ({ kind: 'wait' as const, waitMs: AGAIN_MS }))
    if (entry.kind !== 'granted') {
      await releaseAll(ledger, leases)
      return { waitMs: entry.kind === 'blocked' ? Infinity : entry.waitMs }
    }
    crashPoint(request.kind === 'hop' ? 'hop.acquired' : 'pace-group.acquired')
    const { lane, fence, delayMs } = entry
    leases.push({ ...lane, fence, delayMs, ofSite })
  }
  return leases
}

/** Each lane owes its delay from the end of the request. Never rejects: a lease that cannot be completed ends by itself. */
export async function completeAll(
  ledger: LeasesLedger,
  leases: readonly SecondaryLease[],
  { endedAt, load = NORMAL_LOAD, delayMs: owedMs }: End,
): Promise<void> {
  // A request for less applies to the whole host. A port that does not answer says nothing about the others.
  const siteLoad = load.kind === 'asked-for-less' ? load : NORMAL_LOAD
  const complete = ({ agent, origin, fence, delayMs, ofSite }: SecondaryLease): Promise<unknown> => {
    const owed = ofSite ? { delayMs: Math.max(delayMs, owedMs), load: siteLoad } : { delayMs, load: NORMAL_LOAD }
    return reported(() => {
      const elapsedMs = Math.max(0, performance.now() - endedAt)
      return ledger.complete({ agent, origin, fence, ...owed, elapsedMs, secondary: true })
    })
  }
  await Promise.all(leases.map(complete))
}

/**
 * Nothing was sent. Never rejects: a lease ends by itself, too.
 * @param how  release: each lane is due as before · unused: the site has seen a connection, so each owes its delay
 */
export async function releaseAll(
  ledger: LeasesLedger,
  leases: readonly SecondaryLease[],
  how: 'release' | 'unused' = 'release',
): Promise<void> {
  const release = ({ agent, origin, fence }: SecondaryLease): Promise<unknown> => {
    const resolution = { agent, origin, fence, dropped: [], next: { kind: how } }
    return reported(() => ledger.resolve(ledger.partitionOf(origin), [resolution]))
  }
  await Promise.all(leases.map(release))
}

/** The fence makes a second telling harmless. */
const reported = (tell: () => Promise<unknown>): Promise<unknown> =>
  retry(tell, AGAIN_MS, (_, failures) => failures < REPORT_TRIES)

/** These leases as `confirm` takes them. */
export const leasedLanes = (leases: readonly SecondaryLease[]): LeasedLane[] =>
  leases.map(({ agent, origin, fence }) => ({ agent, origin, fence }))
