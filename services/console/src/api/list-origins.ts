/**
 * Lists origins by their lanes: in the order in which lanes become due or leases end; optionally only those held for one reason, or in
 * one domain. The cost of each page is bounded, however many lanes there are; `next` continues where it ended.
 */
import type { Agents } from '@decorum/config'
import { INDEXED_GATES, type IndexedGate, type LedgerWithViews } from '@decorum/ledger/views'
import { Problem } from '@decorum/runtime/http-api'
import type { WaitState } from '../why.ts'
import { type DescribedLane, type DescribedOrigin, describeOrigin } from './describe-origin.ts'
import type { ListQuery } from './questions.ts'

export type OriginList = {
  origins: DescribedOrigin[]
  /** number of lanes that were checked */
  looked: number
  /** whether the list is complete: there is no next page, and every partition has answered */
  complete: boolean
  next?: string
}

/** Most calls per partition and page, and lanes checked in each; a call takes Redis about 1 ms. */
const BATCHES = 5
const AT_ONCE = 200
/** Most calls per page that search for a domain, over all partitions; each checks about five thousand lanes. */
const SCANS = 3

/** A lane, or the lanes of one origin. `rank`: the sort key. `at`: the position at which a page begins with it. */
type Found = { origin: DescribedOrigin; rank: number; at: string }
/** `next`: where the list continues after `found`; undefined: the list has ended */
type Part = { found: Found[]; looked: number; next: string | undefined }
/** Reads one batch of a list. */
type Source = (partition: number, from: string) => Promise<Part>

const END = 'e'

/** @returns a Problem when `after` is a position in another list */
export async function listOrigins(
  ledger: LedgerWithViews,
  agents: Agents,
  wish: ListQuery,
): Promise<OriginList | Problem> {
  const places = wish.after?.split('.') ?? ledger.tags.map(() => '0')
  if (places.length !== ledger.tags.length) return new Problem(400, 'bad-place', 'after: is no place of this list')
  const { source, batches } = sourceOf(ledger, agents, wish)
  const answers = await Promise.allSettled(places.map(gather))
  if (answers.every(({ status }) => status === 'rejected')) throw (answers[0] as PromiseRejectedResult).reason
  const parts = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : undefined))
  return merged(parts, wish)

  async function gather(place: string, partition: number): Promise<Part> {
    const all: Part = { found: [], looked: 0, next: place === END ? undefined : place }
    const origins = new Set<string>()
    for (let n = 0; n < batches && all.next !== undefined && origins.size <= wish.limit; n += 1) {
      const { found, looked, next } = await source(partition, all.next)
      for (const { origin } of found) origins.add(origin.origin)
      all.found.push(...found)
      all.looked += looked
      all.next = next
    }
    return all
  }
}

/** The first `limit` origins over all partitions, and where each partition continues. */
function merged(parts: (Part | undefined)[], { limit, sort }: ListQuery): OriginList {
  const all = parts.flatMap((part, partition) => part?.found.map((one) => ({ ...one, partition })) ?? [])
  all.sort((a, b) => (sort === 'latest' ? b.rank - a.rank : a.rank - b.rank))
  const origins = new Map<string, DescribedOrigin>()
  const places = parts.map((part) => part?.next ?? END)
  const cut = new Set<number>()
  for (const { origin, partition, at } of all) {
    const described = origins.get(origin.origin)
    if (cut.has(partition)) continue
    if (described !== undefined) described.lanes.push(...origin.lanes)
    else if (origins.size < limit) origins.set(origin.origin, { ...origin, lanes: [...origin.lanes] })
    else {
      cut.add(partition)
      places[partition] = at
    }
  }
  const goesOn = places.some((place) => place !== END)
  return {
    origins: [...origins.values()],
    looked: parts.reduce((n, part) => n + (part?.looked ?? 0), 0),
    complete: !goesOn && parts.every((part) => part !== undefined),
    ...(goesOn ? { next: places.join('.') } : {}),
  }
}

function sourceOf(ledger: LedgerWithViews, agents: Agents, wish: ListQuery): { source: Source; batches: number } {
  const { sort, state, reason, domain } = wish
  const gate = sort === undefined ? indexed(reason ?? STATE_GATES[state ?? 'idle']) : undefined
  if (gate !== undefined) return { source: closedBy(ledger, agents, gate, wish), batches: BATCHES }
  if (domain === undefined) return { source: ordered(ledger, agents, wish), batches: BATCHES }
  return { source: named(ledger, agents, domain, wish), batches: Math.max(1, Math.ceil(SCANS / ledger.tags.length)) }
}

/** The gate whose index lists origins with lanes in this state. */
const STATE_GATES: { [state in WaitState]?: IndexedGate } = {
  'back-off': 'back-off',
  robots: 'robots-unreachable',
  paused: 'paused',
  stopped: 'stopped',
  'visiting hours': 'visiting-hours',
  budget: 'budget',
  blocked: 'blocked',
}
const indexed = (reason: string | undefined): IndexedGate | undefined => INDEXED_GATES.find((gate) => gate === reason)

/** Lanes ordered by due time, or by the end of their leases. */
function ordered(ledger: LedgerWithViews, agents: Agents, wish: ListQuery): Source {
  const order = wish.sort ?? (wish.state === 'in flight' ? 'in-flight' : 'soonest')
  return async (partition, from) => {
    const skip = Number(from)
    const rows = await ledger.viewLanes(partition, { order, limit: AT_ONCE, skip })
    const found = rows.flatMap(({ lane, origin }, n): Found[] => {
      const rank = order === 'in-flight' ? skip + n : (lane.due ?? 0)
      return wanted(describeOrigin(origin, agents, [lane]), wish, rank, skip + n)
    })
    return { found, looked: rows.length, next: behind(skip, rows.length) }
  }
}

const behind = (skip: number, looked: number): string | undefined =>
  looked < AT_ONCE ? undefined : String(skip + looked)

const wanted = (origin: DescribedOrigin, wish: ListQuery, rank: number, at: number | string): Found[] =>
  origin.lanes.some((lane) => isWanted(lane, origin, wish)) ? [{ origin, rank, at: String(at) }] : []

function isWanted(lane: DescribedLane, origin: DescribedOrigin, { state, reason }: ListQuery): boolean {
  if (state === undefined ? lane.state === 'idle' : lane.why.state !== state) return false
  return reason === undefined || (reason === 'blocked' ? origin.blocked !== undefined : lane.heldBy === reason)
}

/** Origins that a gate holds, by the gate's index. */
function closedBy(
  ledger: LedgerWithViews,
  agents: Agents,
  gate: IndexedGate,
  { domain = '', state, reason }: ListQuery,
): Source {
  const keys = agents.list.map(({ key }) => key)
  return async (partition, from) => {
    const skip = Number(from)
    const { origins, looked } = await ledger.viewClosed(partition, { gate, skip, limit: AT_ONCE, domain }, keys)
    const found = origins.flatMap(({ place, ...view }): Found[] => {
      const described = describeOrigin(view, agents)
      const lanes = described.lanes.filter((lane) => lane.state !== 'idle')
      // The index lags behind a gate that was opened by hand
      const isHeld = isStillClosed(gate, described) || lanes.some(({ heldBy }) => heldBy === gate)
      const isInState = lanes.some(({ why }) => why.state === state)
      // An origin without URLs is in the state of its gate
      const fits = state === undefined || reason !== undefined || lanes.length === 0 || isInState
      return isHeld && fits ? [{ origin: { ...described, lanes }, rank: place, at: String(place) }] : []
    })
    return { found, looked, next: behind(skip, looked) }
  }
}

function isStillClosed(gate: IndexedGate, { backOff, paused, blocked }: DescribedOrigin): boolean {
  if (gate === 'back-off') return backOff !== undefined
  if (gate === 'paused') return paused !== undefined
  return gate === 'blocked' && blocked !== undefined
}

/** Lanes of a domain: those of its host directly, those of names below it by searching a part of all lanes for each page. */
function named(ledger: LedgerWithViews, agents: Agents, domain: string, wish: ListQuery): Source {
  const seen = new Set<string>() // a search may come to a lane twice
  return async (partition, from) => {
    const [cursor = '0', skip = '0'] = from.split('_')
    const page = await ledger.scanLanes(partition, { cursor, skip: Number(skip), domain, limit: AT_ONCE })
    const found = page.lanes.flatMap(({ lane, origin, place }): Found[] => {
      const name = `${lane.agent} ${lane.origin}`
      if (seen.has(name)) return []
      seen.add(name)
      return wanted(describeOrigin(origin, agents, [lane]), wish, 0, place)
    })
    const isOver = page.cursor === '0' && page.skip === 0
    return { found, looked: page.looked, next: isOver ? undefined : `${page.cursor}_${page.skip}` }
  }
}
