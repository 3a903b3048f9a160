/** The types of views and operations. Instants: ms since 1970 UTC. */

import type { Gate, Instant } from '@decorum/protocol'
import type { LedgerGate } from '@decorum/protocol/gates'
import type { RobotsState } from '@decorum/robots'
import type { LaneRef, Pending } from '../index.ts'
import type { List, SitePolicyView } from '../stored.ts'

/** An operation of an operator on one origin. `until`: ms since 1970 UTC, absent: until an operator ends it. */
export type Operation = { origin: string; by: string; reason: string } & (
  | { action: 'pause' | 'block'; until?: Instant }
  | { action: 'resume' | 'unblock' | 'refetch' }
  | { action: 'delay'; delayMs: number; until: Instant }
)

export type OperationRecord = {
  at: Instant
  by: string
  action: string
  origin: string
  value: string
  until: Instant
  reason: string
  /** crawl of a reader's group that was forgotten; then `origin` is '' */
  crawl?: string
  group?: string
}

export type LaneView = LaneRef & {
  waiting: number
  /** instant from which it may be reserved; absent: it has a lease, or no URLs and no running delay */
  due?: Instant
  state: 'idle' | 'waiting' | 'reserved' | 'in-flight'
  /** the gate that holds it, when it waits for more than its delay */
  heldBy?: Gate
  tries: number
  head?: Pending
  /** every gate of the ledger that is closed to its URLs: first gates that end URLs, then the others, the last to open first */
  closed: ClosedGate[]
}

export type ClosedGate = { gate: LedgerGate; until: Instant }

export type OriginView = {
  origin: string
  version: number
  state: RobotsState
  /** back-off of the origin: its end, and the number of incidents in a row */
  backOff?: { until: Instant; incidents: number }
  /** consecutive requests that were turned away or got no answer; a good answer halves the number. Absent: 0 */
  failures?: number
  paused?: { until: Instant; reason: string }
  blocked?: { until: Instant; reason: string }
  /** delay set by an operator */
  override?: { delayMs: number; until: Instant; reason: string }
  delays: { agent: string; delayMs: number; clampedFrom?: number }[]
  /** the policy of its site that the ledger applies; and the requests to its host today, if there is a budget */
  policy?: SitePolicyView
  lanes: LaneView[]
  now: Instant
}

/** The lanes to list: those without a lease by due time, or those with a lease approximately by its end. */
export type LaneList = {
  order: 'soonest' | 'latest' | 'in-flight'
  /** at most 200 */
  limit: number
  /** number of lanes at the beginning of that order to skip */
  skip?: number
}

/** One lane, and the facts about its origin; `origin.lanes` holds only this lane. */
export type LaneInOrigin = { lane: LaneView; origin: OriginView }

/** The origins that a gate holds, those with the earliest end first. */
export type ClosedList = {
  gate: IndexedGate
  skip: number
  /** number of origins to read, at most 200 */
  limit: number
  /** only this host and those below it; '': all */
  domain: string
}

/** The gates by which origins are indexed (lib/closed-index.lua). `blocked` is no gate of a lane: its URLs end at once. */
export const INDEXED_GATES = [
  'back-off',
  'paused',
  'stopped',
  'visiting-hours',
  'budget',
  'robots-unreachable',
  'unknown-agent',
  'blocked',
] as const

export type IndexedGate = (typeof INDEXED_GATES)[number]

/** Lanes with URLs, in no order; one call reads about five thousand. */
export type LaneScan = {
  /** '0' for the first call */
  cursor: string
  /** only lanes of this host and those below it */
  domain: string
  /** lanes with this cursor to skip, because an earlier answer has shown them */
  skip: number
  /** number of lanes to show, at most 200 */
  limit: number
}

export type PartitionView = {
  tag: string
  now: Instant
  holdUntil?: Instant
  /** everything is stopped, for this reason */
  stopped?: string
  lanes: number
  due: number
  inFlight: number
  waiting: number
  unread: number
  nextDue?: Instant
  /** totals since the beginning: parked (URLs stored), absorbed, stale writes refused, outcomes by kind */
  counts: Record<string, number>
}

/** The candidate to find in a lane: by one of these, or both. */
export type WantedCandidate = {
  path?: string
  id?: string
  /** the crawl to search; default: the crawl `default` */
  crawl?: string
}

/** A URL found in its lane: its entry in the list, and how many URLs of the lane precede it. */
export type PendingUrl = LaneRef & { list: List; entry: string; place: number; pending: Pending }

/** A sample as lua/verbs/sample.lua writes it. `counts`: totals since the beginning, as in PartitionView. */
export type Sample = {
  /** ms since 1970 UTC */
  at: number
  due: number
  lanes: number
  inFlight: number
  unread: number
  /** lateness of the oldest due lane, ms */
  lagMs: number
  /** jobs of candidates that no gateway had taken in */
  jobs: number
  counts: Record<string, number>
}
