/** The rules of begin, enter, settle and resolve. */
import {
  agentOf,
  type Call,
  giveBack,
  HOLD_MS,
  isVisit,
  type Lane,
  type List,
  laneOf,
  type Model,
  ms,
  type Origin,
  open,
  originAt,
  originOf,
  SETTINGS,
} from './state.ts'

const { leaseMs, backOffMs, backOffMaxMs, backOffQuietMs } = SETTINGS

// --- begin, enter ------------------------------------------------------------------------------------------------

export type Beginning = {
  lane: string
  fence: number
  kind: 'page' | 'robots' | 'robots-page'
  version: number
  gapMs: number
  clock: string | undefined
}
export type Permit = { kind: string; waitMs?: number; clock?: { fence: number; gapMs: number } }
/** granted, early, or the refusal. */
export function begin(m: Model, call: Call, orders: Beginning[]): Permit[] {
  const { now, held } = open(m, call)
  return orders.map(({ lane: name, fence, kind, version, gapMs, clock }) => {
    const lane = m.lanes.get(name)
    const lease = lane?.lease
    if (lane === undefined || lease === undefined || lease.fence !== fence || lease.begun !== undefined)
      return { kind: 'stale' }
    const origin = originAt(m, originOf(name))
    const paused = Math.max(origin.pausedUntil, origin.blockedUntil)
    const shut = Math.max(origin.shutUntil, paused)
    if (held > now) {
      giveBack(lane, lease.notBefore, held, 'lane-busy')
      return { kind: 'held' }
    }
    if (shut > now) {
      giveBack(lane, lease.notBefore, shut, paused >= origin.shutUntil ? 'paused' : 'back-off')
      return { kind: 'shut' }
    }
    if (origin.version !== version) {
      giveBack(lane, lease.notBefore)
      return { kind: 'rules-changed' }
    }
    if (kind !== 'page' && origin.question !== undefined && origin.question.until > now) {
      giveBack(lane, lease.notBefore, origin.question.until, 'robots-being-asked')
      return { kind: 'being-asked' }
    }
    if (lease.notBefore > now) return { kind: 'early', waitMs: lease.notBefore - now }
    const least = demanded(origin, now)
    const visited = clock === undefined ? undefined : visit(m, now, held, [clock], 'clock', Math.max(gapMs, least))
    if (visited !== undefined && 'until' in visited) {
      giveBack(lane, lease.notBefore, visited.until, 'pace-group')
      return { kind: 'paced' }
    }
    m.planned = false
    lease.begun = { at: ms(now), gapMs, kind, wasFailing: origin.failures > 0, least }
    lease.ends = ms(now + leaseMs)
    if (kind !== 'page') origin.question = { fence, until: ms(now + HOLD_MS) }
    return { kind: 'granted', ...(visited === undefined ? {} : { clock: visited.clock }) }
  })
}

/** How often a hop looks whether the robots fetch of its origin has ended. */
const LOOK_AGAIN_MS = 250

/** The gap that an operator demands, while he does. */
const demanded = ({ override }: Origin, now: number): number =>
  override !== undefined && override.until > now ? override.gapMs : 0

export function enter(
  m: Model,
  call: Call,
  { lanes, kind, gapMs, isRobots }: { lanes: string[]; kind: 'hop' | 'clock'; gapMs: number; isRobots: boolean },
): { waitMs: number } | { kind: 'blocked' } | { lane: string; clock: { fence: number; gapMs: number } } {
  const { now, held } = open(m, call)
  const [first = ''] = lanes
  const origin = originAt(m, originOf(first))
  const { blockedUntil, question } = origin
  if (kind === 'hop' && blockedUntil > now) return { kind: 'blocked' }
  if (kind === 'hop' && question !== undefined && question.until > now)
    return { waitMs: Math.min(question.until - now, LOOK_AGAIN_MS) }
  const known = kind === 'hop' ? Math.max(origin.gaps.get(agentOf(first)) ?? 0, demanded(origin, now)) : 0
  const visited = visit(m, now, held, lanes, kind, Math.max(gapMs, known))
  if ('until' in visited) return { waitMs: Math.max(1, visited.until - now) }
  if (isRobots) origin.question = { fence: visited.clock.fence, until: ms(now + HOLD_MS) }
  return visited
}

/** A visit that no URL of the lane asked for: to the first of these lanes that is open. */
function visit(
  m: Model,
  now: number,
  held: number,
  names: string[],
  kind: 'hop' | 'clock',
  gapMs: number,
): { until: number } | { lane: string; clock: { fence: number; gapMs: number } } {
  let best: { name: string; opens: number } | undefined
  for (const name of names) {
    const lane = m.lanes.get(name)
    const origin = originAt(m, originOf(name))
    const shut = Math.max(held, origin.shutUntil, origin.pausedUntil, kind === 'hop' ? origin.blockedUntil : 0)
    const clock = lane?.clock ?? lane?.due ?? 0
    if (lane?.lease === undefined && Math.max(shut, clock) <= now) {
      const entered = laneOf(m, name)
      if ((m.turns.get(name)?.last ?? 0) <= now) m.turns.delete(name)
      m.planned = false
      m.fence = Math.max(m.fence, Math.floor(now * 1_000)) + 1
      delete entered.due
      delete entered.clock
      const least = demanded(origin, now)
      const owed = ms(Math.max(gapMs, origin.gaps.get(agentOf(name)) ?? 0, least))
      const begun = { at: ms(now), gapMs: owed, kind, wasFailing: false, least }
      const ends = ms(now + SETTINGS.leaseMs)
      entered.lease = { fence: m.fence, list: 'q', notBefore: ms(clock), ends, looked: ends, begun }
      return { lane: name, clock: { fence: m.fence, gapMs: owed } }
    }
    const owed = lane?.lease?.begun?.gapMs ?? 0
    const opens = Math.max(shut, lane?.lease === undefined ? clock : now + Math.max(owed, gapMs))
    if (best === undefined || opens < best.opens) best = { name, opens }
  }
  if (best === undefined) throw new Error('a visit needs a lane')
  return { until: turnOf(m, best.name, best.opens, now, gapMs) }
}

/** The first who finds a silence running is promised its end, before the lane's own URLs; others queue up behind. */
function turnOf(m: Model, name: string, opens: number, now: number, gapMs: number): number {
  const lane = m.lanes.get(name)
  const { first, last } = m.turns.get(name) ?? { first: undefined, last: 0 }
  const step = Math.max(gapMs, 50)
  const promised = lane?.lease === undefined && first !== ms(opens)
  const turn = promised ? opens : Math.max(last, lane?.lease === undefined ? opens : now) + step
  if (promised && lane?.due !== undefined && lane.due <= turn)
    giveBack(lane, lane.clock ?? lane.due, turn + step, 'pace-group')
  m.turns.set(name, { first: promised ? ms(opens) : first, last: ms(Math.max(last, turn)) })
  return turn
}

// --- settle, resolve ---------------------------------------------------------------------------------------------

export type Ending = {
  lane: string
  fence: number
  gapMs: number
  restedMs: number
  mood: 'fine' | 'too-fast' | 'no-answer'
  retryAfterMs: number | undefined
  jitter: number
  /** `kind` of the head's outcome; undefined: it stays */
  outcome: string | undefined
  entered: boolean
  candidate: string | undefined
}

export function settle(m: Model, call: Call, endings: Ending[]): string[] {
  const { now } = open(m, call)
  return endings.map((end) => {
    const lane = m.lanes.get(end.lane)
    const lease = lane?.lease
    if (lane === undefined || lease?.begun === undefined || lease.fence !== end.fence) return 'stale'
    const { begun } = lease
    delete lane.lease
    if (end.outcome !== undefined) leave(m, lane, lease.list, [end.outcome])
    if (end.candidate !== undefined) m.outbox.push(end.candidate)
    if (end.outcome === undefined && !end.entered) {
      lane.tries++
      lane.triedList = lease.list
    } else delete lane.why
    const ended = now - Math.min(end.restedMs, now - begun.at)
    lane.due = ended + Math.max(end.gapMs, begun.least)
    const origin = originAt(m, originOf(end.lane))
    if (end.mood !== 'fine') backOff(origin, end, now, begun.at, ended)
    else if (begun.wasFailing) origin.failures = 0
    if (lane.due <= now && lane.q.length + lane.h.length === 0) m.lanes.delete(end.lane) // nothing waits, nothing is owed
    return 'settled'
  })
}

/** The first heads of a list leave with their outcomes. */
function leave(m: Model, lane: Lane, list: List, kinds: string[]): void {
  for (const kind of kinds) {
    const entry = lane[list].shift()
    if (entry === undefined) throw new Error('more outcomes than URLs')
    m.ids.delete(entry.id)
    m.outcomes.push(`${entry.id} ${kind}`)
  }
  if (kinds.length > 0) lane.tries = 0
}

/** One escalation per incident: an exchange begun before the site was shut belongs to what shut it. */
function backOff(
  origin: Origin,
  { mood, retryAfterMs, jitter }: Ending,
  now: number,
  begunAt: number,
  ended: number,
): void {
  const another = begunAt >= origin.shutUntil
  let lengthMs: number | undefined
  if (mood === 'no-answer') {
    if (another) origin.failures++
    if (origin.failures >= 2) lengthMs = Math.min((backOffMs / 12) * 2 ** (origin.failures - 2), backOffMaxMs)
  } else {
    const quiet = origin.shutUntil > 0 && now - origin.shutUntil > backOffQuietMs
    if (another) origin.incidents = quiet ? 1 : origin.incidents + 1
    origin.failures = 0
    lengthMs = retryAfterMs ?? Math.min(backOffMs * 2 ** (Math.max(origin.incidents, 1) - 1), backOffMaxMs)
  }
  if (lengthMs !== undefined) origin.shutUntil = ms(Math.max(origin.shutUntil, ended + lengthMs * (1 + jitter / 10)))
}

export type Word = {
  lane: string
  fence: number
  dropped: string[]
  next: { kind: 'keep' | 'release' } | { kind: 'defer'; until: number; why: string }
}

export function resolve(m: Model, call: Call, words: Word[]): string[] {
  open(m, call)
  return words.map(({ lane: name, fence, dropped, next }) => {
    const lane = m.lanes.get(name)
    const lease = lane?.lease
    const unused = next.kind === 'release' && lease !== undefined && isVisit(lease)
    if (lane === undefined || lease === undefined || lease.fence !== fence) return 'stale'
    if (lease.begun !== undefined && !unused) return 'stale'
    leave(m, lane, lease.list, dropped)
    if (next.kind === 'release') giveBack(lane, lease.notBefore)
    else if (next.kind === 'defer') {
      // answered since the taking: nobody would wake it
      const over = next.why === 'robots-being-asked' && originAt(m, originOf(name)).question === undefined
      if (over) giveBack(lane, lease.notBefore)
      else giveBack(lane, lease.notBefore, next.until, next.why)
    }
    return 'settled'
  })
}
