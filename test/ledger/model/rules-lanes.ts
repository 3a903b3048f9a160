/** The rules of park and take. */
import { isAssigned } from '@decorum/protocol'
import { everythingStopped, stoppedUntil } from './rules-stops.ts'
import {
  type Call,
  giveBack,
  isVisit,
  type Lane,
  type List,
  laneOf,
  type Model,
  ms,
  open,
  originAt,
  originOf,
  SETTINGS,
} from './state.ts'

const { reserveMs, laneLimit, outcomesLimit } = SETTINGS

// --- park --------------------------------------------------------------------------------------------------------

export type Item =
  | { lane: string; list: List; id: string; expiresAt: number; mark?: string }
  | { outcome: string; id: string; mark?: string }
export type Mark = { job: string; token: string; chunk: number } | { key: string } | undefined

export function park(
  m: Model,
  call: Call,
  items: Item[],
  mark: Mark,
): { parked: number; absorbed: number; outcomes: number } {
  open(m, call)
  const known = mark === undefined ? false : 'job' in mark ? isDone(m, mark.job, mark.chunk) : m.marks.has(mark.key)
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
        if (!isAssigned(item.id)) m.ids.add(item.id)
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

const isDone = (m: Model, job: string, chunk: number): boolean =>
  m.lostLocks.has(job) || (m.jobs.get(job)?.has(chunk) ?? true)

// --- take --------------------------------------------------------------------------------------------------------

export type ReservedLane = {
  lane: string
  fence: number
  notBefore: number
  tries: number
  list: List
  heads: string[]
  why: string | undefined
  closedUntil: number | undefined
  blocked: boolean
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
  const everything = everythingStopped(m, now)
  if (everything > now) return { why: 'stopped', waitMs: everything - now }
  if (m.outcomes.length >= outcomesLimit) return { why: 'outcomes-full', waitMs: undefined }
  // visits hold no slot of their own
  const leased = [...m.lanes.values()].filter(({ lease }) => lease !== undefined && !isVisit(lease)).length
  const limit = Math.min(ask.limit, ask.inFlightLimit - leased)
  if (limit <= 0) return { why: 'slots-full', waitMs: undefined }
  const waiting = dueLanes(m)
  const found = waiting.filter(([, { due }]) => due! <= ms(now + ask.aheadMs)).slice(0, limit)
  const lanes: ReservedLane[] = []
  for (const [name, lane] of found) {
    const opens = Math.max(lane.due!, now) // since when it has been open is forgotten
    const list: List = lane.tries > 0 ? lane.triedList : lane.h.length > 0 ? 'h' : 'q'
    const [head] = lane[list]
    if (head === undefined) {
      if (opens <= now) m.lanes.delete(name) // its cool-down is over
      continue
    }
    const origin = originAt(m, originOf(name))
    const stop = stoppedUntil(m, originOf(name), now)
    const gated = Math.max(origin.closedUntil, origin.pausedUntil)
    const shut = Math.max(gated, stop)
    const expires = Math.ceil(head.expiresAt / 1_000) * 1_000 + m.shift
    const blocked = origin.blockedUntil > now
    if (shut > opens && shut > now && expires > now && !blocked) {
      giveBack(
        lane,
        lane.clock ?? opens,
        Math.min(shut, expires),
        stop > gated ? 'stopped' : origin.pausedUntil >= origin.closedUntil ? 'paused' : 'back-off',
      )
      continue
    }
    delete lane.clock
    delete lane.due
    m.fence = Math.max(m.fence, Math.floor(now * 1_000)) + 1
    const ends = ms(now + reserveMs)
    lane.lease = { fence: m.fence, list, notBefore: opens, ends, looked: ends }
    lanes.push({
      lane: name,
      fence: m.fence,
      notBefore: opens,
      tries: lane.tries,
      list,
      heads: lane[list].slice(0, ask.peek).map(({ id }) => id),
      why: lane.why,
      closedUntil: shut > now ? shut : undefined,
      blocked,
      version: origin.version,
      question: origin.question !== undefined && origin.question.until > now ? origin.question : undefined,
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
