/** The lane of a hop: each redirect of a robots.txt is one more request, which needs the lane and pace groups of its origin. */

import type { LaneRef, SiteLoad } from '@decorum/ledger'
import { delayAfter } from '@decorum/politeness'
import { crashPoint, pause, sinceNow } from '@decorum/runtime'
import type { Exchange } from '@decorum/sending/bodies'
import type { Confirm, LastCheck } from '@decorum/sending/http'
import { confirmedBy } from '../orders/lease.ts'
import { groupsOf, type HeldGroups } from '../orders/pace.ts'
import {
  acquireAll,
  completeAll,
  leasedLanes,
  releaseAll,
  type SecondaryLease,
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
    const { wanted, shared, wrongAddress } = await wantedFor(groups, ownFence, origin, isRobots)
    // A lane that is held has just ended a request of this robots fetch: its delay is waited out here.
    const waitMs = shared ? delayAfter(agent, groups.delayMs(), tookMs) : 0
    if (performance.now() + waitMs >= until) return 'late'
    if (waitMs > 0) await pause(waitMs)
    for (;;) {
      const since = sinceNow()
      const leases = await acquireAll(ledger, wanted, { agent: agent.key, origin: asking })
      if ('waitMs' in leases) {
        if (leases.waitMs === Infinity) return 'blocked'
        if (performance.now() + leases.waitMs >= until) return 'late'
        await pause(leases.waitMs)
        continue
      }
      const own = leases.filter(({ isShared }) => !isShared)
      const longest = (some: SecondaryLease[]): number => Math.max(0, ...some.map(({ delayMs }) => delayMs))
      const owedMs = longest(leases.filter(({ ofSite }) => ofSite))
      if (shared) groups.owedByHopsMs = Math.max(groups.owedByHopsMs, owedMs)
      // The ledger may know of a longer delay of a lane that is held than the order: an operator has set one meanwhile.
      const missingMs = asked + longest(leases.filter(({ isShared }) => isShared)) - performance.now()
      if (performance.now() + missingMs >= until) {
        await releaseAll(ledger, own)
        return 'late'
      }
      if (missingMs > 0) await pause(missingMs)
      const confirmed = confirmedBy(ledger, since, () => [...leasedLanes(leases), ...groups.held()])
      return {
        fence: leases.at(-1)?.fence ?? 0, // the hop's own lane is acquired last
        isShared: shared,
        lastCheck: (address) => confirmed.tooOld() ?? wrongAddress(address),
        confirm: confirmed.confirm,
        async complete({ kind, endedAt, timing }, load) {
          const hopMs = kind === 'not-sent' ? undefined : timing.totalMs
          const end = { endedAt, delayMs: delayAfter(agent, owedMs, hopMs), ...(load && { load }) }
          await completeAll(ledger, own, end)
          crashPoint('hop.completed')
        },
        release: () => releaseAll(ledger, own),
      }
    }
  }

/** What the hop has to acquire. A pace group that is held already is not asked for; of a lane, the origin's gates are checked. */
async function wantedFor(
  groups: HeldGroups,
  ownFence: number,
  origin: string,
  isRobots: boolean,
): Promise<{ wanted: Wanted[]; shared: boolean; wrongAddress: LastCheck }> {
  const { options, agent } = groups.request
  const lane: LaneRef = { agent: agent.key, origin }
  const heldFence = groups.fenceOf(lane, ownFence)
  const host = options.groups.hostLane(agent.key, origin)
  const site = { delayMs: agent.minDelayMs, ofSite: true }
  const { wanted: above, wrongAddress } = await groupsOf(options, agent, origin, agent.minDelayMs)
  const hop: Wanted = { ...site, lanes: [lane], kind: 'hop', isRobots, ...(heldFence !== undefined && { heldFence }) }
  const all: Wanted[] = [
    ...above,
    ...(host ? [{ ...site, lanes: [host], kind: 'pace-group' as const, of: lane }] : []),
    hop,
  ]
  const isHeld = ({ lanes }: Wanted): boolean => lanes.some((one) => groups.fenceOf(one, ownFence) !== undefined)
  return {
    wanted: all.filter((one) => one.kind === 'hop' || !isHeld(one)),
    shared: all.some(isHeld),
    wrongAddress,
  }
}
