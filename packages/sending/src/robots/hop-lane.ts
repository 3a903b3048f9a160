/** The lane of a hop: each redirect of a robots.txt is one more request, which needs the lane and pace groups of its origin. */
import { LedgerUnavailableError, type SiteLoad } from '@decorum/ledger'
import { delayAfter } from '@decorum/politeness'
import { crashPoint, pause } from '@decorum/runtime'
import type { Exchange } from '../http/answer.ts'
import type { Confirm, LastCheck } from '../http/exchange.ts'
import { NORMAL_LOAD } from '../http/read-answer.ts'
import { confirmedBy, type Lease } from '../leases/lease.ts'
import { type Asked, byName, planTurn, type Turn, type TurnTools, takeTurn } from '../leases/turn.ts'
import { betweenMs, endPaceLeases, endRobotsFetch, laneOf, lanesOf, type PaceLease, release } from '../ledger.ts'

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
  /** the robots fetch holds one of these lanes already: the hop is one more request in it */
  isShared: boolean
  /** called in the tick in which the bytes leave */
  lastCheck: LastCheck
  confirm: Confirm
  /** `load`: what the site said by its answer */
  complete(exchange: Pick<Exchange, 'kind' | 'endedAt' | 'timing'>, load?: SiteLoad): Promise<void>
  /** nothing was sent */
  release(): Promise<void>
}

/** late: the lane is not due before the deadline. blocked: an operator has blocked the origin. */
export type AcquireHop = (hop: Hop) => Promise<HopLane | 'late' | 'blocked'>

/** A ledger that does not answer is called again after this. */
const AGAIN_MS = 250

/**
 * Waits until the hop's lane and its pace groups are due, and no other robots fetch of its origin is in flight.
 * @param lease  of the robots fetch that the hop belongs to
 */
export const hopLanes =
  (lease: Lease, tools: TurnTools): AcquireHop =>
  async ({ origin, isRobots, deadlineMs, tookMs }) => {
    const { agent } = lease
    const began = performance.now()
    const isLate = (waitMs: number): boolean => performance.now() + waitMs >= began + deadlineMs
    const asked: Asked = {
      agent,
      origin,
      delayMs: agent.minDelayMs,
      by: { agent: agent.key, origin: lease.origin },
      isHeld: (lane) => lease.fenceOf(lane) !== undefined,
    }
    const heldFence = lease.fenceOf({ agent: agent.key, origin })
    const { sharesLane } = await planTurn(asked, tools)
    // A lane that is held has just ended a request of this robots fetch: its delay is waited out here.
    const own = { adaptiveMs: delayAfter(agent, 0, tookMs), furtherMs: lease.owedByHopsMs }
    const waitMs = sharesLane ? betweenMs(lease.leases, own) : 0
    if (isLate(waitMs)) return 'late'
    if (waitMs > 0) await pause(waitMs)
    for (;;) {
      const turn = await takeTurn(asked, byName(asked, { isRobots, heldFence }, tools), tools).catch(whenAnswers)
      if (turn.kind === 'blocked') return 'blocked'
      if (turn.kind !== 'held') {
        if (isLate(turn.waitMs)) return 'late'
        await pause(turn.waitMs)
        continue
      }
      const lane = hopLane(lease, turn, { isShared: sharesLane, isOwnHeld: heldFence !== undefined }, tools)
      // The ledger may know of a longer delay of a lane that is held than the order: an operator has set one meanwhile.
      const missingMs = heldFence === undefined ? 0 : began + turn.leases.own.delayMs - performance.now()
      if (isLate(missingMs)) {
        await lane.release()
        return 'late'
      }
      if (missingMs > 0) await pause(missingMs)
      return lane
    }
  }

function whenAnswers(error: unknown): { kind: 'wait'; waitMs: number } {
  if (error instanceof LedgerUnavailableError) return { kind: 'wait', waitMs: AGAIN_MS }
  throw error
}

function hopLane(
  lease: Lease,
  { leases, asked, leaseMs, wrongAddress }: Turn,
  { isShared, isOwnHeld }: { isShared: boolean; isOwnHeld: boolean },
  { ledger, reporter }: TurnTools,
): HopLane {
  const { agent } = lease
  const { own, paceLeases } = leases
  // What was held before the hop ends with the robots fetch.
  const acquired: readonly PaceLease[] = isOwnHeld ? paceLeases : [...paceLeases, { ...own, ofSite: true }]
  const owedMs = Math.max(own.delayMs, ...paceLeases.filter(({ ofSite }) => ofSite).map(({ delayMs }) => delayMs))
  if (isShared) lease.owedByHopsMs = Math.max(lease.owedByHopsMs, owedMs)
  const report = reporter(asked.first, leaseMs)
  const lanes = () => [...lanesOf(leases), ...lease.leases.paceLeases.map(laneOf)]
  const { confirm, tooOld } = confirmedBy(ledger, asked.first, lanes)
  const endFetch = async (): Promise<void> => {
    if (own.origin !== lease.origin) await endRobotsFetch(ledger, own)
  }
  return {
    isShared,
    lastCheck: (address) => tooOld() ?? wrongAddress(address),
    confirm,
    async complete({ kind, endedAt, timing }, load = NORMAL_LOAD) {
      const adaptiveMs = delayAfter(agent, 0, kind === 'not-sent' ? undefined : timing.totalMs)
      await endPaceLeases(ledger, acquired, Math.max(owedMs, adaptiveMs), { endedAt, load }, report)
      crashPoint('hop.completed')
      await endFetch()
    },
    async release() {
      await release(ledger, acquired, report)
      await endFetch()
    },
  }
}
