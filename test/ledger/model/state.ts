/**
 * The ledger's rules as a small pure model: no Redis, no I/O, one partition. It knows nothing of keys and scripts, only of
 * lanes, clocks, leases and what is owed; `world.ts` plays the real ones beside it, and the acts compare. Here: what the
 * model remembers, and what every call does first.
 */
export const AGENTS = ['ant', 'bee'] as const
export const ORIGINS = ['http://one.test', 'http://two.test'] as const
export const SETTINGS = {
  leaseMs: 45_000,
  quarantineMs: 10_000,
  grantAheadMs: 0,
  reserveMs: 30_000,
  laneLimit: 5,
  outcomesLimit: 12,
  backOffMs: 60_000,
  backOffMaxMs: 3_600_000,
  backOffQuietMs: 1_800_000,
}
export const HOLD_MS = SETTINGS.leaseMs + SETTINGS.quarantineMs
export const FIRST_HOLD_MS = 1_000

export type List = 'q' | 'h'
/** A URL in its lane. */
export type Entry = { id: string; expiresAt: number }
export type Lease = {
  fence: number
  list: List
  notBefore: number
  ends: number
  /** when reap looks at it: the end of the reservation first, then that of the lease */
  looked: number
  begun?: {
    at: number
    gapMs: number
    kind: 'page' | 'robots' | 'robots-page' | 'hop' | 'clock'
    wasFailing: boolean
    least: number
  }
}
/** no URL of the lane asked for it */
export const isVisit = ({ begun }: Lease): boolean => begun?.kind === 'hop' || begun?.kind === 'clock'
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
  /** lane → instants promised to visitors who found it shut */
  turns: Map<string, { first: number | undefined; last: number }>
  origins: Map<string, Origin>
  ids: Set<string>
  marks: Set<string>
  /** jobs that exist, with the chunks that are parked */
  jobs: Map<string, Set<number>>
  /** of these, jobs whose lock another worker holds, or nobody does */
  lostLocks: Set<string>
  /** unread outcomes, oldest first: `id kind` */
  outcomes: string[]
  outbox: string[]
}

export function emptyModel(): Model {
  return {
    planned: false,
    fence: 0,
    lanes: new Map(),
    turns: new Map(),
    origins: new Map(),
    ids: new Set(),
    marks: new Set(),
    jobs: new Map(),
    lostLocks: new Set(),
    outcomes: [],
    outbox: [],
  }
}
export const copyOf = (m: Model): Model => structuredClone(m)

/** Who calls, and when: what it remembers of the epoch, and the clock that Redis shows. */
export type Call = { caller: { known: string }; time: number; run: number }

export const laneOf = (m: Model, name: string): Lane => {
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
export const ms = (instant: number): number => Number(instant.toFixed(3))

/** Every call: Redis's clock never runs backwards, and a new Redis holds its grants. */
export function open(m: Model, { caller, time, run }: Call): { now: number; held: number } {
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

export function giveBack(lane: Lane, clock: number, till = 0, why = ''): void {
  delete lane.lease
  lane.due = Math.max(clock, till)
  if (till > clock) {
    lane.clock = ms(clock)
    lane.why = why
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
