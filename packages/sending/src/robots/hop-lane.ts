/** The lane of a hop: each redirect of a robots.txt is another request, which needs the lane and pace groups of its origin. */
import { type LeasedLane, LedgerUnavailableError, type NextRequest } from '@decorum/ledger'
import { delayAfter } from '@decorum/politeness'
import { crashPoint, type Since, sinceNow } from '@decorum/runtime'
import type { Exchange } from '../http/answer.ts'
import { confirmedBy, type Lease } from '../leases/lease.ts'
import { byName, type LaneRequest, planTurn, type Turn, type TurnTools, takeTurn } from '../leases/turn.ts'
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
import type { HopLines } from './hop-lines.ts'

/** One hop of a robots fetch. */
export type Hop = {
  origin: string
  /** whether its URL is a robots.txt: then it counts as the one robots fetch of that origin */
  isRobots: boolean
  deadlineMs: number
  /** the slowest exchange so far with the first request's origin, ms, for agents with an adaptive delay */
  tookMs?: number | undefined
}

export type HopLane = ReturnType<typeof hopLane>

/** late: the lane is not due before the deadline. blocked: an operator has blocked the origin. */
export type AcquireHop = (hop: Hop) => Promise<HopLane | 'late' | 'blocked'>

/** Dependencies of waiting hops. */
export type HopTools = TurnTools & {
  /** the queue of this process; absent: it makes a single robots fetch */
  hopLines?: HopLines
  /** waits without using a slot of its fetcher; absent: there are no slots */
  outside?: <T>(wait: () => Promise<T>) => Promise<T>
}

/** A ledger that does not answer is called again after this time. */
const AGAIN_MS = 250

/**
 * Waits until the hop's lane and its pace groups are due, and no other robots fetch of its origin is in flight.
 * @param lease  of the robots fetch that the hop belongs to
 */
export const hopLanes =
  (lease: Lease, tools: HopTools): AcquireHop =>
  async ({ origin, isRobots, deadlineMs, tookMs }) => {
    const { agent } = lease
    const { clock } = tools.ledger
    const { hopLines, outside = (wait) => wait() } = tools
    const waitFor = (ms: number) => outside(() => clock.sleep(ms))
    const lane = { agent: agent.key, origin }
    const until = clock.monotonic() + deadlineMs
    const isLate = (waitMs: number): boolean => clock.monotonic() + waitMs >= until
    const requested: LaneRequest = {
      agent,
      origin,
      delayMs: agent.minDelayMs,
      by: { agent: agent.key, origin: lease.origin },
      isHeld: (one) => lease.leaseOf(one) !== undefined,
    }
    const { held } = await planTurn(requested, tools)
    const shared = held.flatMap((one) => lease.leaseOf(one) ?? []).map(laneOf)
    const isShared = shared.length > 0
    let since = sinceNow(clock)
    if (isShared) {
      const delayMs = betweenMs(lease.leases, {
        adaptiveMs: delayAfter(agent, 0, tookMs),
        furtherMs: lease.owedByHopsMs,
      })
      const allowed = await nextUnder(shared, { kind: 'hop', lane, delayMs, isRobots }, isLate, waitFor, tools)
      if (typeof allowed === 'string') return allowed
      since = allowed
    }
    const own = lease.leaseOf(lane)
    const ownHeld = own && { lease: own, leaseMs: lease.leaseMs, since }
    const acquire = async () => {
      for (;;) {
        const turn = await takeTurn(requested, byName(requested, { isRobots, held: ownHeld }, tools), tools).catch(
          whenAnswers,
        )
        if (turn.kind === 'blocked') return 'blocked'
        if (turn.kind === 'held') return hopLane(lease, turn, { shared, since, isOwnHeld: own !== undefined }, tools)
        if (isLate(turn.waitMs)) return 'late'
        await waitFor(turn.waitMs)
      }
    }
    // A hop within the host of the robots fetch already keeps that host's delay.
    if (isShared || hopLines === undefined) return acquire()
    return hopLines.inTurn({ from: lease.origin, origin, delayMs: requested.delayMs, isLate, wait: outside }, acquire)
  }

/**
 * Waits until one more request may be sent under leases that are held: the previous one, of the same robots fetch, has just ended.
 * @returns when the ledger was called
 */
async function nextUnder(
  held: LeasedLane[],
  request: Omit<NextRequest, 'held' | 'elapsedMs' | 'turn'>,
  isLate: (waitMs: number) => boolean,
  waitFor: (ms: number) => Promise<void>,
  { ledger }: TurnTools,
): Promise<Since | 'late' | 'blocked'> {
  const ended = ledger.clock.monotonic()
  const turns: NextTurns = new Map()
  for (;;) {
    const since = sinceNow(ledger.clock)
    const elapsedMs = ledger.clock.monotonic() - ended
    const answer = await next(ledger, held, { ...request, elapsedMs }, turns).catch(whenAnswers)
    if (answer.kind === 'blocked') return answer.kind
    const waitMs = 'waitMs' in answer ? answer.waitMs : answer.kind === 'busy' ? AGAIN_MS : Number.POSITIVE_INFINITY
    if (isLate(waitMs)) return 'late'
    if (waitMs > 0) await waitFor(waitMs)
    if (answer.kind === 'granted') return since
  }
}

function whenAnswers(error: unknown): { kind: 'wait'; waitMs: number } {
  if (error instanceof LedgerUnavailableError) return { kind: 'wait', waitMs: AGAIN_MS }
  throw error
}

/** @param shared  lanes that the robots fetch holds already; `since`: when the ledger was called for one more request under them */
function hopLane(
  lease: Lease,
  { leases, requested, leaseMs, wrongAddress }: Turn,
  { shared, since, isOwnHeld }: { shared: LeasedLane[]; since: Since; isOwnHeld: boolean },
  { ledger, reporter }: TurnTools,
) {
  const { agent } = lease
  const { own, paceLeases } = leases
  const isShared = shared.length > 0
  // Leases from before the hop end with the robots fetch.
  const acquired: readonly PaceLease[] = isOwnHeld ? paceLeases : [...paceLeases, { ...own, ofSite: true }]
  const owedMs = Math.max(own.delayMs, ...paceLeases.filter(({ ofSite }) => ofSite).map(({ delayMs }) => delayMs))
  if (isShared) lease.owedByHopsMs = Math.max(lease.owedByHopsMs, owedMs)
  const report = reporter(requested.first, leaseMs)
  // Gates of lanes that were held before may have closed during the wait for the others.
  const all = [...lanesOf(leases), ...lease.leases.paceLeases.map(laneOf), ...shared]
  const lanes = [...new Map(all.map((one) => [`${one.agent} ${one.origin}`, one])).values()]
  const { confirm, tooOld } = confirmedBy(ledger, isShared ? since : requested.first, () => lanes)
  let requestedMs = 0
  /** when its exchange ended, once that was reported */
  let sentUntil: number | undefined
  const endFetch = async (): Promise<void> => {
    if (own.origin !== lease.origin) await endRobotsFetch(ledger, own)
  }
  return {
    /** the delay that the lane owes after the hop, ms */
    delayMs: owedMs,
    /** whether the robots fetch holds one of these lanes already: then the hop is one more request in it */
    isShared,
    /** called in the tick in which the bytes leave */
    lastCheck: (address: string | undefined) => tooOld() ?? wrongAddress(address),
    confirm,
    /** The rules of the hop's origin, in its answer or in that of a later hop, ask for this delay, ms. */
    owe(delayMs: number): void {
      requestedMs = delayMs
      if (isShared) lease.owedByHopsMs = Math.max(lease.owedByHopsMs, delayMs)
      if (sentUntil === undefined || delayMs === 0) return
      const elapsedMs = ledger.clock.monotonic() - sentUntil
      for (const one of acquired) if (one.ofSite) ledger.reportLate({ ...laneOf(one), delayMs, elapsedMs })
    },
    /** @param load  the load of the site by its answer */
    async complete(
      { kind, endedAt, timing }: Pick<Exchange, 'kind' | 'endedAt' | 'timing'>,
      load = NORMAL_LOAD,
    ): Promise<void> {
      sentUntil = endedAt
      const adaptiveMs = delayAfter(agent, 0, kind === 'not-sent' ? undefined : timing.totalMs)
      await endPaceLeases(ledger, acquired, Math.max(owedMs, adaptiveMs, requestedMs), { endedAt, load }, report)
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
