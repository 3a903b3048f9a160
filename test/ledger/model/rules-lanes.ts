/** The rules of store and take. */
import { isAssigned } from '@decorum/protocol'
import { byHand } from './rules-delays.ts'
import { gateOf, CHECK_AGAIN_MS } from './rules-gates.ts'
import { dueLanes, nextInLine } from './rules-line.ts'
import {
  agentOf,
  type Call,
  crawlOf,
  expiryOf,
  firstExpiry,
  forgetHeld,
  idIn,
  isCrawlHeld,
  type Lane,
  type List,
  laneOf,
  listIn,
  type Model,
  makeDueAfter,
  mindExpiry,
  ms,
  nextIn,
  open,
  originAt,
  originOf,
  SETTINGS,
  streamOf,
  takesSlot,
  turnLength,
  turnsOf,
  urlsIn,
  waitingIn,
  wakeLanes,
} from './state.ts'

const { reserveMs, laneLimit } = SETTINGS

// --- store --------------------------------------------------------------------------------------------------------

export type Item =
  | { lane: string; list: List; id: string; expiresAt: number; mark?: string }
  | { outcome: string; id: string; crawl?: string; mark?: string }
export type Mark = { job: string; token: string; chunk: number } | { key: string } | undefined

export function store(
  m: Model,
  call: Call,
  items: Item[],
  mark: Mark,
): 'outcomes-full' | { stored: number; absorbed: number; outcomes: number } {
  open(m, call)
  const known = mark === undefined ? false : 'job' in mark ? isDone(m, mark.job, mark.chunk) : m.marks.has(mark.key)
  if (known) return { stored: 0, absorbed: items.length, outcomes: 0 }
  const result = { stored: 0, absorbed: 0, outcomes: 0 }
  const fresh = (name: string | undefined): boolean => {
    if (name === undefined) return true
    const first = !m.marks.has(name)
    m.marks.add(name)
    return first
  }
  // Beyond the limit of a crawl in a lane, or of the crawl: what came first stays
  const refused = new Set<Item>()
  const coming = new Map<string, number>()
  for (const group of groupsOf(items)) {
    const [{ lane: name, list }] = group as [UrlItem]
    const crawl = crawlOf(list)
    const lane = m.lanes.get(name)
    const here =
      lane === undefined ? 0 : urlsIn(lane, listIn('q', crawl)).length + urlsIn(lane, listIn('h', crawl)).length
    const before = coming.get(crawl) ?? 0
    const free = (m.crawls.get(crawl)?.stored ?? Number.POSITIVE_INFINITY) - storedOf(m, crawl) - before
    const room = Math.max(0, Math.min(laneLimit - here, free))
    coming.set(crawl, before + Math.min(group.length, room))
    for (const item of group.slice(room)) refused.add(item)
  }
  const crawlsWithOutcomes = items.flatMap((item) =>
    'outcome' in item ? [item.crawl ?? 'default'] : refused.has(item) ? [crawlOf(item.list)] : [],
  )
  if (crawlsWithOutcomes.some((crawl) => streamOf(m, crawl).length >= m.outcomesLimit)) return 'outcomes-full'
  for (const group of groupsOf(items.filter((item) => !refused.has(item)))) {
    for (const item of group) {
      const crawl = crawlOf(item.list)
      const id = idIn(crawl, item.id)
      if (fresh(item.mark) && !m.ids.has(id)) {
        const lane = laneOf(m, item.lane)
        if (!isAssigned(item.id)) m.ids.add(id)
        takeTurns(m, lane, crawl)
        const [list, stored] = [urlsIn(lane, item.list), { id: item.id, expiresAt: item.expiresAt }]
        list.push(stored)
        if (lane.due === undefined && lane.lease === undefined) lane.due = m.epoch!.now
        if (list.length === 1) mindExpiry(lane, expiryOf(m, stored))
        result.stored++
      } else result.absorbed++
    }
  }
  for (const item of items) {
    if ('lane' in item && !refused.has(item)) continue
    const crawl = 'lane' in item ? crawlOf(item.list) : (item.crawl ?? 'default')
    if (!m.ids.has(idIn(crawl, item.id)) && fresh(item.mark)) {
      streamOf(m, crawl).push(`${item.id} ${'outcome' in item ? item.outcome : 'refused'}`)
      if (crawl !== 'default') m.hasCrawls = true
      result.outcomes++
    } else result.absorbed++
  }
  if (mark !== undefined) {
    if ('job' in mark) m.jobs.get(mark.job)?.add(mark.chunk)
    else m.marks.add(mark.key)
  }
  return result
}

type UrlItem = Extract<Item, { lane: string }>
/** By lane and crawl; those of one plain URL come first. */
function groupsOf(items: readonly Item[]): UrlItem[][] {
  const groups = new Map<string, UrlItem[]>()
  for (const item of items) {
    if (!('lane' in item)) continue
    const name = `${item.lane} ${crawlOf(item.list)}`
    groups.set(name, [...(groups.get(name) ?? []), item])
  }
  const isSingle = ([first, second]: UrlItem[]): boolean =>
    second === undefined && first?.list === 'q' && first.mark === undefined && isAssigned(first.id)
  const all = [...groups.values()]
  return [...all.filter(isSingle), ...all.filter((group) => !isSingle(group))]
}

const storedOf = (m: Model, crawl: string): number =>
  [...m.lanes.values()].reduce(
    (sum, lane) => sum + urlsIn(lane, listIn('q', crawl)).length + urlsIn(lane, listIn('h', crawl)).length,
    0,
  )

/** A URL of a crawl comes into a lane. From the first one of another crawl on, crawls take turns there; a newcomer comes a turn after the next. */
function takeTurns(m: Model, lane: Lane, crawl: string): void {
  if (crawl !== 'default') {
    m.hasCrawls = true
    lane.turns ??= new Map(lane.q.length + lane.h.length > 0 ? [['default', 0]] : [])
  }
  if (lane.turns === undefined || lane.turns.has(crawl)) return
  lane.turns.set(crawl, (turnsOf(lane)[0]?.[1] ?? 0) + turnLength(m, crawl))
}

/** The list whose URL comes next, and until when all crawls of the lane are held, 0 when one is not. */
function choose(m: Model, lane: Lane, now: number): { list: List; heldUntil: number } {
  const isHeld = (crawl: string): boolean => m.hasCrawls && isCrawlHeld(m, crawl)
  const { triedList } = lane
  const tried = triedList === undefined ? undefined : crawlOf(triedList)
  const later = now + CHECK_AGAIN_MS
  const isPassed = lane.turns !== undefined && (lane.why === 'share' || lane.why === 'pool')
  if (triedList !== undefined && tried !== undefined && !isPassed && !isHeld(tried)) {
    lane.turns?.set(tried, (lane.turns.get(tried) ?? 0) + turnLength(m, tried))
    return { list: triedList, heldUntil: 0 }
  }
  if (lane.turns === undefined)
    return { list: triedList ?? nextIn(lane, 'default'), heldUntil: isHeld('default') ? later : 0 }
  const order = turnsOf(lane)
  const last = order.at(-1)?.[1] ?? 0
  const moved: [string, number][] = []
  for (const [crawl, turn] of order) {
    if (!isHeld(crawl)) {
      for (const [name, at] of moved) lane.turns.set(name, at)
      lane.turns.set(crawl, turn + turnLength(m, crawl))
      return { list: triedList !== undefined && crawl === tried ? triedList : nextIn(lane, crawl), heldUntil: 0 }
    }
    // What has expired ends, although its crawl is held: nobody's turn has moved then.
    const waiting = nextIn(lane, crawl)
    const [head] = urlsIn(lane, waiting)
    if (head !== undefined && expiryOf(m, head) <= now) return { list: waiting, heldUntil: later }
    moved.push([crawl, last + turnLength(m, crawl)])
  }
  for (const [name, at] of moved) lane.turns.set(name, at)
  return { list: triedList ?? nextIn(lane, order[0]?.[0] ?? 'default'), heldUntil: later }
}

const isDone = (m: Model, job: string, chunk: number): boolean =>
  m.lostLocks.has(job) || (m.jobs.get(job)?.has(chunk) ?? true)

// --- take --------------------------------------------------------------------------------------------------------

export type ReservedLane = {
  lane: string
  fence: number
  notBefore: number
  tries: number
  list: List
  urls: string[]
  why: string | undefined
  closedUntil: number | undefined
  blocked: boolean
  refetch: boolean
  delayMs: number | undefined
  version: number
  question: { fence: number; until: number } | undefined
}
export type Taken = { why: string; waitMs: number | undefined } | { lanes: ReservedLane[]; more: boolean }

export function reserve(
  m: Model,
  call: Call,
  ask: { limit: number; aheadMs: number; inFlightLimit: number; peek: number },
): Taken {
  const { now, held } = open(m, call)
  if (held > now) return { why: 'startup-hold', waitMs: held - now }
  wakeLanes(m)
  if (!m.hasCrawls && m.outcomes.length >= m.outcomesLimit) return { why: 'outcomes-full', waitMs: undefined }
  const leased = [...m.lanes.values()].filter(({ lease }) => lease !== undefined && takesSlot(lease)).length
  const limit = Math.min(ask.limit, ask.inFlightLimit - leased)
  if (limit <= 0) return { why: 'slots-full', waitMs: undefined }
  const found =
    (m.hasCrawls ? nextInLine(m, limit, now, ask.aheadMs) : undefined) ?? nextDue(m, limit, now, ask.aheadMs)
  const lanes: ReservedLane[] = []
  for (const [name, lane] of found) {
    const opens = Math.max(lane.due!, now) // since when it has been open is forgotten
    const chosen = choose(m, lane, now)
    let { list } = chosen
    if (urlsIn(lane, list).length === 0) {
      if (opens > now) continue
      forgetHeld(m, name, lane.why)
      m.lanes.delete(name) // its delay is over
      continue
    }
    const origin = originAt(m, originOf(name))
    const { heldUntil } = chosen
    const closed = gateOf(m, { what: 'page', moment: 'reserve', lane: name, now, held, list, heldUntil })
    const blocked = origin.blockedUntil > now
    let peek = ask.peek
    const isHeld = closed !== undefined && closed.till > now && closed.till >= opens && !blocked
    const first = isHeld || lane.why !== undefined ? firstExpiry(m, lane) : undefined
    if (first !== undefined && first.at <= now && (isHeld || first.list !== list)) {
      list = first.list
      peek = 1
    } else if (isHeld) {
      makeDueAfter(m, now, name, lane.ownDue ?? opens, closed.till, closed.gate)
      continue
    }
    if (lane.ownDue !== undefined) forgetHeld(m, name, lane.why)
    delete lane.ownDue
    delete lane.due
    m.fence = Math.max(m.fence, Math.floor(now * 1_000)) + 1
    const ends = ms(now + reserveMs)
    lane.lease = { fence: m.fence, list, notBefore: opens, ends, looked: ends }
    lanes.push({
      lane: name,
      fence: m.fence,
      notBefore: opens,
      tries: urlsIn(lane, list)[0]?.tries ?? 0,
      list,
      urls: urlsIn(lane, list)
        .slice(0, peek)
        .map(({ id }) => id),
      why: closed?.gate ?? lane.why,
      closedUntil: closed?.till,
      blocked,
      refetch: origin.refetch === origin.version,
      delayMs: knownDelay(m, name, now),
      version: origin.version,
      question: origin.question !== undefined && origin.question.until > now ? origin.question : undefined,
    })
  }
  if (lanes.length > 0) return { lanes, more: found.length === limit }
  const first = dueLanes(m)[0]?.[1].due
  return { why: 'nothing-due', waitMs: first === undefined ? undefined : Math.max(0, first - now) }
}

/** Those that are due, and those with URLs that are due soon. */
function nextDue(m: Model, limit: number, now: number, aheadMs: number): [string, Lane][] {
  const waiting = dueLanes(m)
  const isDue = waiting.filter(([, { due }]) => due! <= now).slice(0, limit)
  const room = limit - isDue.length
  const soon = waiting.filter(([, { due }]) => due! > now && due! <= ms(now + aheadMs))
  return [...isDue, ...soon.filter(([, lane]) => waitingIn(lane) > 0).slice(0, room)]
}

/** What is recorded of the lane, or a longer delay that an operator has set. */
function knownDelay(m: Model, name: string, now: number): number | undefined {
  const origin = originAt(m, originOf(name))
  const recorded = origin.delays.get(agentOf(name))
  const set = byHand(origin, now)
  return set > (recorded ?? 0) ? set : recorded
}
