/** The rules of start, confirm, acquire, complete, resolve and restore. */
import { byHand, demanded, opensAt, owedAfter } from './rules-delays.ts'
import { type Asking, gateOf } from './rules-gates.ts'
import { countRequest } from './rules-policies.ts'
import { acquireBoth, acquireLease, type LeaseGiven, lookFor } from './rules-queues.ts'
import {
  befalls,
  type Call,
  crawlOf,
  endTurn,
  HOLD_MS,
  hasChanged,
  idIn,
  isSecondary,
  type Kind,
  kindBeside,
  type Lane,
  type Lease,
  type List,
  laneOf,
  type Model,
  makeDue,
  makeDueAfter,
  markChanged,
  ms,
  open,
  openUnlessInDoubt,
  originAt,
  originOf,
  SETTINGS,
  streamOf,
  turnLength,
  turnsOf,
  urlsIn,
  waitingIn,
} from './state.ts'

const { leaseMs, backOffMs, backOffMaxMs, backOffQuietMs } = SETTINGS

// --- start, confirm, acquire ---------------------------------------------------------------------------------------

export type Starting = {
  lane: string
  fence: number
  kind: 'page' | 'robots' | 'robots-page'
  version: number
  delayMs: number
  paceLane: string | undefined
}
export type StartAnswer = { kind: string; waitMs?: number; paceLane?: { fence: number; delayMs: number } }
/** After these the lane is due at its own time: it is judged again, its URLs end, or those of other crawls go on. */
const NOT_HELD = ['blocked', 'rules-changed', 'refetch', 'crawl-held']

/** granted, early, or the gate that is closed. */
export function start(m: Model, call: Call, orders: Starting[]): StartAnswer[] {
  const { now, held } = open(m, call)
  return orders.map(({ lane: name, fence, kind, version, delayMs, paceLane }) => {
    const lane = m.lanes.get(name)
    const lease = lane?.lease
    if (lane === undefined || !befalls('start', lease, fence, now)) return { kind: 'stale' }
    const origin = originAt(m, originOf(name))
    const refuse = (gate: string, till: number): StartAnswer => {
      if (NOT_HELD.includes(gate)) makeDue(lane, lease.notBefore)
      else makeDueAfter(m, now, name, lease.notBefore, till, gate === 'startup-hold' ? 'lane-busy' : gate)
      return { kind: gate }
    }
    const what = kind === 'page' ? 'page' : 'robots'
    const asking: Asking = { what, moment: 'grant', lane: name, now, held, judged: version, fence, list: lease.list }
    const closed = gateOf(m, asking)
    if (closed !== undefined) return refuse(closed.gate, closed.till)
    if (lease.notBefore > now + m.aheadMs) return { kind: 'early', waitMs: lease.notBefore - now - m.aheadMs }
    const opens = opensAt(m, name, lease.notBefore, now)
    if (opens > now + m.aheadMs) {
      makeDue(lane, opens)
      return { kind: 'delay' }
    }
    const atGrant = byHand(origin, now)
    let pace: LeaseGiven | undefined
    let sentAt = Math.max(opens, now)
    if (paceLane !== undefined) {
      const asked = { lanes: [paceLane], kind: kindBeside(paceLane), delayMs: Math.max(delayMs, atGrant) }
      const beside = { ...asked, by: name, of: name, ofByHand: atGrant, aheadMs: m.aheadMs, notBefore: opens }
      const found = acquireLease(m, now, held, beside)
      if ('until' in found) return refuse(found.gate === 'lane-busy' ? 'pace-group' : found.gate, found.until)
      pace = found.lease
      sentAt = found.sentAt
    }
    m.planned = false
    countRequest(m, originOf(name), now)
    lease.started = { at: now, delayMs, kind, wasFailing: origin.failures > 0, byHand: atGrant, requestAt: sentAt }
    lease.ends = now + leaseMs
    if (kind !== 'page') startRobotsFetch(m, originOf(name), fence, now)
    const waits = sentAt > now ? { waitMs: sentAt - now } : {}
    return { kind: 'granted', ...waits, ...(pace === undefined ? {} : { paceLane: pace }) }
  })
}

export function startRobotsFetch(m: Model, origin: string, fence: number, now: number): void {
  originAt(m, origin).question = { fence, until: ms(now + HOLD_MS) }
  markChanged(m, origin)
}

/** How often a hop looks whether the robots fetch of its origin has ended. */
const HOP_LOOKS_MS = 250

/** What a lease is asked about by. */
export const WHAT_OF = {
  page: 'page',
  robots: 'robots',
  'robots-page': 'robots',
  hop: 'hop',
  permit: 'permit',
  host: 'host',
  'pace-group': 'group',
} as const satisfies Record<Kind, Asking['what']>

/** May a request that was granted still be sent? */
export function confirm(
  m: Model,
  call: Call,
  asked: { lane: string; fence: number; version: number | undefined }[],
): string {
  const { now, held } = open(m, call)
  const answers = asked.map(({ lane, fence, version }) => {
    const lease = m.lanes.get(lane)?.lease
    if (!befalls('confirm', lease, fence, now) || lease.started === undefined) return 'stale'
    const { kind } = lease.started
    if (kind === 'robots' && originAt(m, originOf(lane)).question?.fence !== fence) return 'stale'
    const [what, list] = [WHAT_OF[kind], isSecondary(lease) ? undefined : lease.list]
    const judged = kind === 'host' || kind === 'pace-group' ? undefined : version
    return gateOf(m, { what, moment: 'send', lane, now, held, judged, fence, list })?.gate ?? 'granted'
  })
  return answers.find((answer) => answer !== 'granted') ?? answers[0] ?? 'stale'
}

export type Acquiring = {
  lanes: string[]
  kind: 'hop' | 'pace-group'
  delayMs: number
  by: string | undefined
  of: string | undefined
  isRobots: boolean
  paceLane: string | undefined
}
export function acquire(
  m: Model,
  call: Call,
  { lanes, kind, isRobots, paceLane, ...request }: Acquiring,
):
  | { waitMs: number; gate: string }
  | { kind: 'blocked' }
  | { lane: string; lease: { fence: number; delayMs: number }; pace?: { fence: number; delayMs: number } } {
  const { now, held } = open(m, call)
  const given = kind === 'hop' ? kind : kindBeside(lanes[0] ?? '')
  const asked = { ...request, lanes, kind: given }
  const found = lookFor(m, now, held, asked)
  if (found.gate === 'blocked') return { kind: 'blocked' }
  const both = acquireBoth(m, now, held, found, asked, paceLane)
  if ('until' in both) {
    const [waitMs, gate] = [Math.max(1, both.until - now), both.gate ?? 'pace-group']
    return { waitMs: gate === 'robots-in-flight' ? Math.min(waitMs, HOP_LOOKS_MS) : waitMs, gate }
  }
  if (kind === 'hop') countRequest(m, originOf(found.name), now)
  if (kind === 'hop' && isRobots) startRobotsFetch(m, originOf(found.name), both.own.fence, now)
  return { lane: found.name, lease: both.own, ...(both.pace === undefined ? {} : { pace: both.pace }) }
}

// --- next ----------------------------------------------------------------------------------------------------------

export type Next = {
  kind: 'further' | 'hop'
  lane: string
  held: { lane: string; fence: number; version: number | undefined }[]
  elapsedMs: number
  delayMs: number
  isRobots: boolean
  turn?: NextTurn | undefined
}
export type NextTurn = { at: number; endedAt: number }
export type NextAnswer = { kind: string; waitMs?: number; gate?: string; turn?: NextTurn }
/** A turn that is further away than this is looked at once more when it comes. */
const SOON_MS = 500

/** The leases that somebody holds, or nothing where one of them is over or another's. */
export function heldLeases(
  m: Model,
  event: 'next' | 'extend',
  held: { lane: string; fence: number }[],
  now: number,
): Lease[] | undefined {
  const leases = held.map(({ lane, fence }) => {
    const lease = m.lanes.get(lane)?.lease
    return befalls(event, lease, fence, now) ? lease : undefined
  })
  return leases.length === 0 || leases.includes(undefined) ? undefined : (leases as Lease[])
}

/** When the latest request under a lease was sent; one that waits to be sent does not count yet. */
export const latestSentAt = ({ at, requestAt }: NonNullable<Lease['started']>, now: number): number =>
  requestAt <= now ? Math.max(at, requestAt) : at

/** One more request under leases that are held, after the one before it has ended. */
export function next(m: Model, call: Call, asked: Next): NextAnswer | 'doubt' {
  const { now, held } = openUnlessInDoubt(m, call)
  if (now === undefined || held === undefined) return 'doubt'
  const leases = heldLeases(m, 'next', asked.held, now)
  const [own] = leases ?? []
  if (leases === undefined || own?.started === undefined) return { kind: 'stale' }
  const { turn } = asked
  const { requestAt } = own.started
  if (turn === undefined ? requestAt > now : requestAt !== turn.at) return { kind: 'busy' }
  let closed: { gate: string; till: number } | undefined
  for (const [at, { lane, version }] of asked.held.entries()) {
    const kind = leases[at]?.started?.kind
    const isBeside = kind === 'pace-group' || (kind === 'host' && lane !== asked.lane)
    const request = asked.kind === 'hop' ? ('heldHop' as const) : ('further' as const)
    const list = asked.kind === 'hop' ? undefined : own.list
    const found = isBeside
      ? gateOf(m, { what: WHAT_OF[kind], moment: 'grant', lane, now, held })
      : gateOf(m, { what: request, moment: 'grant', lane, now, held, judged: version, fence: own.fence, list })
    if (found?.gate === 'blocked') return { kind: 'blocked' }
    if (found !== undefined && (closed === undefined || found.till > closed.till)) closed = found
  }
  if (closed?.gate === 'rules-changed' || closed?.gate === 'refetch') return { kind: closed.gate }
  if (closed !== undefined) return { kind: 'wait', waitMs: Math.max(1, closed.till - now), gate: closed.gate }
  const { started } = own
  // the request before it used all of these lanes
  const sent = Math.max(...leases.map((lease) => (lease.started === undefined ? 0 : latestSentAt(lease.started, now))))
  const ended = turn?.endedAt ?? now - Math.min(asked.elapsedMs, now - sent)
  const owed = leases.map((lease, at) =>
    owedAfter(m, asked.held[at]?.lane ?? '', lease, Math.max(asked.delayMs, lease.started?.delayMs ?? 0), now),
  )
  const opens = Math.max(now, ...owed.map((one) => ended + one))
  if (turn === undefined) started.at = latestSentAt(started, now)
  started.requestAt = opens
  const given = { waitMs: opens - now, turn: { at: opens, endedAt: ended } }
  if (opens > now + SOON_MS) return { kind: 'turn', ...given }
  const [first] = asked.held
  if (first !== undefined && first.lane === asked.lane) {
    const origin = originOf(first.lane)
    countRequest(m, origin, now)
    if (asked.isRobots && originAt(m, origin).question?.fence !== own.fence) startRobotsFetch(m, origin, own.fence, now)
  }
  return { kind: 'granted', ...given }
}

// --- complete, resolve ---------------------------------------------------------------------------------------------

export type Ending = {
  lane: string
  fence: number
  delayMs: number
  elapsedMs: number
  load: 'normal' | 'asked-for-less' | 'asked-to-wait' | 'turned-away' | 'no-answer'
  retryAfterMs: number | undefined
  retryAfterAt?: number | undefined
  jitter: number
  /** `kind` of the head's outcome; undefined: it stays */
  outcome: string | undefined
  entered: boolean
  candidate: string | undefined
  /** what its redirect asks to wait, and when the candidate expires */
  wait?: Wait | undefined
}
export type Wait = { retryAfterMs?: number; retryAfterAt?: number; expiresAt?: number }

export function complete(m: Model, call: Call, endings: Ending[]): string[] | 'doubt' {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  return endings.map((end) => {
    const lane = m.lanes.get(end.lane)
    const lease = lane?.lease
    const event = end.entered ? 'over' : end.outcome === undefined ? 'again' : 'done'
    if (lane === undefined || !befalls(event, lease, end.fence, now) || lease.started === undefined) return 'stale'
    const { started } = lease
    delete lane.lease
    delete lane.due
    const ended = now - Math.min(end.elapsedMs, now - latestSentAt(started, now))
    if (end.outcome !== undefined) leave(m, lane, lease.list, [end.outcome])
    if (end.candidate !== undefined) enter(m, end.candidate, end.wait, ended, now)
    if (end.outcome === undefined && !end.entered) {
      countTry(lane, lease.list)
    } else if (!isSecondary(lease)) delete lane.why
    const owed = owedAfter(m, end.lane, lease, end.delayMs, now)
    const opens = ended + owed
    const origin = originAt(m, originOf(end.lane))
    lane.last = { ended, owed, of: started.of }
    lane.due = opens
    if (waitingIn(lane) > 0) {
      if (lease.before !== undefined && lease.before > 0)
        makeDueAfter(m, now, end.lane, opens, opens + lease.before * Math.max(owed, 50), 'pace-group')
    } else if (opens <= now) m.lanes.delete(end.lane) // nothing waits, nothing is owed
    if (end.load !== 'normal') backOff(m, originOf(end.lane), end, now, latestSentAt(started, now), ended)
    const isWell = end.load === 'normal' || end.load === 'asked-to-wait'
    if (isWell && (started.wasFailing || started.kind === 'permit')) origin.failures = Math.floor(origin.failures / 2)
    return 'completed'
  })
}

/** A redirect's target becomes a candidate at once, or when it has waited as long as the redirect asks, or expires. */
function enter(m: Model, id: string, wait: Wait | undefined, ended: number, now: number): void {
  const asked = wait === undefined ? 0 : askedBy(m, wait, ended)
  const expires = wait?.expiresAt === undefined ? Number.POSITIVE_INFINITY : wait.expiresAt + m.shift
  const due = asked > 0 ? Math.min(ended + asked, expires) : 0
  if (due > now) m.later.set(storedTarget(id, wait), { id, due: ms(due) })
  else m.outbox.push(id)
}
/** As it is stored. */
export const storedTarget = (id: string, wait: Wait | undefined): string =>
  JSON.stringify({
    id,
    url: 'http://elsewhere.test/',
    ...(wait?.expiresAt === undefined ? {} : { expiresAt: wait.expiresAt }),
  })

/** A Retry-After, from the end of the exchange on. */
function askedBy(
  m: Model,
  { retryAfterMs, retryAfterAt }: { [key in keyof Wait]?: Wait[key] | undefined },
  ended: number,
): number {
  const untilDate = retryAfterAt === undefined ? 0 : Math.min(retryAfterAt + m.shift - ended, 86_400_000)
  return Math.max(retryAfterMs ?? 0, untilDate)
}

/** One more request for the URL at the head of a list. */
export function countTry(lane: Lane, list: List): void {
  const [head] = urlsIn(lane, list)
  if (head !== undefined) head.tries = (head.tries ?? 0) + 1
  lane.triedList = list
}

/** The first URLs of a list leave with their outcomes. */
function leave(m: Model, lane: Lane, list: List, kinds: string[]): void {
  for (const kind of kinds) {
    const entry = urlsIn(lane, list).shift()
    if (entry === undefined) throw new Error('more outcomes than URLs')
    m.ids.delete(idIn(crawlOf(list), entry.id))
    streamOf(m, crawlOf(list)).push(`${entry.id} ${kind}`)
  }
  if (kinds.length === 0) return
  if (lane.triedList === list) delete lane.triedList
  endTurn(lane, crawlOf(list))
}

/** An end of an exchange that a process remembers. */
export type Ended = Pick<Ending, 'lane' | 'delayMs' | 'load' | 'retryAfterMs' | 'retryAfterAt'> & { endedAt: number }

/** Ends that Redis may have lost: nothing opens earlier by them, and a request that is under way owes its own delay. */
export function restore(m: Model, call: Call, ends: Ended[]): 'restored' | 'doubt' {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  for (const { lane: name, endedAt, delayMs, ...load } of ends) {
    const { delayMs: least, consent } = demanded(m, name, now)
    const owed = consent ? least : Math.max(delayMs, least)
    const lane = laneOf(m, name)
    const isOwed = endedAt + owed > now
    const isInUse = isOwed || lane.last !== undefined || lane.lease !== undefined || waitingIn(lane) > 0
    const isLater = lane.last === undefined || lane.last.ended < endedAt
    if (isLater && isInUse) lane.last = { ended: endedAt, owed }
    if (isOwed) close(lane, endedAt + owed)
    if (load.load !== 'normal') backOff(m, originOf(name), { ...load, jitter: 0 }, now, endedAt, endedAt)
  }
  return 'restored'
}

function close(lane: Lane, opens: number): void {
  const { lease } = lane
  if (lease !== undefined) {
    if (lease.started === undefined) lease.notBefore = Math.max(lease.notBefore, opens)
    return
  }
  if (lane.ownDue !== undefined) lane.ownDue = Math.max(lane.ownDue, ms(opens))
  lane.due = Math.max(lane.due ?? 0, opens)
}

/** One escalation per incident: an exchange begun before the site was shut belongs to what shut it. */
export function backOff(
  m: Model,
  name: string,
  { load, retryAfterMs, retryAfterAt, jitter }: Pick<Ending, 'load' | 'retryAfterMs' | 'retryAfterAt' | 'jitter'>,
  now: number,
  startedAt: number,
  ended: number,
): void {
  const origin = originAt(m, name)
  markChanged(m, name)
  const another = startedAt >= origin.closedUntil
  const asked = askedBy(m, { retryAfterMs, retryAfterAt }, ended)
  let lengthMs: number | undefined
  if (load === 'asked-to-wait') {
    // no failure and no incident
  } else if (load !== 'asked-for-less') {
    if (another) origin.failures++
    if (origin.failures >= 2)
      lengthMs = Math.min(
        (backOffMs / 12) * 2 ** (origin.failures - 2),
        load === 'turned-away' ? backOffMaxMs / 6 : backOffMaxMs,
      )
  } else {
    const quiet = origin.closedUntil > 0 && now - origin.closedUntil > backOffQuietMs
    if (another) origin.incidents = quiet ? 1 : origin.incidents + 1
    origin.failures = 0
    lengthMs = asked > 0 ? 0 : Math.min(backOffMs * 2 ** (Math.max(origin.incidents, 1) - 1), backOffMaxMs)
  }
  if (asked > 0) lengthMs = Math.max(asked, lengthMs ?? 0)
  if (lengthMs !== undefined)
    origin.closedUntil = ms(Math.max(origin.closedUntil, ended + lengthMs * (1 + jitter / 10)))
}

export type Word = {
  lane: string
  fence: number
  dropped: string[]
  next: { kind: 'keep' | 'pool' | 'release' | 'unused' } | { kind: 'defer'; until: number; why: string }
}

/** A lane with URLs of several crawls is looked at soon again where one of them gets no slot, for the turns of the others. */
function tillNextTurn(m: Model, lane: Lane, list: List, { until, why }: { until: number; why: string }, now: number) {
  const crawl = crawlOf(list)
  const last = turnsOf(lane).findLast(([other]) => other !== crawl)?.[1]
  if (last === undefined || !['share', 'pool'].includes(why)) return until
  const own = lane.turns?.get(crawl)
  if (own !== undefined) lane.turns?.set(crawl, Math.max(own, last + turnLength(m, crawl)))
  return Math.min(until, now + Math.max(100, lane.why === why ? (until - now) * 0.1 : 0))
}

export function resolve(m: Model, call: Call, words: Word[]): string[] | 'doubt' {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  return words.map(({ lane: name, fence, dropped, next }) => {
    const lane = m.lanes.get(name)
    const lease = lane?.lease
    if (lane === undefined || !befalls(next.kind, lease, fence, now)) return 'stale'
    leave(m, lane, lease.list, dropped)
    if (next.kind === 'pool') lease.isOfPool = true
    if (next.kind === 'release') makeDue(lane, lease.notBefore)
    else if (next.kind === 'unused') {
      const owed = owedAfter(m, name, lease, lease.started?.delayMs ?? 0, now)
      lane.last = { ended: now, owed, of: lease.started?.of }
      makeDue(lane, Math.max(lease.notBefore, now + owed))
    } else if (next.kind === 'defer') {
      // answered since the taking: nobody would wake it
      const isOfFetch = next.why === 'robots-in-flight'
      const { question } = originAt(m, originOf(name))
      const over = isOfFetch ? question === undefined : hasChanged(m, originOf(name), lease.fence, now)
      if (over) makeDue(lane, lease.notBefore)
      else makeDueAfter(m, now, name, lease.notBefore, tillNextTurn(m, lane, lease.list, next, now), next.why)
    }
    return 'completed'
  })
}
