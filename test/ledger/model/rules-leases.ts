/** The rules of begin, enter, settle, resolve and restore. */
import { leastOf, raised, raiseOver } from './rules-least-delays.ts'
import { stoppedUntil } from './rules-stops.ts'
import {
  agentOf,
  type Call,
  crawlOf,
  endTurn,
  HOLD_MS,
  idIn,
  isSecondary,
  type Lane,
  type List,
  laneOf,
  type Model,
  makeDue,
  makeDueAfter,
  ms,
  type Origin,
  open,
  openUnlessInDoubt,
  originAt,
  originOf,
  type Queue,
  SETTINGS,
  streamOf,
  urlsIn,
  waitingIn,
} from './state.ts'

const { leaseMs, backOffMs, backOffMaxMs, backOffQuietMs } = SETTINGS

// --- begin, enter ------------------------------------------------------------------------------------------------

export type Starting = {
  lane: string
  fence: number
  kind: 'page' | 'robots' | 'robots-page'
  version: number
  delayMs: number
  paceLane: string | undefined
}
export type StartAnswer = { kind: string; waitMs?: number; paceLane?: { fence: number; delayMs: number } }
/** granted, early, or the refusal. */
export function start(m: Model, call: Call, orders: Starting[]): StartAnswer[] {
  const { now, held } = open(m, call)
  return orders.map(({ lane: name, fence, kind, version, delayMs, paceLane }) => {
    const lane = m.lanes.get(name)
    const lease = lane?.lease
    if (lane === undefined || lease === undefined || lease.fence !== fence || lease.started !== undefined)
      return { kind: 'stale' }
    const origin = originAt(m, originOf(name))
    const paused = Math.max(origin.pausedUntil, origin.blockedUntil)
    const shut = Math.max(origin.closedUntil, paused)
    if (held > now) {
      makeDueAfter(m, now, lane, lease.list, lease.notBefore, held, 'lane-busy')
      return { kind: 'startup-hold' }
    }
    const stop = stoppedUntil(m, originOf(name), now)
    if (stop > now) {
      makeDueAfter(m, now, lane, lease.list, lease.notBefore, stop, 'stopped')
      return { kind: 'stopped' }
    }
    if (shut > now) {
      makeDueAfter(
        m,
        now,
        lane,
        lease.list,
        lease.notBefore,
        shut,
        paused >= origin.closedUntil ? 'paused' : 'back-off',
      )
      return { kind: 'back-off' }
    }
    if (origin.version !== version) {
      makeDue(lane, lease.notBefore)
      return { kind: 'rules-changed' }
    }
    if (kind !== 'page' && origin.question !== undefined && origin.question.until > now) {
      makeDueAfter(m, now, lane, lease.list, lease.notBefore, origin.question.until, 'robots-in-flight')
      return { kind: 'robots-in-flight' }
    }
    if (lease.notBefore > now) return { kind: 'early', waitMs: lease.notBefore - now }
    if (raised(m, name, lease.notBefore) > now) {
      makeDueAfter(m, now, lane, lease.list, lease.notBefore, raiseOver(m, name), 'pace-group')
      return { kind: 'paced' }
    }
    const least = demanded(origin, now)
    const asked = { kind: 'pace-group' as const, delayMs: Math.max(delayMs, least), by: name }
    const visited = paceLane === undefined ? undefined : acquireLease(m, now, held, { lanes: [paceLane], ...asked })
    if (visited !== undefined && 'until' in visited) {
      makeDueAfter(m, now, lane, lease.list, lease.notBefore, visited.until, 'pace-group')
      return { kind: 'paced' }
    }
    m.planned = false
    lease.started = { at: ms(now), delayMs, kind, wasFailing: origin.failures > 0, least }
    lease.ends = ms(now + leaseMs)
    if (kind !== 'page') origin.question = { fence, until: ms(now + HOLD_MS) }
    return { kind: 'granted', ...(visited === undefined ? {} : { paceLane: visited.lease }) }
  })
}

/** How often a hop looks whether the robots fetch of its origin has ended. */
const LOOK_AGAIN_MS = 250

/** The permit asked for again. */
export function confirm(
  m: Model,
  call: Call,
  held: { lane: string; fence: number; version: number | undefined }[],
): string {
  const { now, held: holdUntil } = open(m, call)
  if (holdUntil > now) return 'startup-hold'
  for (const { lane, fence, version } of held) {
    const lease = m.lanes.get(lane)?.lease
    if (lease?.started === undefined || lease.fence !== fence) return 'stale'
    if (stoppedUntil(m, originOf(lane), now) > now) return 'stopped'
    const origin = originAt(m, originOf(lane))
    const block = lease.started.kind === 'pace-group' ? 0 : origin.blockedUntil
    if (Math.max(origin.closedUntil, origin.pausedUntil, block) > now) return 'back-off'
    if (version !== undefined && version !== origin.version) return 'rules-changed'
    if (lease.started.kind === 'robots' && origin.question?.fence !== fence) return 'stale'
  }
  return 'granted'
}

/** The delay that an operator demands, while he does. */
const demanded = ({ override }: Origin, now: number): number =>
  override !== undefined && override.until > now ? override.delayMs : 0

export type Visiting = {
  lanes: string[]
  kind: 'hop' | 'pace-group'
  delayMs: number
  by: string | undefined
  /** that of the settings where it is not given */
  leaseMs?: number
}

export function acquire(
  m: Model,
  call: Call,
  asked: Visiting & { isRobots: boolean },
): { waitMs: number } | { kind: 'blocked' } | { lane: string; lease: { fence: number; delayMs: number } } {
  const { now, held } = open(m, call)
  const { lanes, kind, delayMs, isRobots } = asked
  const [first = ''] = lanes
  const origin = originAt(m, originOf(first))
  const { blockedUntil, question } = origin
  if (kind === 'hop' && blockedUntil > now) return { kind: 'blocked' }
  if (kind === 'hop' && question !== undefined && question.until > now)
    return { waitMs: Math.min(question.until - now, LOOK_AGAIN_MS) }
  const known = kind === 'hop' ? Math.max(origin.delays.get(agentOf(first)) ?? 0, demanded(origin, now)) : 0
  const visited = acquireLease(m, now, held, { ...asked, delayMs: Math.max(delayMs, known) })
  if ('until' in visited) return { waitMs: Math.max(1, visited.until - now) }
  if (isRobots) origin.question = { fence: visited.lease.fence, until: ms(now + HOLD_MS) }
  return visited
}

/** A visit that no URL of the lane asked for: to the first of these lanes that is open, and that nobody waits for who came before. */
export function acquireLease(
  m: Model,
  now: number,
  held: number,
  { lanes, kind, delayMs, by, leaseMs: lastsMs = leaseMs }: Visiting,
): { until: number } | { lane: string; lease: { fence: number; delayMs: number } } {
  const step = Math.max(delayMs, 50)
  let best: { name: string; opens: number; ownDue: number; own: boolean; queue: Queue } | undefined
  for (const name of lanes) {
    const lane = m.lanes.get(name)
    const origin = originAt(m, originOf(name))
    const shut = Math.max(
      held,
      origin.closedUntil,
      origin.pausedUntil,
      kind === 'hop' ? origin.blockedUntil : 0,
      stoppedUntil(m, originOf(name), now),
    )
    const ownDue = raised(m, name, lane?.ownDue ?? lane?.due ?? now)
    const own = ownWaits(lane)
    const queue = queueOf(m, name, now, step, by, own && lane?.why === 'pace-group')
    const place = placeIn(queue, by)
    const isFirst = queue.waiting.slice(0, place).every(({ at }) => at > now + step)
    if (isFirst && lane?.lease === undefined && Math.max(shut, ownDue) <= now) {
      const entered = laneOf(m, name)
      if (placeIn(queue, by) < queue.waiting.length) queue.waiting.splice(place, 1)
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
      m.fence = Math.max(m.fence, Math.floor(now * 1_000)) + 1
      delete entered.due
      delete entered.ownDue
      if (own) entered.why = 'pace-group'
      const least = demanded(origin, now)
      const owed = ms(Math.max(delayMs, origin.delays.get(agentOf(name)) ?? 0, least))
      const started = { at: ms(now), delayMs: owed, kind, wasFailing: false, least }
      const ends = ms(now + lastsMs)
      const ownPlace = placeIn(queue, name)
      const before = ownPlace < queue.waiting.length ? ownPlace : undefined
      entered.lease = { fence: m.fence, list: 'q', notBefore: ms(ownDue), ends, looked: ends, started, before }
      return { lane: name, lease: { fence: m.fence, delayMs: owed } }
    }
    const owed = lane?.lease?.started?.delayMs ?? 0
    const opens = Math.max(shut, lane?.lease === undefined ? ownDue : now + Math.max(owed, delayMs), now)
    if (best === undefined || opens < best.opens) best = { name, opens, ownDue, own, queue }
  }
  if (best === undefined) throw new Error('a visit needs a lane')
  return { until: waitFor(m, now, step, by, best) }
}

/** A lane's own URLs wait like others, but for those that are being asked for, and those that a gate keeps back. */
const ownWaits = (lane: Lane | undefined): boolean =>
  lane !== undefined &&
  waitingIn(lane) > 0 &&
  (lane.ownDue === undefined || lane.why === 'pace-group') &&
  (lane.lease === undefined || isSecondary(lane.lease))

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
    .filter((one) => one.name === by || one.at + Math.max(step, 250) >= now)
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

/** First come, first served, the lane's own URLs behind whoever came before them. */
function waitFor(
  m: Model,
  now: number,
  step: number,
  by: string | undefined,
  { name, opens, ownDue, own, queue }: { name: string; opens: number; ownDue: number; own: boolean; queue: Queue },
): number {
  const lane = m.lanes.get(name)
  const { waiting } = queue
  if (by !== undefined && placeIn(queue, by) === waiting.length && waiting.length < 32)
    waiting.push({ name: by, at: 0 })
  const place = placeIn(queue, by)
  const listed = waiting[place]
  const wanted =
    listed === undefined ? Math.max(queue.last + step, opens + waiting.length * step) : opens + place * step
  const at = Math.min(wanted, now + 3_600_000)
  if (listed !== undefined) listed.at = at
  if (own && placeIn(queue, name) === waiting.length) waiting.push({ name, at: 0 })
  const ownPlace = placeIn(queue, name)
  const entry = waiting[ownPlace]
  if (lane !== undefined && entry !== undefined) {
    entry.at = opens + ownPlace * step
    if (lane.lease === undefined) {
      lane.due = Math.max(entry.at, ownDue)
      delete lane.ownDue
      if (entry.at > ownDue) lane.ownDue = ms(ownDue)
      lane.why = 'pace-group'
    } else if (isSecondary(lane.lease)) lane.lease.before = ownPlace
  }
  keep(m, name, { ...queue, last: Math.max(queue.last, at) }, now)
  return at
}

// --- settle, resolve ---------------------------------------------------------------------------------------------

export type Ending = {
  lane: string
  fence: number
  delayMs: number
  elapsedMs: number
  load: 'normal' | 'asked-for-less' | 'turned-away' | 'no-answer'
  retryAfterMs: number | undefined
  jitter: number
  /** `kind` of the head's outcome; undefined: it stays */
  outcome: string | undefined
  entered: boolean
  candidate: string | undefined
}

export function complete(m: Model, call: Call, endings: Ending[]): string[] | 'doubt' {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  return endings.map((end) => {
    const lane = m.lanes.get(end.lane)
    const lease = lane?.lease
    if (lane === undefined || lease?.started === undefined || lease.fence !== end.fence) return 'stale'
    const { started } = lease
    delete lane.lease
    if (end.outcome !== undefined) leave(m, lane, lease.list, [end.outcome])
    if (end.candidate !== undefined) m.outbox.push(end.candidate)
    if (end.outcome === undefined && !end.entered) {
      lane.tries++
      lane.triedList = lease.list
    } else if (!isSecondary(lease)) delete lane.why
    const ended = now - Math.min(end.elapsedMs, now - started.at)
    const owed = Math.max(end.delayMs, started.least, leastOf(m, end.lane, started.kind))
    lane.due = ended + owed
    const origin = originAt(m, originOf(end.lane))
    if (end.load !== 'normal') backOff(origin, end, now, started.at, ended)
    else if (started.wasFailing) origin.failures = Math.floor(origin.failures / 2)
    if (waitingIn(lane) > 0) {
      if (lease.before !== undefined)
        makeDueAfter(m, now, lane, 'q', lane.due, lane.due + lease.before * Math.max(owed, 50), 'pace-group')
    } else if (lane.due <= now) m.lanes.delete(end.lane) // nothing waits, nothing is owed
    return 'completed'
  })
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
  lane.tries = 0
  endTurn(lane, crawlOf(list))
}

/** An end of an exchange that a process remembers. */
export type Ended = Pick<Ending, 'lane' | 'delayMs' | 'load' | 'retryAfterMs'> & { endedAt: number }

/** Ends that Redis may have lost: nothing opens earlier by them, and a request that is under way owes its own delay. */
export function restore(m: Model, call: Call, ends: Ended[]): 'restored' | 'doubt' {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  for (const { lane: name, endedAt, delayMs, ...load } of ends) {
    const opens = endedAt + Math.max(delayMs, leastOf(m, name, 'page'))
    if (opens > now) close(laneOf(m, name), opens)
    if (load.load !== 'normal') backOff(originAt(m, originOf(name)), { ...load, jitter: 0 }, now, endedAt, endedAt)
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
function backOff(
  origin: Origin,
  { load, retryAfterMs, jitter }: Pick<Ending, 'load' | 'retryAfterMs' | 'jitter'>,
  now: number,
  startedAt: number,
  ended: number,
): void {
  const another = startedAt >= origin.closedUntil
  let lengthMs: number | undefined
  if (load !== 'asked-for-less') {
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
    lengthMs = retryAfterMs ?? Math.min(backOffMs * 2 ** (Math.max(origin.incidents, 1) - 1), backOffMaxMs)
  }
  if (lengthMs !== undefined)
    origin.closedUntil = ms(Math.max(origin.closedUntil, ended + lengthMs * (1 + jitter / 10)))
}

export type Word = {
  lane: string
  fence: number
  dropped: string[]
  next: { kind: 'keep' | 'release' | 'unused' } | { kind: 'defer'; until: number; why: string }
}

export function resolve(m: Model, call: Call, words: Word[]): string[] | 'doubt' {
  const { now } = openUnlessInDoubt(m, call)
  if (now === undefined) return 'doubt'
  return words.map(({ lane: name, fence, dropped, next }) => {
    const lane = m.lanes.get(name)
    const lease = lane?.lease
    const unused = next.kind === 'release' && lease !== undefined && isSecondary(lease)
    if (lane === undefined || lease === undefined || lease.fence !== fence) return 'stale'
    if (!unused && (lease.started !== undefined) !== (next.kind === 'unused')) return 'stale'
    leave(m, lane, lease.list, dropped)
    if (next.kind === 'release') makeDue(lane, lease.notBefore)
    else if (next.kind === 'unused') {
      const { delayMs = 0, least = 0, kind = 'page' } = lease.started ?? {}
      const owed = Math.max(delayMs, least, leastOf(m, name, kind))
      makeDue(lane, Math.max(lease.notBefore, now + owed))
    } else if (next.kind === 'defer') {
      // answered since the taking: nobody would wake it
      const over = next.why === 'robots-in-flight' && originAt(m, originOf(name)).question === undefined
      if (over) makeDue(lane, lease.notBefore)
      else makeDueAfter(m, now, lane, lease.list, lease.notBefore, next.until, next.why)
    }
    return 'completed'
  })
}
