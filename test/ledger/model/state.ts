/**
 * The ledger's rules as a small pure model: no Redis, no I/O, one partition. It knows nothing of keys and scripts, only of
 * lanes, leases and what is owed; `world.ts` plays the real ones beside it, and the acts compare. Here: what the
 * model remembers, and what every call does first.
 */
import { LEASE_EVENTS, type LeaseEventName } from '@decorum/ledger/testing'

export const AGENTS = ['ant', 'bee'] as const
/** The last one is the host of the first: its lanes are the host's. */
export const ORIGINS = ['http://one.test', 'http://two.test', 'https://one.test'] as const
/** No origin: lanes of a pace group, which hold no URLs. */
export const GROUP = 'domain://test'
/** Of which URLs are, in runs with several crawls. */
export const CRAWLS = ['default', 'b', 'c'] as const
/** So many unread outcomes hold a crawl where several are played: each has but a few URLs. */
export const OUTCOMES_OF_CRAWLS = 3
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
/** How a run is played: with several crawls; and what is due so soon is granted, and waited for by who asks. */
export type Manner = { crawls: boolean; aheadMs: number }
export const HOLD_MS = SETTINGS.leaseMs + SETTINGS.quarantineMs
export const FIRST_HOLD_MS = 1_000
export const BELIEVED_MS = 1_000
export const UNSEEN_MS = 5_000
export const DOUBT_MS = 2_000
/** A claim of how fast Redis's clock runs: the largest share that counts, and for how long. */
const MOST_EXCESS = 0.2
const EXCESS_LIFE_MS = 60_000

/** Of the crawl `default` by its name alone. */
export type List = 'q' | 'h' | `${'q' | 'h'}@${string}`
/** Of a lease that is for no URL. */
export const NO_LIST = '' as List
export const crawlOf = (list: List): string => (list.length > 1 ? list.slice(2) : 'default')
/** Who asks for a permit, `who origin`, for a crawl: `who@crawl origin`. */
export const askerOf = (by: string, crawl: string | undefined): string =>
  crawl === undefined ? by : by.replace(' ', `@${crawl} `)
export const crawlAsking = (by: string | undefined): string | undefined => /^\S+@(\S+) /.exec(by ?? '')?.[1]
export const listIn = (base: 'q' | 'h', crawl: string): List => (crawl === 'default' ? base : `${base}@${crawl}`)
/** A URL in its lane. */
export type AcquireAnswer = { id: string; expiresAt: number; tries?: number }
export type Kind = 'page' | 'robots' | 'robots-page' | 'hop' | 'permit' | 'host' | 'pace-group'
export type Lease = {
  fence: number
  list: List
  notBefore: number
  ends: number
  /** when reap looks at it: the end of the reservation first, then that of the lease */
  looked: number
  started?: {
    /** when it was granted, or the latest request was sent before another one was asked for */
    at: number
    delayMs: number
    kind: Kind
    wasFailing: boolean
    /** the delay that an operator had set then */
    byHand: number
    /** the lane whose request it is, where that is another one */
    of?: string | undefined
    /** when the latest request under it is sent: all of its lanes are open by then */
    requestAt: number
  }
  /** it became an order for a worker of a pool */
  isOfPool?: true
  /** of a visit: how many others come before the lane's own URLs, while these wait */
  before?: number | undefined
}
/** May this befall a lease that its holder names by the fence? By the table of its life. */
export function befalls(event: LeaseEventName, lease: Lease | undefined, fence: number, now: number): lease is Lease {
  if (lease === undefined || lease.fence !== fence) return false
  const { from, whileItLasts } = LEASE_EVENTS[event]
  if (whileItLasts && lease.ends <= now) return false
  return lease.started === undefined ? from.reserved === true : (from.started ?? []).includes(lease.started.kind)
}
/** no URL of the lane asked for it */
export const isSecondary = ({ started }: Lease): boolean =>
  started !== undefined && ['hop', 'permit', 'host', 'pace-group'].includes(started.kind)
/** A slot of the fetchers. */
export const takesSlot = (lease: Lease): boolean => !isSecondary(lease) && lease.isOfPool !== true
/** What a lane is leased for that a request holds besides its own. */
export const kindBeside = (lane: string): 'host' | 'pace-group' => (/ https?:/.test(lane) ? 'host' : 'pace-group')
export type Lane = {
  q: AcquireAnswer[]
  h: AcquireAnswer[]
  /** the lists of other crawls than the default one */
  others: Map<List, AcquireAnswer[]>
  /** while there are URLs of another crawl: when each crawl's next turn is */
  turns?: Map<string, number>
  due?: number
  lease?: Lease
  /** the list whose first URL was requested last, until that leaves */
  triedList?: List
  /** its own due time, while it is deferred */
  ownDue?: number
  why?: string
  /** when the last exchange ended, what it owed from then on, and the lane whose request it was */
  last?: { ended: number; owed: number; of?: string | undefined }
}
export type Origin = {
  version: number
  notBefore?: number // the one fact of the robots state that the model plays with
  question?: { fence: number; until: number }
  closedUntil: number
  incidents: number
  failures: number
  pausedUntil: number
  /** of a host's origin: another one of the host is paused */
  hostPausedUntil: number
  blockedUntil: number
  /** the version at which a new robots fetch was asked for */
  refetch?: number
  /** the latest fence handed out when one of its gates or delays changed */
  changed?: number
  /** delay by an operator's hand */
  override?: { delayMs: number; until: number }
  delays: Map<string, number>
}
export type Queue = { last: number; waiting: { name: string; at: number }[] }
export type LeastDelay = { least: number; changedAt: number }
/** What a site has agreed to or asks for; from and to in minutes. */
export type Policy = {
  changedAt: number
  isGone: boolean
  delayMs?: number | undefined
  consent: boolean
  from?: number | undefined
  to?: number | undefined
  budget?: number | undefined
}
export type Model = {
  outcomesLimit: number
  /** what is due so soon is granted */
  aheadMs: number
  epoch?: { run: number; id: string; prev: string; hold: number; now: number }
  /** the ledger's time against that of Redis's clock, ms */
  shift: number
  /** time that Redis's clock claims and that nobody has seen pass */
  doubt?: { delay: number; since: number; denied: boolean }
  /** the share of the time on Redis's clock that has not passed, as a process claims; until when that counts, and from when it is to be left out */
  excess?: { share: number; till: number; from: number }
  planned: boolean
  /** emergency stops: of everything, and by name, each until when on the ledger's time */
  stops?: { version: number; everything: number; names: Map<string, number> }
  policies?: { version: number; count: number; till: number; sites: Map<string, Policy> }
  /** requests of a day to a host that has a budget */
  requests: Map<string, number>
  /** lanes that a stop, visiting hours or a budget holds, and those to be woken after a change of these */
  heldByRecord: Set<string>
  waking: Set<string>
  /** when Redis lost its latest writes, and when every request of then has ended */
  lost?: { at: number; until: number }
  /** of this call: origins whose gates it has changed, and the latest fence before it */
  changing: Set<string>
  before: number
  leastDelays?: { version: number; agents: Map<string, LeastDelay> }
  fence: number
  lanes: Map<string, Lane>
  /** lane → who waits to visit it, in order, and when each was told to come */
  queues: Map<string, Queue>
  origins: Map<string, Origin>
  ids: Set<string>
  marks: Set<string>
  /** jobs that exist, with the chunks that are stored */
  jobs: Map<string, Set<number>>
  /** of these, jobs whose lock another worker holds, or nobody does */
  lostLocks: Set<string>
  /** unread outcomes, oldest first: `id kind` */
  outcomes: string[]
  outbox: string[]
  /** targets that wait because their redirects asked for it: what is stored of each, and when it enters the outbox */
  later: Map<string, { id: string; due: number }>
  /** there are, or were, other crawls than the default one, or something was set of it */
  hasCrawls: boolean
  crawls: Map<string, CrawlSet>
  /** of due lanes: the end of each crawl's latest turn */
  line: Map<string, number>
  /** lane → when the next turn of each crawl is that asks for permits there and has no URLs in it */
  permitTurns: Map<string, Map<string, number>>
  /** unread outcomes of other crawls than the default one */
  others: Map<string, string[]>
}
/** What a turn of a crawl takes. */
export const turnLength = (m: Model, crawl: string): number => 1 / (m.crawls.get(crawl)?.weight ?? 1)
/** What was set of a crawl. */
export type CrawlSet = { version: number; weight: number; held: boolean; stored?: number }

export function emptyModel({ crawls, aheadMs }: Manner): Model {
  return {
    outcomesLimit: crawls ? OUTCOMES_OF_CRAWLS : SETTINGS.outcomesLimit,
    aheadMs,
    shift: 0,
    planned: false,
    fence: 0,
    requests: new Map(),
    heldByRecord: new Set(),
    waking: new Set(),
    changing: new Set(),
    before: 0,
    lanes: new Map(),
    queues: new Map(),
    origins: new Map(),
    ids: new Set(),
    marks: new Set(),
    jobs: new Map(),
    lostLocks: new Set(),
    outcomes: [],
    outbox: [],
    later: new Map(),
    hasCrawls: false,
    crawls: new Map(),
    line: new Map(),
    permitTurns: new Map(),
    others: new Map(),
  }
}
export const copyOf = (m: Model): Model => structuredClone(m)

/** Who calls, and when: what it remembers of the epoch, what time it can vouch for, and the clock that Redis shows. */
export type Call = { caller: { known: string }; time: number; most: number | undefined; excess: number; run: number }

export const laneOf = (m: Model, name: string): Lane => {
  const found = m.lanes.get(name)
  if (found !== undefined) return found
  const lane: Lane = { q: [], h: [], others: new Map() }
  m.lanes.set(name, lane)
  return lane
}
export function urlsIn(lane: Lane, list: List): AcquireAnswer[] {
  if (list === 'q' || list === 'h') return lane[list]
  const urls = lane.others.get(list) ?? []
  lane.others.set(list, urls)
  return urls
}
export const waitingIn = (lane: Lane): number =>
  lane.q.length + lane.h.length + [...lane.others.values()].reduce((sum, urls) => sum + urls.length, 0)
/** The list of a crawl in which its next URL stands. */
export const nextIn = (lane: Lane, crawl: string): List =>
  listIn(urlsIn(lane, listIn('h', crawl)).length > 0 ? 'h' : 'q', crawl)
/** The crawls of a lane in the order of their turns. */
export const turnsOf = ({ turns }: Pick<Lane, 'turns'>): [string, number][] =>
  [...(turns ?? [])].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
const nextTurn = (lane: Lane): string => turnsOf(lane)[0]?.[0] ?? 'default'
export const streamOf = (m: Model, crawl: string): string[] => {
  if (crawl === 'default') return m.outcomes
  const stream = m.others.get(crawl) ?? []
  m.others.set(crawl, stream)
  return stream
}
/** It is paused or over, or as many of its outcomes are unread as may be. */
export const isCrawlHeld = (m: Model, crawl: string): boolean =>
  m.crawls.get(crawl)?.held === true || streamOf(m, crawl).length >= m.outcomesLimit
/** Ids are unique within a crawl. */
export const idIn = (crawl: string, id: string): string => (crawl === 'default' ? id : `${crawl} ${id}`)
/** A crawl without URLs in a lane has no turn there. */
export function endTurn(lane: Lane, crawl: string): void {
  if (lane.turns === undefined || urlsIn(lane, listIn('q', crawl)).length + urlsIn(lane, listIn('h', crawl)).length > 0)
    return
  lane.turns.delete(crawl)
  if ([...lane.turns.keys()].every((name) => name === 'default')) delete lane.turns
}
export const originOf = (lane: string): string => lane.slice(lane.indexOf(' ') + 1)
/** The origin whose lanes are those of the host. */
export const hostOf = (origin: string): string => origin.replace(/^http:/, 'https:')
export const agentOf = (lane: string): string => lane.slice(0, lane.indexOf(' '))
export const originAt = (m: Model, name: string): Origin => {
  const found = m.origins.get(name)
  if (found !== undefined) return found
  const origin: Origin = {
    version: 0,
    closedUntil: 0,
    incidents: 0,
    failures: 0,
    pausedUntil: 0,
    hostPausedUntil: 0,
    blockedUntil: 0,
    delays: new Map(),
  }
  m.origins.set(name, origin)
  return origin
}
/** Instants that Redis keeps as text have three decimals. */
export const ms = (instant: number): number => Number(instant.toFixed(3))

/** Every call: the ledger's time never runs backwards nor leaps, and a new Redis, or one whose clock leapt, holds its grants. */
export function open(m: Model, { caller, time, most, excess, run }: Call): { now: number; held: number } {
  m.changing.clear()
  m.before = m.fence
  const restarted = m.epoch === undefined || m.epoch.run !== run
  slowDown(m, time, excess)
  const { now, leapt } = timeOf(m, time, most, restarted && m.planned)
  const at = { now, held: 0 }
  const lift = (): void => {
    if (most === undefined || most <= at.now + BELIEVED_MS) return
    m.shift = ms(m.shift + most - at.now)
    at.now = most
  }
  if (restarted || leapt) {
    const told = m.planned && restarted
    const waitMs = m.epoch === undefined ? (told && caller.known === '' ? FIRST_HOLD_MS : HOLD_MS) : told ? 0 : HOLD_MS
    lift()
    const prev = m.epoch?.id ?? ''
    const id = Math.max(at.now * 1_000, Number(prev) + 1).toFixed(0)
    m.epoch = { run, id, prev, hold: Math.max(m.epoch?.hold ?? 0, at.now + waitMs), now: at.now }
    if (restarted && waitMs === HOLD_MS) m.lost = { at: ms(at.now), until: ms(at.now + SETTINGS.leaseMs) }
    if (restarted) m.planned = false
  } else if (m.epoch !== undefined && ![m.epoch.id, m.epoch.prev, ''].includes(caller.known)) {
    lift()
    m.epoch.hold = Math.max(m.epoch.hold, at.now + HOLD_MS)
    m.lost = { at: ms(at.now), until: ms(at.now + SETTINGS.leaseMs) }
  }
  if (m.epoch === undefined) throw new Error('no epoch')
  m.epoch.now = at.now
  caller.known = m.epoch.id
  at.held = Math.max(m.epoch.hold, m.doubt === undefined ? 0 : m.doubt.since + DOUBT_MS)
  return at
}

/** No silence is written down while it is in doubt what time it is: the caller hears nothing, and asks again. */
export function openUnlessInDoubt(m: Model, call: Call): { now?: number; held?: number } {
  const { known } = call.caller
  const { now, held } = open(m, call)
  if (m.doubt === undefined) return { now, held }
  call.caller.known = known
  return {}
}

/** Redis's clock runs fast: what it gains is left out, in whole ms and ahead of each, by the largest claim that still counts. */
function slowDown(m: Model, time: number, claimed: number): void {
  if (m.epoch === undefined || (m.excess === undefined && claimed === 0)) return
  const last = m.epoch.now
  const now = time + m.shift
  let { share, till, from } = m.excess ?? { share: 0, till: 0, from: 0 }
  if (till <= last) share = 0
  if (claimed > 0 && claimed >= share) [share, till] = [Math.min(claimed, MOST_EXCESS), now + EXCESS_LIFE_MS]
  if (share === 0) return void delete m.excess
  from = Math.max(last, Math.min(from, last + 1 / share))
  const gained = Math.max(0, Math.ceil((Math.min(now, till, last + EXCESS_LIFE_MS) - from) * share))
  if (gained === 0 && claimed === 0) return
  m.shift -= gained
  m.excess = { share, till: ms(till), from: ms(from + gained / share - gained) }
}

/** The ledger's time: what Redis's clock shows, without its leaps. */
function timeOf(m: Model, time: number, most: number | undefined, believed: boolean): { now: number; leapt: boolean } {
  const claimed = time + m.shift
  if (m.epoch === undefined) return { now: claimed, leapt: false }
  const last = m.epoch.now
  const move = (by: number): void => {
    m.shift = ms(m.shift + by)
  }
  if (claimed < last - BELIEVED_MS) {
    move(last - claimed)
    delete m.doubt
    return { now: last, leapt: true }
  }
  const now = Math.max(claimed, last)
  const unseen = believed ? 0 : unseenOf(now, last, most)
  if (unseen > 0) {
    move(-unseen)
    const denied = most !== undefined || m.doubt?.denied === true
    m.doubt = { delay: ms((m.doubt?.delay ?? 0) + unseen), since: ms(now - unseen), denied }
    return { now: now - unseen, leapt: false }
  }
  const { doubt } = m
  if (doubt === undefined) return { now, leapt: false }
  const seen = most !== undefined && most + BELIEVED_MS >= now + doubt.delay
  const waited = now >= doubt.since + DOUBT_MS
  if (!seen && most !== undefined && !doubt.denied) {
    m.doubt = { ...doubt, since: ms(now), denied: true }
    return { now, leapt: false }
  }
  if (!seen && !waited) return { now, leapt: false }
  delete m.doubt
  if (!seen && doubt.denied) return { now, leapt: true }
  move(doubt.delay)
  if (m.epoch.hold > last) m.epoch.hold += doubt.delay
  return { now: now + doubt.delay, leapt: false }
}

function unseenOf(now: number, last: number, most: number | undefined): number {
  if (most === undefined) return now > last + UNSEEN_MS ? now - last : 0
  return now > Math.max(most, last) + BELIEVED_MS ? now - Math.max(last, most) : 0
}

export function makeDue(lane: Lane, ownDue: number, till = Number.NEGATIVE_INFINITY, why = ''): void {
  delete lane.lease
  lane.due = Math.max(ownDue, till)
  if (till > ownDue) {
    lane.ownDue = ms(ownDue)
    lane.why = why
  }
}

/** Gates that one change opens for lanes of many origins: it wakes them all. */
const isByRecord = (gate: string): boolean => ['stopped', 'visiting-hours', 'budget', 'paused'].includes(gate)
/** One of these gates may have opened: the next reservation wakes the lanes that any of them held. */
export function wakeHeld(m: Model): void {
  m.waking = new Set([...m.waking, ...m.heldByRecord])
  m.heldByRecord = new Set()
}

/** The same where a gate holds the lane until then: no longer than until the first URL of any of its lists expires. */
export function makeDueAfter(m: Model, now: number, name: string, ownDue: number, till: number, why: string): void {
  const lane = laneOf(m, name)
  const most = till > now ? Math.min(till, firstExpiry(m, lane)?.at ?? till) : till
  makeDue(lane, ownDue, most, why)
  if (till > now && most <= now) lane.why = why // reserve looks for what has expired
  if (most > ownDue && ownDue < 0) lane.ownDue = now // it leaves its line
  if (most > ownDue && isByRecord(why)) m.heldByRecord.add(name)
}
/** Another URL is the first of a list, and expires then: a gate that holds the lane holds it no longer. */
export function mindExpiry(lane: Lane, expires: number): void {
  if (lane.due === undefined || lane.ownDue === undefined) return
  lane.due = Math.min(lane.due, Math.max(lane.ownDue, expires))
}
/** No record of the fleet holds the lane any more. */
export function forgetHeld(m: Model, name: string, why: string | undefined): void {
  if (why !== undefined && isByRecord(why)) m.heldByRecord.delete(name)
}
/** Lanes that a record held which has changed are due at their own time. */
export function wakeLanes(m: Model): void {
  for (const name of m.waking) {
    const lane = m.lanes.get(name)
    if (lane?.due === undefined || lane.ownDue === undefined || !isByRecord(lane.why ?? '')) continue
    lane.due = lane.ownDue
    delete lane.ownDue
  }
  m.waking.clear()
}

/** When the first URL of any list expires, and that list. */
export function firstExpiry(m: Model, lane: Lane): { at: number; list: List } | undefined {
  const crawls = turnsOf(lane).flatMap(([crawl]) => (crawl === 'default' ? [] : [crawl]))
  const lists: List[] = ['q', 'h', ...crawls.flatMap((crawl): List[] => [listIn('h', crawl), listIn('q', crawl)])]
  let soonest: { at: number; list: List } | undefined
  for (const list of lists) {
    const [head] = urlsIn(lane, list)
    if (head === undefined) continue
    const at = expiryOf(m, head)
    if (soonest === undefined || at < soonest.at) soonest = { at, list }
  }
  return soonest
}

/** A gate or a delay of an origin has changed: what was looked at under an earlier fence does not hold any more. */
export function markChanged(m: Model, origin: string): void {
  originAt(m, origin).changed = m.before
  m.changing.add(origin)
}
const CHANGES_KEPT_MS = 60_000
export function hasChanged(m: Model, origin: string, fence: number, now: number): boolean {
  if (m.changing.has(origin) || fence <= Math.floor((now - CHANGES_KEPT_MS) * 1_000)) return true
  const { changed } = originAt(m, origin)
  return changed !== undefined && fence <= changed
}

/** On the ledger's time. */
export const expiryOf = (m: Model, { expiresAt }: AcquireAnswer): number =>
  Math.ceil(expiresAt / 1_000) * 1_000 + m.shift

/** A call that only looks still tells the epoch and moves the clock. */
export function see(m: Model, call: Call): void {
  open(m, call)
}

/** A lane as the view shows it: waiting, due, state, tries, head. */
export function look(m: Model, name: string): [number, number | undefined, string, number, string | undefined] {
  const lane = m.lanes.get(name)
  if (lane === undefined) return [0, undefined, 'idle', 0, undefined]
  const { due, lease, triedList } = lane
  const waiting = waitingIn(lane)
  const state =
    lease === undefined ? (waiting > 0 ? 'waiting' : 'idle') : lease.started === undefined ? 'reserved' : 'in-flight'
  const list = triedList ?? nextIn(lane, nextTurn(lane))
  return [
    waiting,
    due !== undefined && due < 0 ? m.epoch?.now : due,
    state,
    urlsIn(lane, list)[0]?.tries ?? 0,
    urlsIn(lane, list)[0]?.id,
  ]
}
