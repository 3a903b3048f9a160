/** The rules of leases that no URL of the lane asked for, and of who waits for one. */
import { byHand, demanded, opensAt } from './rules-delays.ts'
import { gateOf } from './rules-gates.ts'
import { orderByTurns } from './rules-turns.ts'
import {
  crawlAsking,
  isSecondary,
  kindBeside,
  type Lane,
  type List,
  laneOf,
  type Model,
  makeDueAfter,
  ms,
  originAt,
  originOf,
  type Queue,
  SETTINGS,
  waitingIn,
} from './state.ts'

const LONGEST_WAIT_MS = 3_600_000
/** reap looks at a secondary lease for the first time after this */
const FIRST_LOOK_MS = 5_000
const MOST_WAITING = 32
/** Who comes later than this, or than one step, has lost its place. */
const LEAST_GRACE_MS = 250

export type LeaseAsked = {
  lanes: string[]
  kind: 'hop' | 'permit' | 'host' | 'pace-group'
  delayMs: number
  by: string | undefined
  /** the lane whose request it is; and an operator's delay of it, where it is known with the delay */
  of?: string | undefined
  ofByHand?: number
  /** of the rules that a permit was judged by */
  judged?: number
  /** of its crawl */
  list?: List | undefined
  /** that of the settings where it is not given */
  leaseMs?: number
  /** a lane that is due so soon is free; none */
  aheadMs?: number
  /** when another lane of the same request opens */
  notBefore?: number
}
export type LeaseGiven = { fence: number; delayMs: number }
type Found = {
  name: string
  isFree: boolean
  opens: number
  ownDue: number
  own: boolean
  gate: string | undefined
  isHeld: boolean
  queue: Queue
  step: number
  /** the line is in the order of turns */
  byTurn: boolean
}

/** The first of these lanes that is open and that nobody waits for who came before; else the one that opens first. */
export function lookFor(m: Model, now: number, held: number, asked: LeaseAsked): Found {
  const { lanes, kind, delayMs, by, judged, list, aheadMs = 0 } = asked
  const step = Math.max(delayMs, 50)
  const what = kind === 'pace-group' ? 'group' : kind
  let best: Found | undefined
  for (const name of lanes) {
    const lane = m.lanes.get(name)
    const closed = gateOf(m, { what, moment: 'grant', lane: name, now, held, judged, list })
    const ownDue = opensAt(m, name, lane?.ownDue ?? lane?.due ?? now, now)
    const own = closed === undefined && ownWaits(lane)
    const queue = queueOf(m, name, now, step, by, own && lane?.why === 'pace-group')
    const crawl = kind === 'permit' && m.hasCrawls ? crawlAsking(by) : undefined
    const byTurn = crawl !== undefined && (isIn(queue, by) || queue.waiting.length < MOST_WAITING)
    if (byTurn && by !== undefined) {
      if (!isIn(queue, by)) queue.waiting.push({ name: by, at: now })
      const isServed = ownDue + Math.max(step, LEAST_GRACE_MS) >= now
      if (own && isServed && !isIn(queue, name)) queue.waiting.push({ name, at: ownDue })
      orderByTurns(m, name, queue, crawl)
    }
    const isFirst = queue.waiting.slice(0, placeIn(queue, by)).every(({ at }) => at > now + step)
    const isHeld = lane?.lease !== undefined
    const isFree = isFirst && !isHeld && closed === undefined && ownDue <= now + aheadMs
    const owed = lane?.lease?.started?.delayMs ?? 0
    const opens = Math.max(closed?.till ?? 0, isHeld ? now + Math.max(owed, delayMs) : ownDue, now)
    const found = {
      name,
      isFree,
      opens: isFree ? ownDue : opens,
      ownDue,
      own,
      gate: closed?.gate,
      isHeld,
      queue,
      step,
      byTurn,
    }
    if (isFree) return found
    if (best === undefined || opens < best.opens) best = found
  }
  if (best === undefined) throw new Error('a lease needs a lane')
  return best
}

/** What a lease owes by what is known when it is granted. */
export function owedAtGrant(m: Model, name: string, { kind, delayMs, of, ofByHand }: LeaseAsked, now: number): number {
  const ofOther = of === undefined || ofByHand !== undefined ? 0 : demanded(m, of, now).delayMs
  return Math.max(delayMs, ofOther, kind === 'pace-group' ? 0 : demanded(m, name, now).delayMs)
}

/** Leases a lane that was found free. */
export function take(m: Model, now: number, found: Found, asked: LeaseAsked): LeaseGiven {
  const { name, own, queue, step, ownDue } = found
  const { lanes, kind, delayMs, by, of, ofByHand, leaseMs = SETTINGS.leaseMs, notBefore = now } = asked
  const lane = laneOf(m, name)
  const place = placeIn(queue, by)
  if (place < queue.waiting.length) queue.waiting.splice(place, 1)
  if (own && placeIn(queue, name) === queue.waiting.length) queue.waiting.push({ name, at: ms(now + delayMs) })
  keep(m, name, queue, now)
  for (const other of lanes) {
    const rest = m.queues.get(other)
    if (other === name || by === undefined || rest?.waiting.every((one) => one.name !== by) !== false) continue
    const left = queueOf(m, other, now, step, by, true)
    left.waiting = left.waiting.filter((one) => one.name !== by)
    keep(m, other, left, now)
  }
  m.planned = false
  const owed = owedAtGrant(m, name, asked, now)
  m.fence = Math.max(m.fence, Math.floor(now * 1_000)) + 1
  delete lane.due
  delete lane.ownDue
  if (own) lane.why = 'pace-group'
  const ofOther = ofByHand ?? (of === undefined ? 0 : byHand(originAt(m, originOf(of)), now))
  const atGrant = Math.max(byHand(originAt(m, originOf(name)), now), ofOther)
  const started = {
    at: now,
    delayMs: owed,
    kind,
    wasFailing: false,
    byHand: atGrant,
    of,
    requestAt: Math.max(ownDue, now, notBefore),
  }
  const ends = now + leaseMs
  const ownPlace = placeIn(queue, name)
  const before = ownPlace < queue.waiting.length ? ownPlace : undefined
  lane.lease = {
    fence: m.fence,
    list: 'q',
    notBefore: ownDue < 0 ? now : ownDue, // a place in line is worth nothing later
    ends,
    looked: Math.min(ends, now + FIRST_LOOK_MS),
    started,
    before,
  }
  return { fence: m.fence, delayMs: ms(owed) }
}

export function acquireLease(
  m: Model,
  now: number,
  held: number,
  asked: LeaseAsked,
): { until: number; gate: string } | { lane: string; lease: LeaseGiven; sentAt: number } {
  const found = lookFor(m, now, held, asked)
  if (found.isFree) {
    const lease = take(m, now, found, asked)
    return { lane: found.name, lease, sentAt: Math.max(found.ownDue, now, asked.notBefore ?? 0) }
  }
  if (found.gate === 'blocked') return { until: found.opens, gate: found.gate }
  const gate = found.gate ?? (found.isHeld ? 'lane-busy' : 'pace-group')
  return { until: waitFor(m, now, asked.by, found, found.opens, found.gate), gate }
}

/** The lease of a lane and that of its pace lane, both or neither. */
export function acquireBoth(
  m: Model,
  now: number,
  held: number,
  own: Found,
  asked: LeaseAsked,
  paceLane: string | undefined,
):
  | { until: number; gate: string | undefined; isOwn: boolean }
  | { own: LeaseGiven; pace?: LeaseGiven; notBefore: number } {
  const { delayMs, by, leaseMs, aheadMs = 0 } = asked
  const owed = own.isFree ? owedAtGrant(m, own.name, asked, now) : delayMs
  const life = leaseMs === undefined ? {} : { leaseMs }
  const beside = {
    ...{ lanes: [paceLane ?? ''], kind: kindBeside(paceLane ?? ''), delayMs: owed, by, of: own.name, aheadMs, ...life },
  }
  const pace = paceLane === undefined ? undefined : lookFor(m, now, held, beside)
  if (own.isFree && pace?.isFree !== false) {
    const notBefore = Math.max(own.opens, pace?.opens ?? 0, now)
    const given = take(m, now, own, { ...asked, notBefore })
    if (pace === undefined) return { own: given, notBefore }
    return { own: given, pace: take(m, now, pace, { ...beside, notBefore }), notBefore }
  }
  const opens = Math.max(own.opens, pace === undefined || pace.isFree ? 0 : pace.opens)
  const at = waitFor(m, now, by, own, opens, own.gate ?? pace?.gate)
  if (!own.isFree) return { until: at, gate: own.gate ?? (own.isHeld ? 'lane-busy' : undefined), isOwn: true }
  if (pace === undefined) throw new Error('what is free is granted')
  const until = Math.max(at, waitFor(m, now, by, pace, Math.max(pace.opens, at), pace.gate))
  return { until, gate: pace.gate ?? 'pace-group', isOwn: false }
}

/** A lane's own URLs wait like others, but for those that are being asked for, and those that a gate keeps back. */
const ownWaits = (lane: Lane | undefined): boolean =>
  lane !== undefined &&
  waitingIn(lane) > 0 &&
  (lane.ownDue === undefined || lane.why === 'pace-group') &&
  (lane.lease === undefined || isSecondary(lane.lease))

const isIn = (queue: Queue, name: string | undefined): boolean => placeIn(queue, name) < queue.waiting.length
/** Its length when there is none. */
const placeIn = ({ waiting }: Queue, name: string | undefined): number => {
  const place = waiting.findIndex((one) => one.name === name)
  return place < 0 ? waiting.length : place
}

/** Who waits, without those who have not come in time. */
function queueOf(m: Model, name: string, now: number, step: number, by: string | undefined, own: boolean): Queue {
  const { last, waiting } = m.queues.get(name) ?? { last: 0, waiting: [] }
  const there = waiting
    .map((one) => (one.name === name ? { name, at: m.lanes.get(name)?.due ?? now } : { ...one }))
    .filter((one) => one.name !== name || own)
    .filter((one) => one.name === by || one.at + Math.max(step, LEAST_GRACE_MS) >= now)
  return { last, waiting: there }
}

function keep(m: Model, name: string, queue: Queue, now: number): void {
  if (queue.waiting.length === 0 && queue.last <= now) m.queues.delete(name)
  else
    m.queues.set(name, {
      last: ms(Math.max(queue.last, ...queue.waiting.map(({ at }) => at))),
      waiting: queue.waiting.map((one) => ({ ...one, at: ms(one.at) })),
    })
}

/** First come, first served, the lane's own URLs behind whoever came before them; behind a gate nobody has a place. */
export function waitFor(
  m: Model,
  now: number,
  by: string | undefined,
  found: Found,
  opens: number,
  gate: string | undefined,
): number {
  if (gate !== undefined) return Math.min(opens, now + LONGEST_WAIT_MS)
  const { name, ownDue, own, queue, step, byTurn } = found
  const lane = m.lanes.get(name)
  const { waiting } = queue
  if (by !== undefined && placeIn(queue, by) === waiting.length && waiting.length < MOST_WAITING)
    waiting.push({ name: by, at: 0 })
  const place = placeIn(queue, by)
  const listed = waiting[place]
  const wanted =
    listed === undefined ? Math.max(queue.last + step, opens + waiting.length * step) : opens + place * step
  // behind the lane's own URLs: while the delay after theirs runs, before the next of them is reserved
  const early = byTurn && listed !== undefined && placeIn(queue, name) < place ? step / 2 : 0
  const at = Math.min(wanted, now + LONGEST_WAIT_MS) - early
  if (listed !== undefined) listed.at = at
  if (own && placeIn(queue, name) === waiting.length) waiting.push({ name, at: 0 })
  const ownPlace = placeIn(queue, name)
  const entry = own ? waiting[ownPlace] : undefined
  if (lane !== undefined && entry !== undefined) {
    entry.at = opens + ownPlace * step
    if (lane.lease === undefined) {
      delete lane.ownDue
      lane.why = 'pace-group'
      makeDueAfter(m, now, name, ownDue, entry.at, 'pace-group')
    } else if (isSecondary(lane.lease)) lane.lease.before = ownPlace
  }
  keep(m, name, { ...queue, last: Math.max(queue.last, at) }, now)
  return at
}
