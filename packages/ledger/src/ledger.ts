/** `openLedger`: the whole of what the fleet shares, one door per verb, partitions behind it. */
import type { Candidate } from '@decorum/protocol'
import { hostOf, partitionOf } from '@decorum/protocol'
import { LedgerUnavailableError, LedgerUnfitError } from './errors.ts'
import { checkRedis, readTags, registerPartitions } from './fit.ts'
import { type Keys, keysOf } from './keys.ts'
import { DONE_MARK_MS, type Lanes, lanesOf } from './lanes.ts'
import { another, connectLink, type LinkOptions, linkTo, type RedisLink } from './link.ts'
import { type Operations, operationsOf } from './operations.ts'
import { type BodyBudget, bodyBudget, type Origins, originsOf } from './origins.ts'
import { trimOutcomes } from './outcomes.ts'
import type { ReserveRequest } from './reserve.ts'
import { defineVerbs, type Scripts, scriptsOf, withDeadline } from './scripts.ts'
import { thatAnswer } from './that-answer.ts'
import type {
  CompleteResult,
  Completion,
  Confirmation,
  Entry,
  HeldLane,
  LaneInOrigin,
  LaneList,
  LaneRef,
  LearnResult,
  Operation,
  OperationRecord,
  OriginView,
  ParkItem,
  ParkMark,
  ParkResult,
  PartitionView,
  Reaped,
  ReserveResult,
  Resolution,
  RobotsFetchEnd,
  RobotsRecord,
  SecondaryRequest,
  StartAnswer,
  StartRequest,
} from './types.ts'
import { whyHeld } from './why-held.ts'

export type LedgerOptions = {
  /** REDIS_URL, or a connection that is lent */
  redis: string | RedisLink
  partitions: number
  leaseMs?: number
  quarantineMs?: number
  /** begin grants a lane that opens this soon, for a caller who waits out the rest by himself (StartAnswer.waitMs) */
  grantAheadMs?: number
  /** a reservation that nobody begins ends after this; 30 s, or the lease where that is shorter */
  reserveMs?: number
  laneLimit?: number
  outcomesLimit?: number
  /** first back-off after 429/503 without Retry-After, ms; doubles per incident up to `backOffMaxMs`, forgotten after `backOffQuietMs` */
  backOffMs?: number
  backOffMaxMs?: number
  backOffQuietMs?: number
  /** what robots.txt bodies may take up; those of usual size are free */
  bodies?: Partial<BodyBudget>
  /** Redis answers within this or the call fails with LedgerUnavailableError */
  callDeadlineMs?: number
  /** told in a sentence what the operator should hear of: why nothing is granted for a while */
  onNotice?: (sentence: string) => void
  /** the caller vouches that this Redis has never held a ledger (`announceNew`); as it comes so with virtual time: a test's is */
  isNew?: boolean
  /** tests only: virtual time in place of Redis's clock, ms */
  nowMs?: () => number
  /** tests only, with `nowMs`: the time that this process can vouch for; as it comes, all of it */
  mostMs?: () => number | undefined
}

export type Member = { id: string; role: string; slots: number }
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
  /** its job is done: remembered for an hour more, for a gateway that was away while another one did the same job */
  forgetMark(partition: number, name: string): Promise<void>
  reserve(partition: number, request: ReserveRequest): Promise<ReserveResult>
  start(request: StartRequest): Promise<StartAnswer>
  /**
   * Asks again whether what was begun may be sent, some time later: lanes of one partition that one request holds. Refused:
   * they are to be given back by `resolve`, with `unused` what was begun, with `release` a visit.
   */
  confirm(held: HeldLane[]): Promise<Confirmation>
  /** A visit that no waiting URL asked for, now or later. End it by `settle` with `entered`, or `resolve` with `release`. */
  acquire(request: SecondaryRequest): Promise<Entry>
  complete(completion: Completion): Promise<CompleteResult>
  resolve(partition: number, resolutions: Resolution[]): Promise<CompleteResult[]>
  record(robotsRecord: RobotsRecord): Promise<LearnResult>
  endRobotsFetch(end: RobotsFetchEnd): Promise<CompleteResult>
  reap(partition: number): Promise<Reaped>
  body(partition: number, hash: string): Promise<Uint8Array | undefined>
  /** of origins of one partition, in order */
  robotsStates(partition: number, origins: string[]): Promise<{ version: number; state: OriginView['state'] }[]>
  viewOrigin(origin: string, agents: string[]): Promise<OriginView>
  /** lanes as they come up, a bounded number of them; an emptied lane is listed until its clock has run down */
  viewLanes(partition: number, list: LaneList): Promise<LaneInOrigin[]>
  viewPartition(partition: number): Promise<PartitionView>
  operate(operation: Operation, agents: string[]): Promise<void>
  /** what operators did, newest first */
  operations(partition: number, most: number): Promise<OperationRecord[]>
  /** ends what waits in a lane now; @returns how many URLs */
  dropBacklog(lane: LaneRef, by: string, reason: string, signal?: AbortSignal): Promise<number>
  /** candidates born from redirects, oldest first; those behind an id when one is given */
  outbox(partition: number, most: number, after?: string): Promise<OutboxEntry[]>
  clearOutbox(partition: number, ids: string[]): Promise<void>
  trimOutcomes(partition: number): Promise<void>
  /** says that this process is alive (call once a second; lifeMs 0: goodbye) and hears who else is */
  announce(member: Member, lifeMs?: number): Promise<Member[]>
  /** leases out in each partition, as the latest roll told; 0 of one that does not answer */
  inFlight(): readonly number[]
  members(): Promise<Member[]>
  /** calls back when a lane has become due earlier than all others */
  onWake(listener: (partition: number) => void): Promise<void>
  /**
   * The ledger's time, ms: never ahead of it; while its partition has not answered yet, the furthest of the others. It is
   * Redis's clock until that leaps (docs/decisions/0014-a-clock-that-leaps.md): what the ledger hands out is told in it.
   */
  now(partition?: number): number
  /** Redis's own clock, ms: for what others wrote down by theirs, such as an expiry or the date in a Retry-After */
  wall(partition?: number): number
  /** every lease has ended and Redis is about to be stopped: the next start need not wait for leases that may be out */
  announceRestart(): Promise<void>
  isReady(): boolean
  close(): Promise<void>
}

/** Fail at once rather than queue; what was cut off is not sent again by itself. */
const CONNECTION: LinkOptions = { away: 'fail', lazyConnect: true }

const MEMBER_LIFE_MS = 5_000

/** @throws LedgerUnfitError when this Redis cannot keep the promises · LedgerUnavailableError when there is none */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const callDeadlineMs = options.callDeadlineMs ?? 2_000
  const own = typeof options.redis === 'string'
  const redis = typeof options.redis === 'string' ? linkTo(options.redis, CONNECTION) : options.redis
  let refusal: Error | undefined // why a connection ended, which its closing does not tell: a password, a host, a port
  redis.on('error', (error: Error) => {
    refusal = error // calls carry their own errors; a listener keeps the process alive
  })
  let noCluster = false
  redis.on('node error', ({ message }: Error) => {
    noCluster ||= message.includes('cluster support disabled')
  })
  try {
    const connecting = connectLink(redis, callDeadlineMs).catch((error: Error) => {
      throw refusal ?? error
    })
    await withDeadline(connecting, callDeadlineMs + 3_000, 'connect')
    defineVerbs(redis)
    return await compose(redis, own, options, callDeadlineMs)
  } catch (error) {
    if (own) redis.disconnect()
    if (noCluster)
      throw new LedgerUnfitError('REDIS_URL names several servers, but they are no nodes of a cluster: name one alone')
    if (error instanceof LedgerUnfitError || error instanceof LedgerUnavailableError) throw error
    throw new LedgerUnavailableError('open', error)
  }
}

type Partition = { keys: Keys; scripts: Scripts; lanes: Lanes; origins: Origins; operations: Operations }

async function compose(
  redis: RedisLink,
  own: boolean,
  options: LedgerOptions,
  callDeadlineMs: number,
): Promise<Ledger> {
  const warnings = await checkRedis(redis, callDeadlineMs)
  const leaseMs = options.leaseMs ?? 45_000
  const quarantineMs = options.quarantineMs ?? 10_000
  const isNew = options.isNew ?? options.nowMs !== undefined
  const isVirtual = options.nowMs !== undefined // Redis's own age says nothing then
  const known = isNew || isVirtual ? { isNew } : { holdMs: leaseMs + quarantineMs }
  const tags = await registerPartitions(redis, options.partitions, known)
  const { retired } = await readTags(redis)
  const partitions = [...tags, ...retired].map((tag): Partition => {
    const keys = keysOf(tag)
    const scripts = scriptsOf(redis, keys, {
      partitions: tags.length,
      holdMs: leaseMs + quarantineMs,
      callDeadlineMs,
      nowMs: options.nowMs,
      mostMs: options.mostMs,
      onEpoch: () => void sayWhyHeld(keys, scripts),
    })
    const lanes = lanesOf(scripts, {
      leaseMs,
      quarantineMs,
      grantAheadMs: options.grantAheadMs ?? 0,
      reserveMs: options.reserveMs ?? Math.min(30_000, leaseMs),
      laneLimit: options.laneLimit ?? 100_000,
      outcomesLimit: options.outcomesLimit ?? 1_000_000,
      backOffMs: options.backOffMs ?? 60_000,
      backOffMaxMs: options.backOffMaxMs ?? 3_600_000,
      backOffQuietMs: options.backOffQuietMs ?? 1_800_000,
    })
    const origins = originsOf(redis, keys, scripts, callDeadlineMs, { ...bodyBudget, ...options.bodies })
    return { keys, scripts, lanes, origins, operations: operationsOf(redis, keys, scripts, lanes, callDeadlineMs) }
  })
  const notice = options.onNotice ?? (() => {})
  /** Asked for anew: several calls may have heard of the new epoch at once. */
  const sayWhyHeld = async (keys: Keys, scripts: Scripts): Promise<void> => {
    const found = await timed(redis.hmget(keys.epoch, 'id', 'why', 'hold'), 'epoch').catch(() => [])
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
  let subscriber: RedisLink | undefined
  // First sight of clock and epoch
  const active = partitions.slice(0, tags.length)
  const inFlight = tags.map(() => 0)
  const rolls = (member: string, lifeMs: number): Promise<string[][]> =>
    thatAnswer(
      active.map(async ({ scripts }, at) => {
        const roll = await scripts.call('fleet', member, lifeMs).catch((error: unknown) => {
          inFlight[at] = 0
          throw error
        })
        inFlight[at] = Number(roll[2])
        return roll
      }),
    )
  const seen = await thatAnswer(active.map(({ scripts }) => scripts.call('view', 'partition')))
  await Promise.all(active.map(({ keys, scripts }) => sayWhyHeld(keys, scripts)))
  if (seen.length < tags.length)
    warnings.push(
      `${tags.length - seen.length} of ${tags.length} partitions do not answer: a master of the cluster is away`,
    )

  return {
    tags,
    retired,
    warnings,
    partitionOf: place,
    park: (partition, items, mark) => of(partition).lanes.park(items, mark),
    forgetMark: async (partition, name) =>
      void (await timed(redis.pexpire(of(partition).keys.mark(name), DONE_MARK_MS), 'forgetMark')),
    reserve: (partition, request) => of(partition).lanes.reserve(request),
    start: (request) => of(place(request.origin)).lanes.start(request),
    confirm: (held) => of(place(held[0]?.origin ?? '')).lanes.confirm(held),
    acquire: (request) => of(place(request.lanes[0]?.origin ?? '')).lanes.acquire(request),
    complete: (completion) => of(place(completion.origin)).lanes.complete(completion),
    resolve: (partition, resolutions) => of(partition).lanes.resolve(resolutions),
    record: (robotsRecord) => of(place(robotsRecord.origin)).origins.record(robotsRecord),
    endRobotsFetch: (end) => of(place(end.origin)).origins.endRobotsFetch(end),
    reap: (partition) => of(partition).lanes.reap(),
    body: (partition, hash) => of(partition).origins.body(hash),
    robotsStates: (partition, origins) => of(partition).origins.states(origins),
    viewOrigin: (origin, agents) => of(place(origin)).origins.view(origin, agents),
    viewLanes: (partition, list) => of(partition).origins.viewLanes(list),
    viewPartition: (partition) => of(partition).origins.viewPartition(tags[partition] as string),
    operate: (operation, agents) => of(place(operation.origin)).operations.operate(operation, agents),
    operations: (partition, most) => of(partition).operations.list(most),
    dropBacklog: (lane, by, reason, signal) => of(place(lane.origin)).operations.drop(lane, by, reason, signal),
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
    trimOutcomes: (partition) => timed(trimOutcomes(redis, of(partition).keys), 'trimOutcomes'),
    announce: async ({ role, id, slots }, lifeMs = MEMBER_LIFE_MS) => {
      // Every partition hears from every process: one that lost its data learns which epoch the living remember, and
      // when the master of one is away, the others still know who is there.
      const member = `${role} ${id} ${slots}`
      return membersOf(await rolls(member, lifeMs))
    },
    members: async () => membersOf(await rolls('', 0)),
    inFlight: () => inFlight,
    async onWake(listener) {
      subscriber ??= another(redis, { away: 'wait' })
      subscriber.on('error', () => {})
      const channels = new Map(partitions.map(({ keys }, index) => [keys.wake, index]))
      subscriber.on('message', (channel: string) => {
        const partition = channels.get(channel)
        if (partition !== undefined) listener(partition)
      })
      // A node that hangs is not waited for: a wake-up that nobody hears costs a dispatcher one longest sleep.
      await timed(subscriber.subscribe(...channels.keys()), 'subscribe').catch(() => {})
    },
    now,
    wall: (partition = 0) => now(partition) - of(partition).scripts.aheadMs(),
    async announceRestart() {
      for (const { keys } of partitions) await timed(redis.hset(keys.epoch, 'planned', '1'), 'announceRestart')
    },
    isReady: () => redis.status === 'ready',
    async close() {
      subscriber?.disconnect()
      if (own) redis.disconnect()
    },
  }
}

/** Origins whose partition is remembered: each verb of each URL asks for it, and it takes a SHA-1. */
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

/** The rolls of all partitions as one. */
function membersOf(rolls: string[][]): Member[] {
  const names = new Set(rolls.flatMap((roll) => roll.slice(3)))
  return [...names].map((text) => {
    const [role, id, slots] = text.split(' ')
    return { role: role ?? '', id: id ?? '', slots: Number(slots) }
  })
}
