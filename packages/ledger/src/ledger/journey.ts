/** The calls that carry a URL from its candidate to its outcome, in that order. Each concerns one partition. */
import { hostOf, type RedirectTarget } from '@decorum/protocol'
import type { RobotsState } from '@decorum/robots'
import type { CrawlBook } from '../crawls/book.ts'
import { takenElsewhere } from '../crawls/elsewhere.ts'
import { keepHopTurn, takeHopTurn } from '../hop-turns.ts'
import { laneName, listOf } from '../layout.ts'
import type { NotedExchange, Notes } from '../notes.ts'
import { bodyOf, robotsStatesOf } from '../origin-reads.ts'
import { firstUrlOf, poolLists } from '../pools.ts'
import { readTarget } from '../records/pending-text.ts'
import type {
  ClaimRequest,
  CompleteResult,
  Completion,
  GrantRequest,
  LaneRef,
  LeasedLane,
  NextRequest,
  Pending,
  RecordResult,
  ReserveRequest,
  Resolution,
  RobotsFetchEnd,
  RobotsRecord,
  SecondaryRequest,
  SiteLoad,
  StartRequest,
  StoreItem,
  StoreMark,
  StoreResult,
} from '../types.ts'
import { loadText } from '../verbs/complete.ts'
import type { Closing } from '../verbs/restore.ts'
import { DONE_MARK_MS } from '../verbs/store.ts'
import type { Partitions } from './partitions.ts'

export type OutboxEntry = { id: string; candidate: RedirectTarget }

/** Errors are ignored here, because notes are a side effect: the caller gets the error of the call itself. */
const ignored = (): void => {}

type Ended = Pick<Completion, 'agent' | 'origin' | 'fence' | 'delayMs' | 'elapsedMs' | 'tookMs'> & { load?: SiteLoad }

/** @param notes  undefined: no notes are written */
export function journeyCalls(partitions: Partitions, book: CrawlBook, notes: Notes | undefined) {
  const { redis, all, of, ofOrigin, placeOf, deadline, settings, timed, wall } = partitions
  /** To be called before the end is reported, so that the round trip to Redis is not counted. */
  const exchangeOf = ({ agent, origin, tookMs, elapsedMs, delayMs }: Ended): NotedExchange | undefined => {
    if (notes === undefined || tookMs === undefined) return undefined
    const endedAt = Math.round(wall(placeOf(origin)) - elapsedMs)
    return { agent, endedAt, ms: Math.round(tookMs), owedMs: Math.round(delayMs) }
  }
  const noteLoad = ({ origin, agent, load }: Ended, exchange: NotedExchange | undefined): void => {
    if (load !== undefined && load.kind !== 'normal') notes?.backOff(origin, agent, load, exchange)
  }
  const noteCompletion = (completion: Completion, exchange: NotedExchange | undefined): void => {
    const { origin, outcome, load } = completion
    noteLoad(completion, exchange)
    if (outcome !== undefined) notes?.outcome(outcome, origin, exchange)
    else if (load.kind === 'normal' && exchange !== undefined) notes?.request(origin, exchange)
  }
  const closingOf = ({ agent, origin, fence, delayMs, elapsedMs, load }: Ended): Closing => {
    const { scripts } = ofOrigin(origin)
    // Whatever elapsed time the holder of a permit reports, the exchange cannot have ended before its lease was granted. A fence is at
    // least the instant of the grant, in µs.
    const now = scripts.now()
    const endedAt = Math.min(now, Math.max(now - elapsedMs, fence / 1_000))
    return { lane: laneName(agent, origin), endedAt, delayMs, load: loadText(load, () => 0) }
  }
  /** Keeps the end of an exchange, to write it again if Redis loses it. */
  const keepClosed = (ended: Ended): void => ofOrigin(ended.origin).closings.ended(closingOf(ended))
  return {
    async store(partition: number, items: StoreItem[], mark?: StoreMark): Promise<StoreResult> {
      const { keys: own, verbs } = of(partition)
      const others = all.map(({ keys }) => keys).filter((keys) => keys !== own)
      const elsewhere = await takenElsewhere({ redis, others, deadline }, book, items)
      const result = await verbs.store(items, mark, elsewhere)
      if (result !== 'outcomes-full') for (const item of items) if ('outcome' in item) notes?.outcome(item.outcome)
      return result
    },
    /** Keeps the mark of a finished job for only an hour: for a gateway that was unreachable while another one did the same job. */
    async forgetMark(partition: number, name: string): Promise<void> {
      await timed(redis.pexpire(of(partition).keys.mark(name), DONE_MARK_MS), 'forgetMark')
    },
    /** The candidates that redirects led to, oldest first; with `after`, only those behind that id. */
    async outbox(partition: number, most: number, after?: string): Promise<OutboxEntry[]> {
      const from = after === undefined ? '-' : `(${after}`
      const rows = await timed(redis.xrange(of(partition).keys.outbox, from, '+', 'COUNT', most), 'outbox')
      return rows.map(([id, fields]) => ({
        id,
        candidate: readTarget(fields[1] as string),
      }))
    },
    async clearOutbox(partition: number, ids: string[]): Promise<void> {
      if (ids.length > 0) await timed(redis.xdel(of(partition).keys.outbox, ...ids), 'clearOutbox')
    },
    reserve: (partition: number, request: ReserveRequest) => of(partition).verbs.reserve(request),
    /** Reserves a lane for a robots.txt order that no URL of the lane needs. */
    claim: (request: ClaimRequest) => ofOrigin(request.origin).verbs.claim(request),
    /** The orders that wait for workers of a pool. */
    pool: (partition: number, name: string) =>
      poolLists(redis, of(partition).keys, name, { lifeMs: settings.reserveMs, deadline }),
    /**
     * Takes the turn for a robots fetch to follow a redirect to this origin; no other fetch may within `apartMs`. @returns 0: this call
     * took the turn; else ms until the next turn
     */
    hopTurn: (origin: string, whose: string, apartMs: number): Promise<number> =>
      takeHopTurn(redis, ofOrigin(origin).keys, `${hostOf(origin)} ${whose}`, apartMs, deadline),
    /** Sets how long a turn taken by `hopTurn` lasts from now: the delay of the lane is known only now. */
    keepHopTurn: (origin: string, whose: string, apartMs: number): Promise<void> =>
      keepHopTurn(redis, ofOrigin(origin).keys, `${hostOf(origin)} ${whose}`, apartMs, deadline),
    /** The URL of a lane that is in flight, by the priority and the crawl of its order. */
    firstUrlOf: (lane: LaneRef, priority: Pending['priority'], crawl: string): Promise<Pending | undefined> =>
      firstUrlOf(redis, ofOrigin(lane.origin).keys, lane, listOf(priority, crawl), deadline),
    start: (request: StartRequest) => ofOrigin(request.origin).verbs.start(request),
    /**
     * Checks whether a request that was started some time ago may still be sent, for the lanes of one partition that it holds. When it is
     * refused, `resolve` ends them: `unused` for a lease that was started, `release` for a secondary lease.
     */
    confirm: (held: LeasedLane[]) => ofOrigin(held[0]?.origin ?? '').verbs.confirm(held),
    /** Acquires a secondary lease, or returns how long to wait. `complete` with `secondary`, or `resolve` with `release`, ends it. */
    acquire: (request: SecondaryRequest) => ofOrigin(request.lanes[0]?.origin ?? '').verbs.acquire(request),
    /** The lease of a permit and of its pace lane, or why not. `complete` with `secondary`, or `resolve`, ends it. */
    grant: (request: GrantRequest) => ofOrigin(request.origin).verbs.grant(request),
    /** Another request under leases of one partition that are held: it waits for every gate and delay of all their lanes. */
    next: (request: NextRequest) => ofOrigin(request.held[0]?.origin ?? '').verbs.next(request),
    /** Lets the leases that one permit, or one order of a pool, holds in one partition last `leaseMs` from now: all of them, or none. */
    extend: (held: LeasedLane[], leaseMs: number) => ofOrigin(held[0]?.origin ?? '').verbs.extend(held, leaseMs),
    complete(completion: Completion): Promise<CompleteResult> {
      const exchange = exchangeOf(completion)
      const ended = ofOrigin(completion.origin).verbs.complete(completion)
      ended.then((result) => {
        if (result !== 'completed') return
        keepClosed(completion)
        noteCompletion(completion, exchange)
      }, ignored)
      return ended
    },
    /**
     * Reports an answer that asked for a wait or a longer delay, when the lease of its exchange ended before the report arrived: the origin
     * is closed all the same, as soon as the ledger answers.
     */
    reportLate: (ended: Ended): void => ofOrigin(ended.origin).closings.endedLate(closingOf(ended)),
    resolve(partition: number, resolutions: Resolution[]): Promise<CompleteResult[]> {
      const ended = of(partition).verbs.resolve(resolutions)
      ended.then((results) => {
        for (const [n, { dropped, origin }] of resolutions.entries())
          if (results[n] === 'completed') for (const outcome of dropped) notes?.outcome(outcome, origin)
      }, ignored)
      return ended
    },
    /** Keeps the facts about an origin for the full time, because a permit for it is held. */
    keep: (origin: string, state: RobotsState) => ofOrigin(origin).verbs.keep(origin, state),
    async record(robotsRecord: RobotsRecord): Promise<RecordResult> {
      const exchange = exchangeOf(robotsRecord)
      const result = await ofOrigin(robotsRecord.origin).verbs.record(robotsRecord)
      const { origin, state } = robotsRecord
      if (result !== 'completed') return result
      if (robotsRecord.withPage !== true) keepClosed(robotsRecord)
      // No notes for an origin that was fetched only for a client's token: they would outlive the facts about the origin.
      if (robotsRecord.unclaimedBy !== undefined) return result
      if (state.answer !== undefined) notes?.robots(origin, state.answer, robotsRecord, exchange)
      if (robotsRecord.withPage !== true) noteLoad(robotsRecord, undefined)
      return result
    },
    endRobotsFetch: (end: RobotsFetchEnd) => ofOrigin(end.origin).verbs.endRobotsFetch(end),
    /** The body of a robots.txt. */
    body: (partition: number, hash: string): Promise<Uint8Array | undefined> =>
      bodyOf(redis, of(partition).keys, hash, deadline),
    /** The robots states of origins of one partition, in the order given. */
    robotsStates(partition: number, origins: string[]): Promise<{ version: number; state: RobotsState }[]> {
      const { keys, scripts } = of(partition)
      return robotsStatesOf(redis, keys, scripts, origins, deadline)
    },
    reap: (partition: number) => of(partition).verbs.reap(),
  }
}
