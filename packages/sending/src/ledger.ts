/**
 * All calls of a sender to the ledger about its leases, in the order of a request: acquire, start, confirm, extend, end. A request
 * holds the lease of its own lane, that of its host's lane where that is another one, and those of its pace groups; they end together.
 * Callers report the result; only this file works out the delay that each lane owes after it.
 */
import {
  type CompleteResult,
  type Completion,
  type Confirmation,
  type ExtendAnswer,
  type LaneRef,
  type LeasedLane,
  type Ledger,
  type LedgerGateName,
  LedgerUnavailableError,
  type NextAnswer,
  type NextRequest,
  type NextTurn,
  type Resolution,
  type RobotsRecord,
  type SecondaryRequest,
  type SiteLoad,
  type StartAnswer,
} from '@decorum/ledger'
import type { Gate, Outcome, RedirectTarget } from '@decorum/protocol'
import type { RetryAfter } from '@decorum/robots'
import { crashPoint, defined, type Since, sinceNow } from '@decorum/runtime'
import { loadOfHost, NORMAL_LOAD } from './load.ts'
import { once, type Report, type Reporter } from './report.ts'

/** The part of the ledger that most requests need; those of orders `start` their lanes as well, permits `grant` and `extend` theirs. */
export type LeaseLedger = Pick<
  Ledger,
  | 'acquire'
  | 'next'
  | 'confirm'
  | 'complete'
  | 'reportLate'
  | 'resolve'
  | 'record'
  | 'endRobotsFetch'
  | 'partitionOf'
  | 'clock'
>

/** The lease of the lane that a request goes to. */
export type OwnLease = LaneRef & {
  fence: number
  /** delay owed after the request, ms */
  delayMs: number
  /** page: for the URL at the head of the lane · robots: for an order for robots.txt · secondary: no URL of the lane requested it */
  kind: 'page' | 'robots' | 'secondary'
  /** version of the rules by which the request was judged */
  version?: number
  /** set for the robots fetch of the origin: keys of the agents whose lanes wait for its end */
  awaitedBy?: readonly string[]
}

/** The lease of a lane that a request holds besides its own: its host's, or one of a pace group. */
export type PaceLease = LaneRef & {
  fence: number
  /** delay owed after the request, ms */
  delayMs: number
  /** whether it is a lane of the requested site (origin or host): then it owes the request's delay, and any back-off, too */
  ofSite: boolean
}

/** The leases of one request. */
export type Leases = { own: OwnLease; paceLeases: readonly PaceLease[] }

/** The result of a request that was sent, for its leases. */
export type Happened = {
  /** the last byte or the failure, on `clock.monotonic()`: delays run from here */
  endedAt: number
  load: SiteLoad
  /** the agent's adaptive delay after this exchange, ms; 0: none */
  adaptiveMs: number
  /** duration of the exchange, ms; absent if unknown */
  tookMs?: number
  /** the longest delay that another request under the same leases owed, ms */
  furtherMs?: number
  /** undefined: the URL stays at the head of its lane */
  outcome?: Outcome | undefined
  /** the target of a redirect, which becomes a separate candidate */
  candidate?: RedirectTarget | undefined
  /** the wait that the redirect requests before its target */
  candidateAfter?: RetryAfter | undefined
  /** of a robots fetch: the ledger's new record of the origin; absent when the answer says nothing about it */
  record?: Recorded | undefined
}

export type UntimedRecord = Omit<RobotsRecord, 'delayMs' | 'elapsedMs'>
export type Recorded = {
  robots: UntimedRecord
  /** the record if the ledger has no room for the body of `robots`: rules that cannot be read later must not be recorded */
  withoutBody?: UntimedRecord
}

/** A lane to acquire, or several of which the first free one is taken. */
export type Wanted = SecondaryRequest & { ofSite: boolean }
/** blocked: an operator has blocked the origin of the request */
export type NotFree = { kind: 'wait'; waitMs: number; gate: LedgerGateName } | { kind: 'blocked' }
export type Acquired = { kind: 'acquired'; leases: PaceLease[]; leaseMs: number; since: Since }

/**
 * Acquires all of these lanes or none, so that no request waits for one while it holds another.
 * @param by  identifies the request, which keeps its place in line
 * @throws LedgerUnavailableError; then nothing is held
 */
export async function acquireAll(
  ledger: LeaseLedger,
  wanted: readonly Wanted[],
  by: LaneRef,
  reporter: Reporter,
): Promise<Acquired | NotFree> {
  const since = sinceNow(ledger.clock)
  const leases: PaceLease[] = []
  let leaseMs = Number.POSITIVE_INFINITY
  const releaseAll = () => release(ledger, leases, reporter(since, leaseMs))
  for (const { ofSite, ...request } of wanted) {
    const answer = await ledger.acquire({ ...request, by }).catch(async (error: unknown) => {
      await releaseAll()
      throw error
    })
    if (answer.kind !== 'granted') {
      await releaseAll()
      return answer
    }
    crashPoint(request.kind === 'hop' ? 'hop.acquired' : 'pace-group.acquired')
    const { lane, fence, delayMs } = answer
    leaseMs = Math.min(leaseMs, answer.leaseMs)
    if (request.paceLane !== undefined && answer.paceLane !== undefined)
      leases.push({ ...request.paceLane, ...answer.paceLane, ofSite })
    leases.push({ ...lane, fence, delayMs, ofSite })
  }
  return { kind: 'acquired', leases, leaseMs, since }
}

export type StartOf = Pick<OwnLease, 'agent' | 'origin' | 'fence' | 'delayMs'> & {
  kind: 'page' | 'robots' | 'robots-page'
  version: number
}

/**
 * Turns a reservation into a lease, together with the lease of the host's lane or not at all.
 * @returns undefined when the ledger did not answer: if the script ran, its lease expires, and nothing is sent under it
 */
export async function start(
  ledger: Pick<Ledger, 'start'>,
  requested: StartOf,
  hostLane: LaneRef | undefined,
): Promise<StartAnswer | undefined> {
  try {
    return await ledger.start({ ...requested, ...defined({ paceLane: hostLane }) })
  } catch (error) {
    if (error instanceof LedgerUnavailableError) return undefined
    throw error
  }
}

/**
 * Releases the reservation of an order that is not carried out: its lane is due as before, or after `waitMs` at the earliest. Never
 * rejects: a reservation also expires.
 */
export async function releaseOrder(
  ledger: Pick<Ledger, 'resolve' | 'partitionOf' | 'now'>,
  order: LeasedLane,
  later?: { waitMs: number; why: Gate },
): Promise<void> {
  const partition = ledger.partitionOf(order.origin)
  const next: Resolution['next'] =
    later === undefined
      ? { kind: 'release' }
      : { kind: 'defer', until: ledger.now(partition) + later.waitMs, why: later.why }
  await ledger.resolve(partition, [{ ...laneOf(order), dropped: [], next }]).catch(() => {})
}

/** Every lane that a request holds, in the form that `confirm` and `extend` take. */
export const lanesOf = ({ own, paceLeases }: Leases): LeasedLane[] => {
  const { agent, origin, fence, version } = own
  return [{ agent, origin, fence, ...defined({ version }) }, ...paceLeases.map(laneOf)]
}
export const laneOf = ({ agent, origin, fence }: LeasedLane): LeasedLane => ({ agent, origin, fence })

const byPartition = <L extends LeasedLane>(
  ledger: Pick<LeaseLedger, 'partitionOf'>,
  lanes: readonly L[],
): [number, L[]][] => [...Map.groupBy(lanes, ({ origin }) => ledger.partitionOf(origin))]

/** Checks whether the request may still be sent. @returns the gate that forbids it, or undefined. @throws LedgerUnavailableError */
export async function confirm(
  ledger: LeaseLedger,
  lanes: readonly LeasedLane[],
): Promise<Exclude<Confirmation, 'granted'> | undefined> {
  const answers = await Promise.all(byPartition(ledger, lanes).map(([, some]) => ledger.confirm(some)))
  if (answers.length === 0 || answers.includes('stale')) return 'stale'
  // A missing answer is no permission: each partition must confirm.
  return answers.find((answer) => answer !== 'granted')
}

/**
 * Extends all leases of a request by this time; 0: they stay as they are.
 * @returns stop: the gate that forbids further requests; leftMs: how long the leases last, from now
 */
export async function extend(
  ledger: Pick<Ledger, 'extend' | 'partitionOf'>,
  leases: Leases,
  leaseMs: number,
): Promise<ExtendAnswer> {
  const answers = await Promise.all(
    byPartition(ledger, lanesOf(leases)).map(([, some]) => ledger.extend(some, leaseMs)),
  )
  let leftMs = Number.POSITIVE_INFINITY
  let stop: LedgerGateName | undefined
  for (const answer of answers) {
    if (answer.kind === 'stale') return answer
    leftMs = Math.min(leftMs, answer.leftMs)
    stop ??= answer.stop
  }
  return { kind: 'extended', leftMs, ...defined({ stop }) }
}

/** The turns of one request, by the partition that gave them; to be passed along with each further call. */
export type NextTurns = Map<number, NextTurn>

/**
 * Calls the ledger for one more request under leases that are held. The partition of the request's lane is called last, and counts it.
 * @returns when it may be sent, or the first answer that refuses or delays it
 */
export async function next(
  ledger: LeaseLedger,
  held: readonly LeasedLane[],
  request: Omit<NextRequest, 'held' | 'turn'>,
  turns: NextTurns,
): Promise<Exclude<NextAnswer, { turn: NextTurn }> | { kind: 'granted' | 'turn'; waitMs: number }> {
  let waitMs = 0
  for (const [partition, some] of byPartition(ledger, held).toReversed()) {
    const answer = await ledger.next({ ...request, held: some, turn: turns.get(partition) })
    if ('turn' in answer) turns.set(partition, answer.turn)
    if (answer.kind !== 'granted') return answer
    waitMs = Math.max(waitMs, answer.waitMs)
  }
  return { kind: 'granted', waitMs }
}

/** Releases leases that were not used: each lane is due as before. Never rejects when the ledger does not answer. */
export async function release(
  ledger: LeaseLedger,
  leases: readonly LeasedLane[],
  report: Report = once,
): Promise<void> {
  try {
    await resolveAll(ledger, leases, 'release', report)
  } catch (error) {
    if (!(error instanceof LedgerUnavailableError)) throw error // the leases expire
  }
}

/** Ends leases without a request. Every lane still owes its delay, since the site may have seen a connection; no attempt is counted. */
export async function endUnused(
  ledger: LeaseLedger,
  { own, paceLeases }: Leases,
  report: Report = once,
): Promise<CompleteResult> {
  const result = await resolveAll(ledger, [own, ...paceLeases], 'unused', report)
  await endRobotsFetch(ledger, own)
  return result
}

async function resolveAll(
  ledger: LeaseLedger,
  leases: readonly LeasedLane[],
  kind: 'release' | 'unused',
  report: Report,
): Promise<CompleteResult> {
  const answers = await Promise.all(
    byPartition(ledger, leases).map(([partition, some]) => {
      const resolutions = some.map((lane): Resolution => ({ ...laneOf(lane), dropped: [], next: { kind } }))
      return report.send(async () =>
        (await ledger.resolve(partition, resolutions)).includes('stale') ? 'stale' : 'completed',
      )
    }),
  )
  return answers.every((answer) => answer === 'completed') ? 'completed' : 'stale'
}

/** Ends leases after a request: the delay of each lane begins. @returns what became of the lease of its own lane */
export async function endExchange(
  ledger: LeaseLedger,
  { own, paceLeases }: Leases,
  happened: Happened,
  report: Report = once,
  onNoRoom: () => void = () => {},
): Promise<CompleteResult> {
  const owedMs = owedBy(own, happened)
  const [result] = await Promise.all([
    endOwn(ledger, own, owedMs, happened, report, onNoRoom),
    endPaceLeases(ledger, paceLeases, owedMs, happened, report), // in the same call where they share a partition
  ])
  return result
}

/** The delay that the request's own lane owes, including the delay in rules that this same answer contains. */
function owedBy({ agent, delayMs }: OwnLease, { adaptiveMs, furtherMs = 0, record }: Happened): number {
  const recorded = record?.robots.delays.find((delay) => delay.agent === agent)?.delayMs ?? 0
  return Math.max(delayMs, adaptiveMs, furtherMs, recorded)
}

/** The delay between two requests under the same leases, ms: the longest delay of the lanes that are held. */
export const betweenMs = ({ own, paceLeases }: Leases, { adaptiveMs = 0, furtherMs = 0 } = {}): number =>
  Math.max(adaptiveMs, furtherMs, own.delayMs, ...paceLeases.map(({ delayMs }) => delayMs))

const elapsedSince = ({ clock }: Pick<Ledger, 'clock'>, endedAt: number): number =>
  Math.max(0, clock.monotonic() - endedAt)

/**
 * Starts the delays of the lanes that a request holds besides its own.
 * @param owedMs  the delay that the request owes to the site
 */
export async function endPaceLeases(
  ledger: LeaseLedger,
  leases: readonly PaceLease[],
  owedMs: number,
  { endedAt, load }: Pick<Happened, 'endedAt' | 'load'>,
  report: Report,
): Promise<void> {
  if (leases.length === 0) return
  const hostLoad = loadOfHost(load) // a port that does not answer says nothing about the others
  await Promise.all(
    leases.map((lease) => {
      const { delayMs, ofSite } = lease
      const owed = ofSite ? { delayMs: Math.max(delayMs, owedMs), load: hostLoad } : { delayMs, load: NORMAL_LOAD }
      return complete(ledger, { ...laneOf(lease), ...owed, elapsedMs: 0, secondary: true }, endedAt, report)
    }),
  )
  crashPoint('pace-group.completed')
}

/** Reports the end of an exchange. A back-off or a wait that the answer requests counts even if the lease is over by then. */
async function complete(
  ledger: LeaseLedger,
  completion: Completion,
  endedAt: number,
  report: Report,
): Promise<CompleteResult> {
  const result = await report.send(() => {
    completion.elapsedMs = elapsedSince(ledger, endedAt)
    return ledger.complete(completion)
  })
  if (result !== 'completed') reportWait(ledger, { ...completion, elapsedMs: elapsedSince(ledger, endedAt) })
  return result ?? 'stale'
}

function reportWait(ledger: LeaseLedger, late: Parameters<LeaseLedger['reportLate']>[0]): void {
  const load = loadOfHost(late.load ?? NORMAL_LOAD)
  if (load.kind !== 'normal') ledger.reportLate({ ...late, load })
}

/** A record ends the lease of an order for robots.txt; any other lease is completed. */
async function endOwn(
  ledger: LeaseLedger,
  own: OwnLease,
  delayMs: number,
  { endedAt, tookMs, load, outcome, candidate, candidateAfter, record }: Happened,
  report: Report,
  onNoRoom: () => void,
): Promise<CompleteResult> {
  if (record !== undefined) {
    crashPoint('record.before')
    const result = await report.send(() => {
      // A process that was frozen beyond its lease would record an old answer as a new one.
      if (report.isOver()) return Promise.resolve('stale' as const)
      const owed = { delayMs, elapsedMs: elapsedSince(ledger, endedAt), load, ...defined({ tookMs }) }
      return recordRobots(ledger, own, record, owed, onNoRoom)
    })
    crashPoint('record.after')
    if (own.kind === 'robots') {
      if (result !== 'completed')
        reportWait(ledger, { ...laneOf(own), delayMs, load, elapsedMs: elapsedSince(ledger, endedAt) })
      return result ?? 'stale'
    }
  }
  // The note of a recorded exchange already contains its duration.
  const left = defined({ outcome, candidate, candidateAfter, tookMs: record === undefined ? tookMs : undefined })
  const completion: Completion = { ...laneOf(own), delayMs, elapsedMs: 0, load, ...left }
  if (own.kind !== 'page') completion.secondary = true // no attempt of the URL at the head is counted
  if (record === undefined) crashPoint('complete.before')
  const result = await complete(ledger, completion, endedAt, report)
  if (record === undefined) crashPoint('complete.after')
  if (record === undefined) await endRobotsFetch(ledger, own)
  return result
}

/** Records the result of a robots fetch, without the body when there is no room for it. */
async function recordRobots(
  ledger: LeaseLedger,
  { kind }: OwnLease,
  { robots, withoutBody = robots }: Recorded,
  owed: Pick<RobotsRecord, 'delayMs' | 'elapsedMs' | 'load' | 'tookMs'>,
  onNoRoom: () => void,
): Promise<CompleteResult> {
  const more = kind === 'secondary' ? { ...owed, withPage: true } : owed
  const result = await ledger.record({ ...robots, ...more })
  if (result !== 'full') return result
  onNoRoom()
  const second = await ledger.record({ ...withoutBody, ...more })
  return second === 'full' ? 'stale' : second
}

/** Wakes the lanes that wait for a robots fetch. Never rejects: they also stop waiting after a time. */
export async function endRobotsFetch(ledger: LeaseLedger, own: OwnLease): Promise<void> {
  const { origin, fence, awaitedBy } = own
  if (awaitedBy !== undefined) await ledger.endRobotsFetch({ origin, fence, agents: [...awaitedBy] }).catch(() => {})
}
