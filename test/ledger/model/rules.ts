/**
 * The ledger's rules as a small pure model: no Redis, no I/O, one partition. It knows nothing of keys and scripts, only of
 * lanes, clocks, leases and what is owed; `world.ts` plays the real ones beside it, and `run.test.ts` compares.
 */
export const AGENTS = ['ant', 'bee'] as const
export const ORIGINS = ['http://one.test', 'http://two.test'] as const
export const SETTINGS = {
  leaseMs: 45_000,
  quarantineMs: 10_000,
  reserveMs: 30_000,
  laneLimit: 5,
  outcomesLimit: 12,
  backOffMs: 60_000,
  backOffMaxMs: 3_600_000,
  backOffQuietMs: 1_800_000,
}
const { leaseMs, quarantineMs, reserveMs, laneLimit, outcomesLimit, backOffMs, backOffMaxMs, backOffQuietMs } = SETTINGS
export const HOLD_MS = leaseMs + quarantineMs
export const FIRST_HOLD_MS = 1_000

export type List = 'q' | 'h'
/** A URL in its lane. */
export type Entry = { id: string; expiresAt: number }
export type Lease = {
  fence: number
  list: List
  notBefore: number
  ends: number
  begun?: { at: number; gapMs: number; kind: 'page' | 'robots' | 'hop'; wasFailing: boolean; least: number }
}
export type Lane = {
  q: Entry[]
  h: Entry[]
  due?: number
  lease?: Lease
  tries: number
  triedList: List
  /** its own clock, while it is deferred */
  clock?: number
  why?: string
}
export type Origin = {
  version: number
  notBefore?: number // the one fact of the robots state that the model plays with
  question?: { fence: number; until: number }
  shutUntil: number
  incidents: number
  failures: number
  pausedUntil: number
  blockedUntil: number
  /** gap by an operator's hand */
  override?: { gapMs: number; until: number }
  gaps: Map<string, number>
}
export type Model = {
  epoch?: { run: number; id: string; prev: string; hold: number; now: number }
  planned: boolean
  fence: number
  lanes: Map<string, Lane>
  origins: Map<string, Origin>
  ids: Set<string>
  marks: Set<string>
  /** jobs that exist, with the chunks that are parked */
  jobs: Map<string, Set<number>>
  /** unread outcomes, oldest first: `id kind` */
  outcomes: string[]
  outbox: string[]
}

export function emptyModel(): Model {
  return {
    planned: false,
    fence: 0,
    lanes: new Map(),
    origins: new Map(),
    ids: new Set(),
    marks: new Set(),
    jobs: new Map(),
    outcomes: [],
    outbox: [],
  }
}
export const copyOf = (m: Model): Model => structuredClone(m)

/** Who calls, and when: what it remembers of the epoch, and the clock that Redis shows. */
export type Call = { caller: { known: string }; time: number; run: number }

const laneOf = (m: Model, name: string): Lane => {
  const found = m.lanes.get(name)
  if (found !== undefined) return found
  const lane: Lane = { q: [], h: [], tries: 0, triedList: 'q' }
  m.lanes.set(name, lane)
  return lane
}
export const originOf = (lane: string): string => lane.slice(lane.indexOf(' ') + 1)
export const agentOf = (lane: string): string => lane.slice(0, lane.indexOf(' '))
export const originAt = (m: Model, name: string): Origin => {
  const found = m.origins.get(name)
  if (found !== undefined) return found
  const origin: Origin = {
    version: 0,
    shutUntil: 0,
    incidents: 0,
    failures: 0,
    pausedUntil: 0,
    blockedUntil: 0,
    gaps: new Map(),
  }
  m.origins.set(name, origin)
  return origin
}
/** Instants that Redis keeps as text have three decimals. */
const ms = (instant: number): number => Number(instant.toFixed(3))

/** Every call: Redis's clock never runs backwards, and a new Redis holds its grants. */
function open(m: Model, { caller, time, run }: Call): { now: number; held: number } {
  const now = Math.max(time, m.epoch?.now ?? 0)
  if (m.epoch === undefined || m.epoch.run !== run) {
    const unknown = caller.known === '' ? FIRST_HOLD_MS : HOLD_MS
    const waitMs = m.epoch === undefined ? unknown : m.planned ? 0 : HOLD_MS
    const hold = Math.max(m.epoch?.hold ?? 0, now + waitMs)
    m.epoch = { run, id: (now * 1_000).toFixed(0), prev: m.epoch?.id ?? '', hold, now }
    m.planned = false
  } else if (caller.known !== '' && caller.known !== m.epoch.id && caller.known !== m.epoch.prev) {
    m.epoch.hold = Math.max(m.epoch.hold, now + HOLD_MS)
  }
  m.epoch.now = now
  caller.known = m.epoch.id
  return { now, held: m.epoch.hold }
}

function giveBack(lane: Lane, clock: number, till = 0, why = ''): void {
  delete lane.lease
  lane.due = Math.max(clock, till)
  if (till > clock) {
    lane.clock = ms(clock)
    lane.why = why
  }
}

// --- park --------------------------------------------------------------------------------------------------------

export type Item =
  | { lane: string; list: List; id: string; expiresAt: number; mark?: string }
  | { outcome: string; id: string; mark?: string }
export type Mark = { job: string; chunk: number } | { key: string } | undefined

export function park(
  m: Model,
  call: Call,
  items: Item[],
  mark: Mark,
): { parked: number; absorbed: number; outcomes: number } {
  open(m, call)
  const known =
    mark === undefined ? false : 'job' in mark ? (m.jobs.get(mark.job)?.has(mark.chunk) ?? true) : m.marks.has(mark.key)
  if (known) return { parked: 0, absorbed: items.length, outcomes: 0 }
  const result = { parked: 0, absorbed: 0, outcomes: 0 }
  const fresh = (name: string | undefined): boolean => {
    if (name === undefined) return true
    const first = !m.marks.has(name)
    m.marks.add(name)
    return first
  }
  const groups = new Map<string, Item[]>()
  for (const item of items) if ('lane' in item) groups.set(item.lane, [...(groups.get(item.lane) ?? []), item])
  // Beyond the limit of a lane: what came first stays
  const refused = new Set<Item>()
  for (const [name, group] of groups) {
    const lane = m.lanes.get(name)
    const room = Math.max(0, laneLimit - (lane === undefined ? 0 : lane.q.length + lane.h.length))
    for (const item of group.slice(room)) refused.add(item)
  }
  for (const [name, group] of groups) {
    for (const item of group) {
      if (refused.has(item) || !('lane' in item)) continue
      if (fresh(item.mark) && !m.ids.has(item.id)) {
        const lane = laneOf(m, name)
        m.ids.add(item.id)
        lane[item.list].push({ id: item.id, expiresAt: item.expiresAt })
        if (lane.due === undefined && lane.lease === undefined) lane.due = m.epoch!.now
        result.parked++
      } else result.absorbed++
    }
  }
  for (const item of items) {
    if ('lane' in item && !refused.has(item)) continue
    if (!m.ids.has(item.id) && fresh(item.mark)) {
      m.outcomes.push(`${item.id} ${'outcome' in item ? item.outcome : 'refused'}`)
      result.outcomes++
    } else result.absorbed++
  }
  if (mark !== undefined) {
    if ('job' in mark) m.jobs.get(mark.job)?.add(mark.chunk)
    else m.marks.add(mark.key)
  }
  return result
}

// --- take --------------------------------------------------------------------------------------------------------

export type TakenLane = {
  lane: string
  fence: number
  notBefore: number
  tries: number
  list: List
  heads: string[]
  why: string | undefined
  shutUntil: number | undefined
  blocked: boolean
  version: number
  question: { fence: number; until: number } | undefined
}
export type Taken = { why: string; waitMs: number | undefined } | { lanes: TakenLane[]; more: boolean }

export function take(
  m: Model,
  call: Call,
  ask: { limit: number; aheadMs: number; inFlightLimit: number; peek: number },
): Taken {
  const { now, held } = open(m, call)
  if (held > now) return { why: 'held', waitMs: held - now }
  if (m.outcomes.length >= outcomesLimit) return { why: 'outcomes-full', waitMs: undefined }
  const leased = [...m.lanes.values()].filter(({ lease }) => lease !== undefined).length
  const limit = Math.min(ask.limit, ask.inFlightLimit - leased)
  if (limit <= 0) return { why: 'slots-full', waitMs: undefined }
  const waiting = dueLanes(m)
  const found = waiting.filter(([, { due }]) => due! <= ms(now + ask.aheadMs)).slice(0, limit)
  const lanes: TakenLane[] = []
  for (const [name, lane] of found) {
    const opens = lane.due!
    const list: List = lane.tries > 0 ? lane.triedList : lane.h.length > 0 ? 'h' : 'q'
    const [head] = lane[list]
    if (head === undefined) {
      if (opens <= now) m.lanes.delete(name) // its cool-down is over
      continue
    }
    const origin = originAt(m, originOf(name))
    const shut = Math.max(origin.shutUntil, origin.pausedUntil)
    const expires = Math.ceil(head.expiresAt / 1_000) * 1_000
    const blocked = origin.blockedUntil > now
    if (shut > opens && shut > now && expires > now && !blocked) {
      giveBack(
        lane,
        lane.clock ?? opens,
        Math.min(shut, expires),
        origin.pausedUntil >= origin.shutUntil ? 'paused' : 'back-off',
      )
      continue
    }
    delete lane.clock
    delete lane.due
    m.fence = Math.max(m.fence, Math.floor(now * 1_000)) + 1
    lane.lease = { fence: m.fence, list, notBefore: opens, ends: ms(now + reserveMs) }
    lanes.push({
      lane: name,
      fence: m.fence,
      notBefore: opens,
      tries: lane.tries,
      list,
      heads: lane[list].slice(0, ask.peek).map(({ id }) => id),
      why: lane.why,
      shutUntil: shut > now ? shut : undefined,
      blocked,
      version: origin.version,
      question: origin.question,
    })
  }
  if (lanes.length > 0) return { lanes, more: found.length === limit }
  const first = dueLanes(m)[0]?.[1].due
  return { why: 'nothing-due', waitMs: first === undefined ? undefined : Math.max(0, first - now) }
}

const dueLanes = (m: Model): [string, Lane][] =>
  [...m.lanes]
    .filter(([, { due }]) => due !== undefined)
    .sort(([a, { due: x }], [b, { due: y }]) => x! - y! || (a < b ? -1 : 1))

// --- begin, enter ------------------------------------------------------------------------------------------------

export type Beginning = { lane: string; fence: number; kind: 'page' | 'robots'; version: number; gapMs: number }
export type Permit = { kind: string; waitMs?: number }
/** granted, early, or the refusal. */
export function begin(m: Model, call: Call, orders: Beginning[]): Permit[] {
  const { now, held } = open(m, call)
  return orders.map(({ lane: name, fence, kind, version, gapMs }) => {
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
    if (kind === 'robots' && origin.question !== undefined && origin.question.until > now) {
      giveBack(lane, lease.notBefore, origin.question.until, 'robots-being-asked')
      return { kind: 'being-asked' }
    }
    if (lease.notBefore > now) return { kind: 'early', waitMs: lease.notBefore - now }
    m.planned = false
    lease.begun = { at: ms(now), gapMs, kind, wasFailing: origin.failures > 0, least: demanded(origin, now) }
    lease.ends = now + leaseMs
    if (kind === 'robots') origin.question = { fence, until: ms(now + HOLD_MS) }
    return { kind: 'granted' }
  })
}

/** The gap that an operator demands, while he does. */
const demanded = ({ override }: Origin, now: number): number =>
  override !== undefined && override.until > now ? override.gapMs : 0

/** A visit that no URL of the lane asked for. */
export function enter(
  m: Model,
  call: Call,
  name: string,
  gapMs: number,
): { waitMs: number } | { fence: number; gapMs: number } {
  const { now, held } = open(m, call)
  const lane = m.lanes.get(name)
  const origin = originAt(m, originOf(name))
  let opens = Math.max(held, origin.shutUntil, origin.pausedUntil, origin.blockedUntil)
  if (lane?.lease !== undefined) opens = Math.max(opens, Math.min(lane.lease.ends, now + 50))
  else opens = Math.max(opens, lane?.clock ?? lane?.due ?? 0)
  if (lane?.lease !== undefined || opens > now) return { waitMs: Math.max(1, opens - now) }
  const entered = laneOf(m, name)
  m.planned = false
  m.fence = Math.max(m.fence, Math.floor(now * 1_000)) + 1
  delete entered.due
  delete entered.clock
  const least = demanded(origin, now)
  const owed = Math.max(gapMs, origin.gaps.get(agentOf(name)) ?? 0, least)
  const begun = { at: ms(now), gapMs: owed, kind: 'hop' as const, wasFailing: false, least }
  entered.lease = { fence: m.fence, list: 'q', notBefore: ms(now), ends: ms(now + leaseMs), begun }
  return { fence: m.fence, gapMs: owed }
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
    if (lane === undefined || lease === undefined || lease.begun !== undefined || lease.fence !== fence) return 'stale'
    leave(m, lane, lease.list, dropped)
    if (next.kind === 'release') giveBack(lane, lease.notBefore)
    else if (next.kind === 'defer') giveBack(lane, lease.notBefore, next.until, next.why)
    return 'settled'
  })
}

// --- learn, reap -------------------------------------------------------------------------------------------------

export type Teaching = {
  lane: string
  fence: number
  forAsker: boolean
  notBefore: number
  gaps: [string, number][]
  gapMs: number
  restedMs: number
}

export function learn(m: Model, call: Call, word: Teaching): string {
  const { now } = open(m, call)
  const name = originOf(word.lane)
  const origin = originAt(m, name)
  const asker = m.lanes.get(word.lane)
  const begun = asker?.lease?.fence === word.fence ? asker.lease.begun : undefined
  if (origin.question?.fence !== word.fence || (!word.forAsker && begun === undefined)) return 'stale'
  delete origin.question
  origin.version++
  origin.notBefore = word.notBefore
  if (!word.forAsker && asker !== undefined && begun !== undefined) {
    const own = word.gaps.find(([agent]) => agent === agentOf(word.lane))?.[1] ?? 0
    delete asker.lease
    asker.due = now - Math.min(word.restedMs, now - begun.at) + Math.max(word.gapMs, own, begun.least)
  }
  for (const [agent, gapMs] of word.gaps) {
    const before = origin.gaps.get(agent)
    const longer = before === undefined ? 0 : Math.max(0, gapMs - before)
    origin.gaps.set(agent, gapMs)
    const laneName = `${agent} ${name}`
    const lane = m.lanes.get(laneName)
    if (lane === undefined || (laneName === word.lane && !word.forAsker)) continue
    if (lane.clock !== undefined && lane.due !== undefined) {
      lane.due = lane.clock + longer
      delete lane.clock
    } else if (lane.due !== undefined) lane.due += longer
    else if (lane.lease?.begun !== undefined) lane.lease.begun.least = Math.max(lane.lease.begun.least, gapMs)
    else if (lane.lease !== undefined) lane.lease.notBefore = ms(lane.lease.notBefore + longer)
  }
  return 'settled'
}

export type Question = { lane: string; fence: number; version: number }

export function reap(m: Model, call: Call): { begun: number; unbegun: number; questions: Question[] } {
  const { now } = open(m, call)
  const result = { begun: 0, unbegun: 0, questions: [] as Question[] }
  const ended = [...m.lanes]
    .filter(([, { lease }]) => lease !== undefined && lease.ends <= now)
    .sort(([a, { lease: x }], [b, { lease: y }]) => x!.ends - y!.ends || (a < b ? -1 : 1))
  for (const [name, lane] of ended) {
    const lease = lane.lease!
    delete lane.lease
    if (lease.begun === undefined) {
      result.unbegun++
      lane.due = Math.max(lease.notBefore, now)
      continue
    }
    result.begun++
    lane.due = now + Math.max(lease.begun.gapMs, lease.begun.least) + quarantineMs
    const origin = originAt(m, originOf(name))
    if (lease.begun.kind === 'page') {
      lane.tries++
      lane.triedList = lease.list
    } else if (origin.question?.fence === lease.fence) {
      result.questions.push({ lane: name, fence: lease.fence, version: origin.version })
    }
  }
  return result
}

// --- the operator's hand -----------------------------------------------------------------------------------------

export type Operation = {
  origin: string
  action: 'pause' | 'resume' | 'block' | 'unblock' | 'gap'
  gapMs: number
  until: number
}

export function operate(m: Model, call: Call, { origin: name, action, gapMs, until }: Operation): void {
  open(m, call)
  const origin = originAt(m, name)
  if (action === 'pause') origin.pausedUntil = until
  else if (action === 'unblock') origin.blockedUntil = 0
  else if (action === 'resume') origin.pausedUntil = 0
  else if (action === 'block') origin.blockedUntil = until
  else origin.override = { gapMs, until }
  if (action === 'pause' || action === 'unblock') return
  for (const agent of AGENTS) {
    const lane = m.lanes.get(`${agent} ${name}`)
    if (lane === undefined) continue
    const longer = action === 'gap' ? Math.max(0, gapMs - (origin.gaps.get(agent) ?? 0)) : 0
    if (lane.due !== undefined) {
      lane.due = (lane.clock ?? lane.due) + longer
      delete lane.clock
    } else if (lane.lease?.begun === undefined) {
      if (lane.lease !== undefined && longer > 0) lane.lease.notBefore = ms(lane.lease.notBefore + longer)
    } else if (longer > 0) lane.lease.begun.least = Math.max(lane.lease.begun.least, gapMs)
  }
}

/** A call that only looks still tells the epoch and moves the clock. */
export function see(m: Model, call: Call): void {
  open(m, call)
}

/** A lane as the view shows it: waiting, due, state, tries, head. */
export function look(m: Model, name: string): [number, number | undefined, string, number, string | undefined] {
  const lane = m.lanes.get(name)
  if (lane === undefined) return [0, undefined, 'idle', 0, undefined]
  const { q, h, due, lease, tries, triedList } = lane
  const waiting = q.length + h.length
  const state =
    lease === undefined ? (waiting > 0 ? 'waiting' : 'idle') : lease.begun === undefined ? 'reserved' : 'in-flight'
  const list = tries > 0 ? triedList : h.length > 0 ? 'h' : 'q'
  return [waiting, due, state, tries, lane[list][0]?.id]
}
