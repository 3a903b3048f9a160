/** `openLedger`: all that the fleet shares, one function per verb, and the partitions behind it. */
import type { Candidate } from '@decorum/protocol'
import { DEFAULT_CRAWL, hostOf, MINUTE, outcomesKey, partitionOf } from '@decorum/protocol'
import { dropPending } from './admin/drop-pending.ts'
import { type FoundPending, findInJobs, findOutcome, findPending } from './admin/find-candidate.ts'
import { listOperations } from './admin/operate.ts'
import { takenElsewhere } from './crawls/elsewhere.ts'
import {
  type Crawl,
  type CrawlBook,
  changeCrawl,
  crawlBook,
  forgetCrawl,
  healCrawls,
  limitCrawls,
  listCrawls,
  sweepCrawl,
} from './crawls/keeper.ts'
import { type Changing, type CrawlRecord, endingOf } from './crawls/record.ts'
import { checkRedis, readTags, registerPartitions } from './fit.ts'
import { areStored, type Intake, intakeOf, waitingForIntake } from './intake-reads.ts'
import { ANNOUNCED, contentKey, EPOCH, KEPT, type Keys, keysOf, listOf, STOPS } from './layout.ts'
import { another, type LinkOptions, linkTo, type RedisLink } from './link.ts'
import { type Note, notesOf } from './notes.ts'
import { bodyOf, robotsStatesOf } from './origin-reads.ts'
import { crawlsIn, oldestOutcome, trimOutcomes } from './outcomes.ts'
import { headOf, type PoolLists, poolLists } from './pools.ts'
import { reachRedis } from './reach.ts'
import { type Forgetting, type Forgotten, forgetReader, type Reader, readersOf } from './readers.ts'
import { answersOf, defineVerbs, type Scripts, scriptsOf, withDeadline } from './scripts.ts'
import { type LedgerOptions, type LiveLimits, verbSettings } from './settings.ts'
import { type StopKeeper, stopKeeper } from './stops/keeper.ts'
import {
  EVERYTHING,
  type Lifting,
  type Stopping,
  type StopRecord,
  stopsInForce,
  withoutStops,
  withStops,
} from './stops/record.ts'
import { thatAnswer } from './that-answer.ts'
import type {
  Cancelled,
  ClaimAnswer,
  CompleteResult,
  Completion,
  Confirmation,
  Entry,
  ExtendAnswer,
  GrantAnswer,
  GrantRequest,
  HeldLane,
  LaneInOrigin,
  LaneList,
  LaneRef,
  LaneScan,
  LearnResult,
  Operation,
  OperationRecord,
  OriginView,
  Outcome,
  Parked,
  ParkItem,
  ParkMark,
  ParkResult,
  PartitionView,
  PendingUrl,
  Reaped,
  ReserveRequest,
  ReserveResult,
  Resolution,
  RobotsFetchEnd,
  RobotsRecord,
  SecondaryRequest,
  ShutList,
  SitePolicyToTell,
  StartAnswer,
  StartRequest,
  WantedCandidate,
} from './types.ts'
import { type Member, type Roll, readMembers } from './verbs/fleet.ts'
import type { LeastDelay } from './verbs/least-delays.ts'
import { DONE_MARK_MS } from './verbs/park.ts'
import type { Sample } from './verbs/sample.ts'
import { type Verbs, verbsOf } from './verbs.ts'
import { hearWakes, type Wakes } from './wakes.ts'
import { whyHeld } from './why-held.ts'

export type OutboxEntry = { id: string; candidate: Candidate & { id: string } }

export type Ledger = {
  readonly tags: string[]
  /**
   * Tags from before the number of partitions was changed, counted on behind the others: no host lives there any more, but
   * candidates may come in by their queues, and outcomes lie in their streams
   */
  readonly retired: string[]
  /** what works but weakens a promise, for the log */
  readonly warnings: string[]
  partitionOf(origin: string): number
  park(partition: number, items: ParkItem[], mark?: ParkMark): Promise<ParkResult>
  /** its job is done: the mark is kept for an hour more, for a gateway that was away while another one did the same job */
  forgetMark(partition: number, name: string): Promise<void>
  reserve(partition: number, request: ReserveRequest): Promise<ReserveResult>
  start(request: StartRequest): Promise<StartAnswer>
  /**
   * Asks whether a request that was started some time ago may still be sent, for the lanes of one partition that it holds. When it
   * is refused they are given back by `resolve`: `unused` for a lease that was started, `release` for a secondary lease.
   */
  confirm(held: HeldLane[]): Promise<Confirmation>
  /** A secondary lease, at once or later. It ends by `complete` with `secondary`, or by `resolve` with `release`. */
  acquire(request: SecondaryRequest): Promise<Entry>
  /** The lease of a permit and of its pace lane, or why not. It ends by `complete` with `secondary`, or by `resolve`. */
  grant(request: GrantRequest): Promise<GrantAnswer>
  /** the leases that one permit, or one order of a pool, holds in one partition last so much longer from now on, all of them or none */
  extend(held: HeldLane[], leaseMs: number): Promise<ExtendAnswer>
  /** reserves a lane for an order of its origin's robots.txt that no URL of the lane asks for */
  claim(lane: LaneRef): Promise<ClaimAnswer>
  /** orders on their way to the workers of a pool */
  pool(partition: number, name: string): PoolLists
  /** the URL of a lane that is in flight, by the priority and the crawl that its order tells */
  headOf(lane: LaneRef, priority: Parked['priority'], crawl: string): Promise<Parked | undefined>
  complete(completion: Completion): Promise<CompleteResult>
  resolve(partition: number, resolutions: Resolution[]): Promise<CompleteResult[]>
  record(robotsRecord: RobotsRecord): Promise<LearnResult>
  endRobotsFetch(end: RobotsFetchEnd): Promise<CompleteResult>
  reap(partition: number): Promise<Reaped>
  body(partition: number, hash: string): Promise<Uint8Array | undefined>
  /** of origins of one partition, in order */
  robotsStates(partition: number, origins: string[]): Promise<{ version: number; state: OriginView['state'] }[]>
  viewOrigin(origin: string, agents: string[]): Promise<OriginView>
  /** a bounded number of lanes in order; a lane without URLs is listed until its delay is over */
  viewLanes(partition: number, list: LaneList): Promise<LaneInOrigin[]>
  viewPartition(partition: number): Promise<PartitionView>
  /** origins that a gate holds, by when it opens, each with its lane of each agent; `looked`: of the list, those of other domains too */
  viewShut(
    partition: number,
    list: ShutList,
    agents: string[],
  ): Promise<{ origins: (OriginView & { place: number })[]; looked: number }>
  /** lanes with URLs of one domain, from about five thousand that are looked at; the cursor '0' says that those were the last */
  scanLanes(
    partition: number,
    scan: LaneScan,
  ): Promise<{ lanes: (LaneInOrigin & { place: string })[]; cursor: string; skip: number; looked: number }>
  /** what happened to an origin lately, newest first: at most 30 notes, kept for three days, of 10,000 origins of each partition */
  notesOf(origin: string): Promise<Note[]>
  /** the latest examples of outcomes with one of these reasons (`countedAs`), newest first: of each at most 10, kept for a day */
  examples(partition: number, reasons: readonly string[]): Promise<Note[][]>
  /** takes a sample for `samples`, unless one was taken within the last half minute */
  sample(partition: number): Promise<boolean>
  /** how the partition was in the last hours, newest first */
  samples(partition: number, most: number): Promise<Sample[]>
  /** candidates that no gateway has stored in lanes yet */
  intake(partition: number): Promise<Intake>
  operate(operation: Operation, agents: string[]): Promise<void>
  /** what operators did, newest first */
  operations(partition: number, most: number): Promise<OperationRecord[]>
  /** ends what is pending in a lane now; @returns how many URLs */
  dropBacklog(lane: LaneRef, by: string, reason: string, signal?: AbortSignal): Promise<number>
  /**
   * Where a candidate is in a lane, in the order in which URLs are fetched; the same URL may be there under several ids.
   * @param most  URLs that are looked through; by default so many that it takes Redis about a millisecond
   */
  findPending(lane: LaneRef, wanted: WantedCandidate, most?: number): Promise<FoundPending>
  /** whether one of the oldest jobs of candidates of a partition holds it; `complete`: there are no others */
  findInJobs(
    partition: number,
    wanted: { id?: string; url?: string; crawl?: string },
  ): Promise<{ found: boolean; complete: boolean }>
  /** its outcome, if it is among the latest of a crawl in this partition */
  findOutcome(partition: number, crawl: string, wanted: { id?: string; url?: string }): Promise<Outcome | undefined>
  /** the partitions in which a candidate of this id is stored; ids that a gateway has assigned are not known there */
  storedIn(id: string, crawl?: string): Promise<number[]>
  /** ends a pending URL with this outcome, in one step: one that is reserved too, but none whose request may have been sent */
  cancel(url: PendingUrl, outcome: Outcome): Promise<Cancelled>
  /** for each candidate, of which one pipeline asks, whether one of its id is stored: pending, or in flight */
  areStored(candidates: readonly { origin: string; id: string; crawl?: string }[]): Promise<boolean[]>
  /** jobs of candidates and targets of redirects that no gateway has stored in lanes yet, retired partitions included */
  waitingForIntake(): Promise<number>
  /** candidates born from redirects, oldest first; those behind an id when one is given */
  outbox(partition: number, most: number, after?: string): Promise<OutboxEntry[]>
  clearOutbox(partition: number, ids: string[]): Promise<void>
  /** of the default crawl, and of some others in turn, so that all are trimmed in time */
  trimOutcomes(partition: number): Promise<void>
  /** the groups that read a crawl's outcomes, those with most to read first; of the partitions that answer */
  readers(crawl: string): Promise<Reader[]>
  /** how many outcomes of a crawl are stored in each partition that answers: at the limit, dispatch pauses */
  unread(crawl: string): Promise<number[]>
  /** forgets a group and writes that down; a partition that does not answer makes it throw, and asking again is safe */
  forgetReader(forgetting: Forgetting): Promise<Forgotten>
  /** the crawls with their counts, the default one first; of the partitions that answer */
  crawls(names?: readonly string[]): Promise<Crawl[]>
  /**
   * Sets weight, pause, end, limits or settings of a crawl, or cancels it.
   * @returns the record, and how many partitions did not answer: they are told when they do
   * @throws  CrawlError when that cannot be done: nothing was changed
   */
  changeCrawl(changing: Changing): Promise<{ record: CrawlRecord; unreached: number }>
  /** forgets a crawl that holds no URLs and that no group reads */
  forgetCrawl(name: string): Promise<'forgotten' | 'stored' | 'read' | 'absent'>
  /** the records of crawls as a gateway keeps them; `look` brings them up to date */
  readonly crawlBook: CrawlBook
  /** tells a partition what it does not know yet of crawls */
  healCrawls(partition: number): Promise<void>
  /** ends crawls whose end has come, and shares limits among the partitions */
  limitCrawls(): Promise<void>
  /** ends some URLs of the crawls that are over; @returns how many */
  sweepCrawls(partition: number): Promise<number>
  /** says that this process is alive (call once a second; lifeMs 0: goodbye) and hears who else is */
  announce(member: Member, lifeMs?: number): Promise<Member[]>
  /** leases in each partition, as of the latest `announce` or `members`; 0 for one that does not answer */
  inFlight(): readonly number[]
  members(): Promise<Member[]>
  /** calls back when a lane becomes due before all others */
  onWake(listener: (partition: number) => void): Promise<void>
  /**
   * The ledger's time, ms: never ahead of it; while its partition has not answered yet, the furthest of the others. It is
   * Redis's clock until that leaps (docs/decisions/0014-a-clock-that-leaps.md): what the ledger hands out is told in it.
   */
  now(partition?: number): number
  /** Redis's own clock, ms: for instants that come from elsewhere, such as an expiry or the date in a Retry-After */
  wall(partition?: number): number
  /** every lease has ended and Redis is about to be stopped: after it is started again, no lease has to be waited for */
  announceRestart(): Promise<void>
  /**
   * The least delay of each agent in this version of the fleet's configuration: a lane owes no less, whoever asks. Resolves when every
   * partition knows it. An older version changes nothing.
   */
  setLeastDelays(version: number, leastDelays: readonly LeastDelay[]): Promise<void>
  /** The policies of sites in this version of the fleet's configuration, likewise. Lanes that an earlier version held are looked at again. */
  setSitePolicies(version: number, policies: readonly SitePolicyToTell[]): Promise<void>
  /**
   * Emergency stops: nothing that they name is started any more, by anybody, from the answer on. What is in flight ends.
   * @returns  the stops, and how many partitions did not answer: nothing can start there, and each is told as soon as it answers
   * @throws   StopError when that cannot be done: nothing was changed
   */
  stop(stopping: Stopping): Promise<{ record: StopRecord; unreached: number }>
  lift(lifting: Lifting): Promise<{ record: StopRecord; unreached: number }>
  /** the stops as this process knows them: as of the latest reply of a partition */
  readonly stops: Pick<StopKeeper, 'latest' | 'why' | 'hasAddresses'>
  /** other limits from the next call on */
  setLimits(limits: LiveLimits): void
  /** instant of the oldest outcome that some reader may still want, ms; undefined: there is none. Of all partitions, or it throws */
  oldestOutcome(): Promise<number | undefined>
  /** Announces, for the next minute, that this process serves at `base` the pages that it keeps. */
  announceContent(base: string): Promise<void>
  /** Whether a process has announced that. Nobody else is asked for pages, nor sent the fleet's token. */
  keepsContent(base: string): Promise<boolean>
  isReady(): boolean
  close(): Promise<void>
}

/** Commands fail at once rather than queue, and are not sent again by themselves. */
const CONNECTION: LinkOptions = { away: 'fail', lazyConnect: true }

const MEMBER_LIFE_MS = 5_000
/** Crawls whose outcomes are trimmed by one call, beside the default one. */
const TRIMMED_AT_ONCE = 50

/** Whoever asked is told; notes only listen. */
const ignored = (): void => {}

/** @throws LedgerUnfitError when this Redis cannot keep the promises · LedgerUnavailableError when there is none */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const callDeadlineMs = options.callDeadlineMs ?? 2_000
  const own = typeof options.redis === 'string'
  const redis = typeof options.redis === 'string' ? linkTo(options.redis, CONNECTION) : options.redis
  return reachRedis(redis, { callDeadlineMs, isOwn: own }, () => {
    defineVerbs(redis)
    return compose(redis, own, options, callDeadlineMs)
  })
}

type Partition = { redis: RedisLink; keys: Keys; scripts: Scripts; verbs: Verbs }

async function compose(
  redis: RedisLink,
  own: boolean,
  options: LedgerOptions,
  callDeadlineMs: number,
): Promise<Ledger> {
  const warnings = await checkRedis(redis, callDeadlineMs)
  const verbs = verbSettings(options)
  const holdMs = verbs.leaseMs + verbs.quarantineMs
  const isNew = options.isNew ?? options.nowMs !== undefined
  const isVirtual = options.nowMs !== undefined // the age of the Redis server says nothing then
  const known = isNew || isVirtual ? { isNew } : { holdMs }
  const tags = await registerPartitions(redis, options.partitions, known)
  const { retired } = await readTags(redis)
  const stopsOf = (place: number) => ({
    get version() {
      return stops.version
    },
    seen: (version: number) => stops.seen(place, version),
  })
  const partitions = [...tags, ...retired].map((tag, place): Partition => {
    const keys = keysOf(tag)
    const scripts = scriptsOf(redis, keys, {
      stops: place < tags.length ? stopsOf(place) : undefined,
      partitions: tags.length,
      holdMs,
      callDeadlineMs,
      nowMs: options.nowMs,
      mostMs: options.mostMs,
      onEpoch: () => void sayWhyHeld(keys, scripts),
      onCall: options.onCall,
    })
    return { redis, keys, scripts, verbs: verbsOf(scripts, verbs) }
  })
  const notice = options.onNotice ?? (() => {})
  /** Reads the epoch again, because several calls may have seen the new one at once. */
  const sayWhyHeld = async (keys: Keys, scripts: Scripts): Promise<void> => {
    const found = await timed(redis.hmget(keys.epoch, EPOCH.id, EPOCH.why, EPOCH.holdUntil), 'epoch').catch(() => [])
    const sentence = whyHeld(found[1] ?? '', Number(found[2]) - scripts.now(), tags.length === 1 ? '' : keys.tag)
    if (sentence === undefined || said.get(keys.tag) === found[0]) return
    said.set(keys.tag, found[0] ?? '')
    notice(sentence)
  }
  const said = new Map<string, string>()
  const of = (partition: number): Partition => {
    const found = partitions[partition]
    if (found === undefined) throw new RangeError(`there is no partition ${partition}`)
    return found
  }
  const place = tags.length === 1 ? () => 0 : remembering((origin) => partitionOf(hostOf(origin), tags.length))
  const timed = <T>(work: Promise<T>, what: string): Promise<T> => withDeadline(work, callDeadlineMs, what)
  const now = (partition = 0): number =>
    of(partition).scripts.now() || Math.max(...partitions.map(({ scripts }) => scripts.now()))
  let wakes: Wakes | undefined
  const active = partitions.slice(0, tags.length)
  const wall = (partition = 0): number => now(partition) - of(partition).scripts.aheadMs()
  const stops = stopKeeper(
    active.map(({ keys, verbs }) => ({
      write: (record, expected) => verbs.stops(record, wall(), expected),
      read: () => timed(redis.hget(keys.stops, STOPS.record), 'stops'),
    })),
    wall,
  )
  const crawlPlaces = { redis, places: active, all: partitions.map(({ keys }) => keys), callDeadlineMs }
  const book = crawlBook(crawlPlaces)
  const trimmedTo = new Map<number, number>()
  // Virtual time belongs to the test, which writes what it wants to see itself.
  const notes = isVirtual ? undefined : notesOf(place, (partition, items) => of(partition).verbs.note(items))
  const noteCompletion = ({ origin, agent, load, outcome }: Completion): void => {
    if (load.kind !== 'normal')
      notes?.backOff(origin, agent, load.kind, load.kind === 'asked-for-less' ? load.retryAfterMs : undefined)
    if (outcome !== undefined) notes?.outcome(outcome, origin)
  }
  const inFlight = tags.map(() => 0)
  const rolls = (announced?: { member: Member; lifeMs: number }): Promise<Roll[]> =>
    thatAnswer(
      active.map(async ({ verbs: { fleet } }, at) => {
        const roll = await fleet(announced).catch((error: unknown) => {
          inFlight[at] = 0
          throw error
        })
        inFlight[at] = roll.leases
        return roll
      }),
    )
  // The first calls also tell the clock and the epoch.
  const seen = await thatAnswer(active.map(({ keys, verbs }) => verbs['view-partition'](keys.tag)))
  await Promise.all(active.map(({ keys, scripts }) => sayWhyHeld(keys, scripts)))
  await stops.settled() // a partition that knows no stop yet is told before this process grants anything in it
  if (seen.length < tags.length)
    warnings.push(
      `${tags.length - seen.length} of ${tags.length} partitions do not answer: a master of the cluster is away`,
    )

  return {
    tags,
    retired,
    warnings,
    partitionOf: place,
    async park(partition, items, mark) {
      const own = of(partition).keys
      const others = crawlPlaces.all.filter((keys) => keys !== own)
      const elsewhere = await takenElsewhere({ redis, others, callDeadlineMs }, book, items)
      const result = await of(partition).verbs.park(items, mark, elsewhere)
      for (const item of items) if ('outcome' in item) notes?.outcome(item.outcome)
      return result
    },
    forgetMark: async (partition, name) =>
      void (await timed(redis.pexpire(of(partition).keys.mark(name), DONE_MARK_MS), 'forgetMark')),
    reserve: (partition, request) => of(partition).verbs.reserve(request),
    start: (request) => of(place(request.origin)).verbs.start(request),
    confirm: (held) => of(place(held[0]?.origin ?? '')).verbs.confirm(held),
    acquire: (request) => of(place(request.lanes[0]?.origin ?? '')).verbs.acquire(request),
    grant: (request) => of(place(request.origin)).verbs.grant(request),
    extend: (held, ms) => of(place(held[0]?.origin ?? '')).verbs.extend(held, ms),
    claim: (lane) => of(place(lane.origin)).verbs.claim(lane),
    pool: (partition, name) => poolLists(redis, of(partition).keys, name, { lifeMs: verbs.reserveMs, callDeadlineMs }),
    headOf: (lane, priority, crawl) =>
      headOf(redis, of(place(lane.origin)).keys, lane, listOf(priority, crawl), callDeadlineMs),
    complete(completion) {
      const ended = of(place(completion.origin)).verbs.complete(completion)
      ended.then((result) => result === 'completed' && noteCompletion(completion), ignored)
      return ended
    },
    resolve(partition, resolutions) {
      const ended = of(partition).verbs.resolve(resolutions)
      ended.then((results) => {
        for (const [n, { dropped, origin }] of resolutions.entries())
          if (results[n] === 'completed') for (const outcome of dropped) notes?.outcome(outcome, origin)
      }, ignored)
      return ended
    },
    async record(robotsRecord) {
      const result = await of(place(robotsRecord.origin)).verbs.record(robotsRecord)
      const { origin, state } = robotsRecord
      if (result === 'completed' && state.answer !== undefined) notes?.robots(origin, state.answer)
      return result
    },
    endRobotsFetch: (end) => of(place(end.origin)).verbs.endRobotsFetch(end),
    reap: (partition) => of(partition).verbs.reap(),
    body: (partition, hash) => bodyOf(redis, of(partition).keys, hash, callDeadlineMs),
    robotsStates(partition, origins) {
      const { keys, scripts } = of(partition)
      return robotsStatesOf(redis, keys, scripts, origins, callDeadlineMs)
    },
    viewOrigin: (origin, agents) => of(place(origin)).verbs['view-origin'](origin, agents),
    viewLanes: (partition, list) => of(partition).verbs['view-lanes'](list),
    viewPartition: (partition) =>
      of(partition)
        .verbs['view-partition'](tags[partition] as string)
        .then((view) => {
          const stop = stopsInForce(stops.record, wall()).find(({ name }) => name === EVERYTHING)
          return stop === undefined ? view : { ...view, stopped: stop.reason }
        }),
    viewShut: (partition, list, agents) => of(partition).verbs['view-shut'](list, agents),
    scanLanes: (partition, scan) => of(partition).verbs['scan-lanes'](scan),
    async notesOf(origin) {
      const key = of(place(origin)).keys.notes(origin)
      const texts = await timed(redis.lrange(key, 0, KEPT.notes - 1), 'notes')
      return texts.map((text) => JSON.parse(text) as Note)
    },
    async examples(partition, reasons) {
      const { keys } = of(partition)
      const pipeline = redis.pipeline()
      for (const reason of reasons) pipeline.lrange(keys.examples(reason), 0, KEPT.examples - 1)
      const lists = (await answersOf(pipeline, callDeadlineMs, 'examples')) as string[][]
      return lists.map((texts) => texts.map((text) => JSON.parse(text) as Note))
    },
    sample: (partition) => of(partition).verbs.sample(),
    async samples(partition, most) {
      const texts = await timed(redis.lrange(of(partition).keys.ring, 0, Math.min(most, KEPT.samples) - 1), 'samples')
      return texts.map((text) => JSON.parse(text) as Sample)
    },
    intake: (partition) => intakeOf(redis, of(partition).keys, wall(partition), callDeadlineMs),
    operate: (operation, agents) => of(place(operation.origin)).verbs.operate(operation, agents),
    operations: (partition, most) => listOperations(redis, of(partition).keys, most, callDeadlineMs),
    dropBacklog: (lane, by, reason, signal) => dropPending(of(place(lane.origin)), lane, by, reason, signal),
    findPending: (lane, wanted, most) =>
      timed(findPending(redis, of(place(lane.origin)).keys, lane, wanted, most), 'findPending'),
    findInJobs: (partition, wanted) => timed(findInJobs(redis, of(partition).keys, wanted), 'findInJobs'),
    findOutcome: (partition, crawl, wanted) =>
      timed(findOutcome(redis, of(partition).keys, crawl, wanted), 'findOutcome'),
    async storedIn(id, crawl = DEFAULT_CRAWL) {
      const found = await thatAnswer(
        active.map(async ({ keys }, partition) => {
          const [isStored] = await areStored(redis, keys, [{ id, crawl }], callDeadlineMs)
          return isStored === true ? partition : -1
        }),
      )
      return found.filter((partition) => partition >= 0)
    },
    async cancel(url, outcome) {
      const [result = 'absent'] = await of(place(url.origin)).verbs.cancel(url, [{ entry: url.entry, outcome }])
      if (result === 'cancelled') notes?.outcome(outcome, url.origin)
      return result
    },
    async areStored(candidates) {
      const byPartition = Map.groupBy(candidates.keys(), (at) => place(candidates[at]?.origin ?? ''))
      const found: boolean[] = []
      for (const [partition, places] of byPartition) {
        const ids = places.map((at) => candidates[at] ?? { id: '' })
        const stored = await areStored(redis, of(partition).keys, ids, callDeadlineMs)
        for (const [n, at] of places.entries()) found[at] = stored[n] === true
      }
      return found
    },
    async waitingForIntake() {
      const counts = partitions.map(({ keys }) => waitingForIntake(redis, keys, callDeadlineMs))
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
    },
    async outbox(partition, most, after) {
      const from = after === undefined ? '-' : `(${after}`
      const rows = await timed(redis.xrange(of(partition).keys.outbox, from, '+', 'COUNT', most), 'outbox')
      return rows.map(([id, fields]) => ({
        id,
        candidate: JSON.parse(fields[1] as string) as OutboxEntry['candidate'],
      }))
    },
    clearOutbox: async (partition, ids) =>
      void (ids.length > 0 && (await timed(redis.xdel(of(partition).keys.outbox, ...ids), 'clearOutbox'))),
    async trimOutcomes(partition) {
      const { keys } = of(partition)
      await timed(trimOutcomes(redis, keys), 'trimOutcomes')
      const crawls = (await timed(crawlsIn(redis, [keys.tag]), 'trimOutcomes')).sort()
      const from = trimmedTo.get(partition) ?? 0
      for (const crawl of crawls.slice(from, from + TRIMMED_AT_ONCE))
        await timed(trimOutcomes(redis, keys, crawl), 'trimOutcomes')
      trimmedTo.set(partition, from + TRIMMED_AT_ONCE < crawls.length ? from + TRIMMED_AT_ONCE : 0)
    },
    crawls: (names) => listCrawls(crawlPlaces, names),
    changeCrawl: (changing) => changeCrawl(crawlPlaces, changing, wall),
    forgetCrawl: (name) => forgetCrawl(crawlPlaces, name),
    crawlBook: book,
    healCrawls: (partition) => healCrawls(crawlPlaces, partition, book),
    limitCrawls: () => limitCrawls(crawlPlaces, book, wall()),
    async sweepCrawls(partition) {
      let ended = 0
      for (const name of book.names()) {
        const record = book.recordOf(name)
        if (endingOf(record) !== undefined)
          ended += await sweepCrawl(crawlPlaces, of(partition), name, record, wall(partition))
      }
      return ended
    },
    readers: (crawl) => timed(readersOf(redis, [...tags, ...retired], crawl), 'readers'),
    unread: (crawl) => thatAnswer(tags.map((tag) => timed(redis.xlen(outcomesKey(tag, crawl)), 'unread'))),
    forgetReader: (forgetting) => timed(forgetReader(redis, [...tags, ...retired], forgetting), 'forgetReader'),
    // Every partition hears from every process: one that lost its data learns which epoch running processes remember, and when the
    // master of one is away, the others still know which processes run.
    announce: async (member, lifeMs = MEMBER_LIFE_MS) => membersOf(await rolls({ member, lifeMs })),
    members: async () => membersOf(await rolls()),
    inFlight: () => inFlight,
    async onWake(listener) {
      const places = new Map(partitions.map(({ keys }, index) => [keys.wake, index]))
      const ring = (channel: string): void => {
        const partition = places.get(channel)
        if (partition !== undefined) listener(partition)
      }
      wakes?.close()
      const open = (): RedisLink => another(redis, { away: 'wait' })
      wakes = hearWakes(open, [...places.keys()], ring, { deadlineMs: callDeadlineMs })
      await wakes.tried
    },
    now,
    wall,
    async oldestOutcome() {
      const { tags, retired } = await timed(readTags(redis), 'oldestOutcome')
      return timed(oldestOutcome(redis, [...tags, ...retired]), 'oldestOutcome')
    },
    announceContent: async (base) =>
      void (await timed(redis.set(contentKey(base), '1', 'PX', MINUTE), 'announceContent')),
    keepsContent: async (base) => (await timed(redis.exists(contentKey(base)), 'keepsContent')) === 1,
    async announceRestart() {
      for (const { keys } of partitions)
        await timed(redis.hset(keys.epoch, EPOCH.restartAnnounced, ANNOUNCED.plain), 'announceRestart')
    },
    async setLeastDelays(version, leastDelays) {
      await Promise.all(active.map((partition) => partition.verbs['least-delays'](version, leastDelays)))
    },
    async setSitePolicies(version, policies) {
      await Promise.all(active.map(({ verbs: partition }) => partition.policies(version, policies)))
    },
    stop: (stopping) => stops.change((record, at) => withStops(record, stopping, at)),
    lift: (lifting) => stops.change((record, at) => withoutStops(record, lifting, at)),
    stops,
    setLimits({ bodies, ...limits }) {
      Object.assign(verbs, limits)
      Object.assign(verbs.bodies, bodies)
    },
    isReady: () => redis.status === 'ready',
    async close() {
      notes?.close()
      wakes?.close()
      if (own) redis.disconnect()
    },
  }
}

/** How many origins' partitions are remembered: each verb of each URL needs one, and it takes a SHA-1. */
const PLACES = 10_000

function remembering(find: (origin: string) => number): (origin: string) => number {
  const places = new Map<string, number>()
  return (origin) => {
    const known = places.get(origin)
    if (known !== undefined) return known
    if (places.size >= PLACES) places.clear()
    const place = find(origin)
    places.set(origin, place)
    return place
  }
}

/** The members of all partitions, each once. */
function membersOf(rolls: Roll[]): Member[] {
  return readMembers(new Set(rolls.flatMap(({ members }) => members)))
}
