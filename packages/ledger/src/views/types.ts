/** What operators are shown of a ledger, and what they may change. Instants: ms since 1970 UTC. */

import type { Gate, Instant } from '@decorum/protocol'
import type { LedgerGate } from '@decorum/protocol/gates'
import type { RobotsState } from '@decorum/robots'
import type { LaneRef, Pending } from '../index.ts'
import type { List, SitePolicyView } from '../stored.ts'

/** What an operator does to one origin. `until`: ms since 1970 UTC, absent: until it is ended. */
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
  /** of a reader's group that was forgotten; then `origin` is '' */
  crawl?: string
  group?: string
}

export type LaneView = LaneRef & {
  waiting: number
  /** instant, or undefined when idle */
  due?: Instant
  state: 'idle' | 'waiting' | 'reserved' | 'in-flight'
  /** which gate holds it, when it waits for more than its delay */
  heldBy?: Gate
  tries: number
  head?: Pending
  /** every gate of the ledger that is closed to its URLs: what ends them first, then the gate that opens last */
  closed: ClosedGate[]
}

export type ClosedGate = { gate: LedgerGate; until: Instant }

export type OriginView = {
  origin: string
  version: number
  state: RobotsState
  /** back-off of the origin: until when, how many incidents in a row */
  backOff?: { until: Instant; incidents: number }
  /** requests that were turned away or got no answer, in a row; a good answer halves it. Absent: 0 */
  failures?: number
  paused?: { until: Instant; reason: string }
  blocked?: { until: Instant; reason: string }
  /** delay set by an operator */
  override?: { delayMs: number; until: Instant; reason: string }
  delays: { agent: string; delayMs: number; clampedFrom?: number }[]
  /** the policy of its site that the ledger goes by; and the requests to its host today, where there is a budget */
  policy?: SitePolicyView
  lanes: LaneView[]
  now: Instant
}

/** Which lanes are listed: those without a lease by due time, or those with a lease by about when it ends. */
export type LaneList = {
  order: 'soonest' | 'latest' | 'in-flight'
  /** at most 200 */
  limit: number
  /** how many of that order are left out first */
  skip?: number
}

/** One lane, and what is known of its origin; `origin.lanes` holds this lane alone. */
export type LaneInOrigin = { lane: LaneView; origin: OriginView }

/** Origins that a gate holds, those that it holds shortest first. */
export type ClosedList = {
  gate: IndexedGate
  skip: number
  /** origins looked at, at most 200 */
  limit: number
  /** only this host and those below it; '': all */
  domain: string
}

/** The gates by which origins are found (lib/closed-index.lua). `blocked` is no gate of a lane: its URLs end at once. */
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

/** Lanes with URLs in no order, about a thousand at a time. */
export type LaneScan = {
  /** '0' begins */
  cursor: string
  /** only lanes of this host and those below it */
  domain: string
  /** lanes found by this cursor that are left out: what an earlier answer has shown */
  skip: number
  /** lanes shown at most, at most 200 */
  limit: number
}

export type PartitionView = {
  tag: string
  now: Instant
  holdUntil?: Instant
  /** everything is stopped: the reason given */
  stopped?: string
  lanes: number
  due: number
  inFlight: number
  waiting: number
  unread: number
  nextDue?: Instant
  /** since the beginning: parked (URLs stored), absorbed, stale writes refused, outcomes by kind */
  counts: Record<string, number>
}

/** By what a candidate is looked for in a lane: one of them, or both. */
export type WantedCandidate = {
  path?: string
  id?: string
  /** among whose URLs; default: those of the crawl `default` */
  crawl?: string
}

/** A URL that was found in its lane, as its list holds it, and how many of its lane come before it. */
export type PendingUrl = LaneRef & { list: List; entry: string; place: number; pending: Pending }

/** As lua/verbs/sample.lua writes it. `counts`: since the beginning, as in PartitionView. */
export type Sample = {
  /** ms since 1970 UTC */
  at: number
  due: number
  lanes: number
  inFlight: number
  unread: number
  /** how late the oldest due lane was, ms */
  lagMs: number
  /** jobs of candidates that no gateway had taken in */
  jobs: number
  counts: Record<string, number>
}
