/** The lane of a hop: each redirect of a robots.txt is one more request, which needs the lane and pace groups of its origin. */
import { type LeasedLane, LedgerUnavailableError, type NextRequest } from '@decorum/ledger'
import { delayAfter } from '@decorum/politeness'
import { crashPoint, pause, type Since, sinceNow } from '@decorum/runtime'
import type { Exchange } from '../http/answer.ts'
import { confirmedBy, type Lease } from '../leases/lease.ts'
import { type Asked, byName, planTurn, type Turn, type TurnTools, takeTurn } from '../leases/turn.ts'
import {
  betweenMs,
  endPaceLeases,
  endRobotsFetch,
  laneOf,
  lanesOf,
  type NextTurns,
  next,
  type PaceLease,
  release,
} from '../ledger.ts'
import { NORMAL_LOAD } from '../load.ts'

/** One hop of a robots fetch. */
export type Hop = {
  origin: string
  /** its URL is a robots.txt: it counts as the one robots fetch of that origin */
  isRobots: boolean
  deadlineMs: number
  /** the slowest exchange so far with the origin that was asked first, ms, for agents whose delay adapts */
  tookMs?: number | undefined
}

export type HopLane = ReturnType<typeof hopLane>

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
    const lane = { agent: agent.key, origin }
    const until = performance.now() + deadlineMs
    const isLate = (waitMs: number): boolean => performance.now() + waitMs >= until
    const asked: Asked = {
      agent,
      origin,
      delayMs: agent.minDelayMs,
      by: { agent: agent.key, origin: lease.origin },
      isHeld: (one) => lease.leaseOf(one) !== undefined,
    }
    const { held } = await planTurn(asked, tools)
    const isShared = held.length > 0
    let since = sinceNow()
    if (isShared) {
      const leases = held.flatMap((one) => lease.leaseOf(one) ?? []).map(laneOf)
      const delayMs = betweenMs(lease.leases, {
        adaptiveMs: delayAfter(agent, 0, tookMs),
        furtherMs: lease.owedByHopsMs,
      })
      const allowed = await nextUnder(leases, { kind: 'hop', lane, delayMs, isRobots }, isLate, tools)
      if (typeof allowed === 'string') return allowed
      since = allowed
    }
    const own = lease.leaseOf(lane)
    const ownHeld = own && { lease: own, leaseMs: lease.leaseMs, since }
    for (;;) {
      const turn = await takeTurn(asked, byName(asked, { isRobots, held: ownHeld }, tools), tools).catch(whenAnswers)
      if (turn.kind === 'blocked') return 'blocked'
      if (turn.kind === 'held') return hopLane(lease, turn, { isShared, isOwnHeld: own !== undefined }, tools)
      if (isLate(turn.waitMs)) return 'late'
      await pause(turn.waitMs)
    }
  }

/**
 * Waits until one more request may be sent under leases that are held: the one before it, of the same robots fetch, has just ended.
 * @returns when the ledger was asked
 */
async function nextUnder(
  held: LeasedLane[],
  request: Omit<NextRequest, 'held' | 'elapsedMs' | 'turn'>,
  isLate: (waitMs: number) => boolean,
  { ledger }: TurnTools,
): Promise<Since | 'late' | 'blocked'> {
  const ended = performance.now()
  const turns: NextTurns = new Map()
  for (;;) {
    const since = sinceNow()
    const elapsedMs = performance.now() - ended
    const answer = await next(ledger, held, { ...request, elapsedMs }, turns).catch(whenAnswers)
    if (answer.kind === 'blocked') return answer.kind
    const waitMs = 'waitMs' in answer ? answer.waitMs : answer.kind === 'busy' ? AGAIN_MS : Number.POSITIVE_INFINITY
    if (isLate(waitMs)) return 'late'
    await pause(waitMs)
    if (answer.kind === 'granted') return since
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
) {
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
    /** the robots fetch holds one of these lanes already: the hop is one more request in it */
    isShared,
    /** called in the tick in which the bytes leave */
    lastCheck: (address: string | undefined) => tooOld() ?? wrongAddress(address),
    confirm,
    /** @param load  what the site said by its answer */
    async complete(
      { kind, endedAt, timing }: Pick<Exchange, 'kind' | 'endedAt' | 'timing'>,
      load = NORMAL_LOAD,
    ): Promise<void> {
      const adaptiveMs = delayAfter(agent, 0, kind === 'not-sent' ? undefined : timing.totalMs)
      await endPaceLeases(ledger, acquired, Math.max(owedMs, adaptiveMs), { endedAt, load }, report)
      crashPoint('hop.completed')
      await endFetch()
    },
    /** nothing was sent */
    async release(): Promise<void> {
      await release(ledger, acquired, report)
      await endFetch()
    },
  }
}
