/**
 * Lists origins by their lanes: in the order in which lanes become due or leases end; optionally only those held for one reason, or in
 * one domain. The cost of each page is bounded, however many lanes there are; `next` continues where it ended.
 */
import type { Agents } from '@decorum/config'
import { INDEXED_GATES, type IndexedGate, type LaneList, type LedgerWithViews } from '@decorum/ledger/views'
import { type Gate, readUrl } from '@decorum/protocol'
import { Problem } from '@decorum/runtime/http-api'
import type { WaitState } from '../why.ts'
import { type DescribedLane, type DescribedOrigin, describeOrigin } from './describe-origin.ts'

export type ListWish = {
  sort?: LaneList['order'] | undefined
  limit: number
  state?: WaitState | undefined
  /** the gate that holds the lane, or its origin */
  reason?: Gate | 'blocked' | undefined
  /** a host, including names below it */
  domain?: string | undefined
  /** `next` of the previous page */
  after?: string | undefined
}
export type OriginList = {
  origins: DescribedOrigin[]
  /** number of lanes that were checked */
  looked: number
  /** the list is complete: there is no next page, and every partition has answered */
  complete: boolean
  next?: string
}

/** Lanes checked per partition and page while searching: five calls of about 1 ms of Redis. */
const LOOK_AT = 1_000
const AT_ONCE = 200
/** Calls of about five thousand lanes each that search for a domain, over all partitions and for one page. */
const SCANS = 3

/** A lane, or the lanes of one origin, with its position: a page that begins with it continues at `at`. */
type Found = { origin: DescribedOrigin; rank: number; at: string }
/** `next`: where the list continues behind these; undefined: it ends */
type Part = { found: Found[]; looked: number; next: string | undefined }
type Source = (partition: number, from: string) => Promise<Part>

const END = 'e'

/** @returns a Problem for a position in another list */
export async function listOrigins(
  ledger: LedgerWithViews,
  agents: Agents,
  wish: ListWish,
): Promise<OriginList | Problem> {
  const places = wish.after?.split('.') ?? ledger.tags.map(() => '0')
  if (places.length !== ledger.tags.length) return new Problem(400, 'bad-place', 'after: is no place of this list')
  const source = sourceOf(ledger, agents, wish)
  const answers = await Promise.allSettled(
    places.map(async (place, partition) =>
      place === END ? { found: [], looked: 0, next: undefined } : source(partition, place),
    ),
  )
  if (answers.every(({ status }) => status === 'rejected')) throw (answers[0] as PromiseRejectedResult).reason
  const parts = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : undefined))
  return merged(parts, wish)
}

/** The first `limit` origins over all partitions, and where each partition continues. */
function merged(parts: (Part | undefined)[], { limit, sort }: ListWish): OriginList {
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

function sourceOf(ledger: LedgerWithViews, agents: Agents, wish: ListWish): Source {
  const { sort, state, reason, domain } = wish
  const gate = sort === undefined ? indexed(reason ?? STATE_GATES[state ?? 'idle']) : undefined
  if (gate !== undefined) return closedBy(ledger, agents, gate, wish)
  if (domain !== undefined) return named(ledger, agents, domain, wish)
  return ordered(ledger, agents, wish)
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

/** Lanes in the order of the sets that contain them. */
function ordered(ledger: LedgerWithViews, agents: Agents, wish: ListWish): Source {
  const order = wish.sort ?? (wish.state === 'in flight' ? 'in-flight' : 'soonest')
  return async (partition, from) => {
    const found: Found[] = []
    const seen = new Set<string>()
    const first = Number(from)
    let looked = 0
    while (looked < LOOK_AT && seen.size <= wish.limit) {
      const rows = await ledger.viewLanes(partition, { order, limit: AT_ONCE, skip: first + looked })
      for (const [n, { lane, origin }] of rows.entries()) {
        const described = describeOrigin(origin, agents, [lane])
        if (!described.lanes.some((one) => isWanted(one, described, wish))) continue
        const place = first + looked + n
        found.push({ origin: described, rank: order === 'in-flight' ? place : (lane.due ?? 0), at: String(place) })
        seen.add(origin.origin)
      }
      looked += rows.length
      if (rows.length < AT_ONCE) return { found, looked, next: undefined }
    }
    return { found, looked, next: String(first + looked) }
  }
}

function isWanted(lane: DescribedLane, origin: DescribedOrigin, { state, reason }: ListWish): boolean {
  if (state === undefined ? lane.state === 'idle' : lane.why.state !== state) return false
  return reason === undefined || (reason === 'blocked' ? origin.blocked !== undefined : lane.heldBy === reason)
}

/** Origins that a gate holds, by the gate's index. */
function closedBy(
  ledger: LedgerWithViews,
  agents: Agents,
  gate: IndexedGate,
  { limit, domain = '', state, reason }: ListWish,
): Source {
  const keys = agents.list.map(({ key }) => key)
  return async (partition, from) => {
    const found: Found[] = []
    const first = Number(from)
    let looked = 0
    while (looked < LOOK_AT && found.length <= limit) {
      const list = await ledger.viewClosed(partition, { gate, skip: first + looked, limit: AT_ONCE, domain }, keys)
      for (const { place, ...view } of list.origins) {
        const described = describeOrigin(view, agents)
        const lanes = described.lanes.filter((lane) => lane.state !== 'idle')
        // The index lags behind a gate that was opened by hand
        const isHeld = isStillClosed(gate, described) || lanes.some(({ heldBy }) => heldBy === gate)
        const fits = state === undefined || reason !== undefined || lanes.every(({ why }) => why.state === state)
        if (isHeld && (fits || lanes.some(({ why }) => why.state === state)))
          found.push({ origin: { ...described, lanes }, rank: place, at: String(place) })
      }
      looked += list.looked
      if (list.looked < AT_ONCE) return { found, looked, next: undefined }
    }
    return { found, looked, next: String(first + looked) }
  }
}

function isStillClosed(gate: IndexedGate, { backOff, paused, blocked }: DescribedOrigin): boolean {
  if (gate === 'back-off') return backOff !== undefined
  if (gate === 'paused') return paused !== undefined
  return gate === 'blocked' && blocked !== undefined
}

/** Lanes of a domain: those of its host directly, those of names below it by searching a part of all lanes for each page. */
function named(ledger: LedgerWithViews, agents: Agents, domain: string, wish: ListWish): Source {
  const scans = Math.max(1, Math.ceil(SCANS / ledger.tags.length))
  return async (partition, from) => {
    const found: Found[] = []
    const seen = new Set<string>()
    let [cursor, skip] = placeOf(from)
    let looked = 0
    for (let n = 0; n < scans && seen.size <= wish.limit; n += 1) {
      const page = await ledger.scanLanes(partition, { cursor, skip, domain, limit: AT_ONCE })
      for (const { lane, origin, place } of page.lanes) {
        const described = describeOrigin(origin, agents, [lane])
        const name = `${lane.agent} ${lane.origin}`
        if (seen.has(name) || !described.lanes.some((one) => isWanted(one, described, wish))) continue
        seen.add(name)
        found.push({ origin: described, rank: 0, at: place })
      }
      looked += page.looked
      cursor = page.cursor
      skip = page.skip
      if (cursor === '0' && skip === 0) return { found, looked, next: undefined }
    }
    return { found, looked, next: `${cursor}_${skip}` }
  }
}

function placeOf(text: string): [cursor: string, skip: number] {
  const [cursor = '0', skip = '0'] = text.split('_')
  return [cursor, Number(skip)]
}

/** A domain as typed: a host, or any URL of it. */
export function domainOf(text: string): string | undefined {
  const at = readUrl(text.includes('://') ? text : `http://${text}`)
  return 'refused' in at ? undefined : URL.parse(at.origin)?.hostname
}
