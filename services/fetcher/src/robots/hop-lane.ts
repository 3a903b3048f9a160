/** The lane of a hop: each redirect of a robots.txt is one more request, which needs the lane and pace groups of its origin. */
import type { LaneRef, LeasedLane, NextRequest, SiteLoad } from '@decorum/ledger'
import { delayAfter } from '@decorum/politeness'
import { crashPoint, pause, sinceNow } from '@decorum/runtime'
import type { Exchange } from '../http/answer.ts'
import type { Confirm, LastCheck } from '../http/exchange.ts'
import { confirmedBy } from '../orders/lease.ts'
import { groupsOf, type HeldGroups } from '../orders/pace.ts'
import {
  acquireAll,
  completeAll,
  type LeasesLedger,
  leasedLanes,
  releaseAll,
  type Wanted,
} from '../orders/secondary-leases.ts'

/** One hop of a robots fetch. */
export type Hop = {
  origin: string
  /** its URL is a robots.txt: it counts as the one robots fetch of that origin */
  isRobots: boolean
  deadlineMs: number
  /** the slowest exchange so far with the origin that was asked first, ms, for agents whose delay adapts */
  tookMs?: number | undefined
}

export type HopLane = {
  /** of the hop's lane; a robots fetch of its origin is ended under it */
  fence: number
  /** the robots fetch holds one of these lanes already: the hop is one more request in it */
  isShared: boolean
  /** called in the tick in which the bytes leave */
  lastCheck: LastCheck
  confirm: Confirm
  /** `load`: what the site said by its answer. Never rejects. */
  complete(exchange: Pick<Exchange, 'kind' | 'endedAt' | 'timing'>, load?: SiteLoad): Promise<void>
  /** nothing was sent. Never rejects. */
  release(): Promise<void>
}

/** late: the lane is not due before the deadline. blocked: an operator has blocked the origin. */
export type AcquireHop = (hop: Hop) => Promise<HopLane | 'late' | 'blocked'>

/**
 * Waits until the hop's lane and its pace groups are due, and no other robots fetch of its origin is in flight.
 * @param groups    of the robots fetch that the hop belongs to
 * @param ownFence  of its lane
 */
export const hopLanes =
  (groups: HeldGroups, ownFence: number): AcquireHop =>
  async ({ origin, isRobots, deadlineMs, tookMs }) => {
    const { options, agent, origin: asking } = groups.request
    const { ledger } = options
    const asked = performance.now()
    const until = asked + deadlineMs
    const { wanted, held, wrongAddress } = await wantedFor(groups, ownFence, origin)
    const shared = held.length > 0
    // Of a lane that is held, a request of this robots fetch has just ended: the ledger says when the next one may follow.
    if (shared) {
      const delayMs = delayAfter(agent, groups.delayMs(), tookMs)
      const allowed = await nextUnder(
        ledger,
        { kind: 'hop', lane: { agent: agent.key, origin }, held, delayMs, isRobots },
        asked,
        until,
      )
      if (allowed !== 'granted') return allowed
    }
    for (;;) {
      const since = sinceNow()
      const leases = await acquireAll(ledger, withRobots(wanted, isRobots), { agent: agent.key, origin: asking })
      if ('waitMs' in leases) {
        if (leases.waitMs === Infinity) return 'blocked'
        if (performance.now() + leases.waitMs >= until) return 'late'
        await pause(leases.waitMs)
        continue
      }
      const owedMs = Math.max(0, ...leases.filter(({ ofSite }) => ofSite).map(({ delayMs }) => delayMs))
      if (shared) groups.owedByHopsMs = Math.max(groups.owedByHopsMs, owedMs)
      const confirmed = confirmedBy(ledger, since, () => [...leasedLanes(leases), ...groups.held()])
      return {
        fence: groups.fenceOf({ agent: agent.key, origin }, ownFence) ?? leases.at(-1)?.fence ?? 0, // the hop's own lane is acquired last
        isShared: shared,
        lastCheck: (address) => confirmed.tooOld() ?? wrongAddress(address),
        confirm: confirmed.confirm,
        async complete({ kind, endedAt, timing }, load) {
          const hopMs = kind === 'not-sent' ? undefined : timing.totalMs
          const end = { endedAt, delayMs: delayAfter(agent, owedMs, hopMs), ...(load && { load }) }
          await completeAll(ledger, leases, end)
          crashPoint('hop.completed')
        },
        release: () => releaseAll(ledger, leases),
      }
    }
  }

/** Waits until one more request may be sent under leases that are held. @param askedAt  when the request before it had ended */
async function nextUnder(
  ledger: LeasesLedger,
  request: Omit<NextRequest, 'elapsedMs'>,
  askedAt: number,
  until: number,
): Promise<'granted' | 'late' | 'blocked'> {
  for (const held of Map.groupBy(request.held, ({ origin }) => ledger.partitionOf(origin)).values()) {
    for (;;) {
      const elapsedMs = performance.now() - askedAt
      const answer = await ledger.next({ ...request, held, elapsedMs }).catch(() => UNANSWERED)
      if (answer.kind === 'blocked') return 'blocked'
      const waitMs = 'waitMs' in answer ? answer.waitMs : answer.kind === 'busy' ? AGAIN_MS : Infinity
      if (performance.now() + waitMs >= until) return 'late'
      await pause(waitMs)
      if (answer.kind === 'granted') break
    }
  }
  return 'granted'
}
const AGAIN_MS = 250
const UNANSWERED = { kind: 'busy' } as const

/** What the hop has to acquire, and which of its lanes and pace groups are held already. */
async function wantedFor(
  groups: HeldGroups,
  ownFence: number,
  origin: string,
): Promise<{ wanted: Wanted[]; held: LeasedLane[]; wrongAddress: LastCheck }> {
  const { options, agent } = groups.request
  const lane: LaneRef = { agent: agent.key, origin }
  const host = options.groups.hostLane(agent.key, origin)
  const site = { delayMs: agent.minDelayMs, ofSite: true }
  const { wanted: above, wrongAddress } = await groupsOf(options, agent, origin, agent.minDelayMs)
  const all: Wanted[] = [
    ...above,
    ...(host ? [{ ...site, lanes: [host], kind: 'pace-group' as const, of: lane }] : []),
    { ...site, lanes: [lane], kind: 'hop' },
  ]
  const heldOf = ({ lanes }: Wanted): LeasedLane[] =>
    lanes.flatMap((one) => {
      const fence = groups.fenceOf(one, ownFence)
      return fence === undefined ? [] : [{ ...one, fence }]
    })
  return {
    wanted: all.filter((one) => heldOf(one).length === 0),
    held: all.flatMap(heldOf).toReversed(), // the hop's own lane first
    wrongAddress,
  }
}

const withRobots = (wanted: Wanted[], isRobots: boolean): Wanted[] =>
  wanted.map((one) => (one.kind === 'hop' ? { ...one, isRobots } : one))
