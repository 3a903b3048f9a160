/** What goes into the ledger and comes out of it. The scripts' own shapes stay in lua/; these are the callers'. */
import type { Candidate, Gate, Instant, Outcome, OutcomeBody } from '@decorum/protocol'
import type { RobotsState } from '@decorum/robots'

/** One lane: one request at a time, then silence. */
export type LaneRef = { agent: string; origin: string }

/** A URL as it waits in its lane. */
export type Parked = {
  id: string
  path: string
  expiresAt: Instant
  hops: number
  priority: 'high' | 'normal'
  meta?: Record<string, unknown>
}

/** What park is given: a URL for its lane, or an outcome that is already known (invalid, refused, disallowed). */
export type ParkItem = ({ lane: LaneRef; parked: Parked } | { outcome: Outcome }) & {
  /** set when this item alone may be parked again after a crash (redirects): parked once per mark */
  mark?: string
}

/**
 * What makes a chunk of items idempotent: a field of the BullMQ job that carried it (gone with the job), written only by
 * whoever holds the job's lock under `token`, or a key of its own in this partition (for items that came in by another
 * partition's queue).
 */
export type ParkMark = { job: string; token: string; chunk: number } | { key: string }

export type ParkResult = {
  parked: number
  /** already stored under that id, or the whole chunk came a second time */
  absorbed: number
  outcomes: number
}

/** What take found. `wait` says when to come again; every waiting answer names its reason. */
export type ReserveResult =
  | { kind: 'reserved'; lanes: ReservedLane[] /** more lanes were due than asked for */; more: boolean }
  | {
      kind: 'wait'
      why:
        | 'nothing-due'
        | 'startup-hold'
        | 'outcomes-full'
        | 'slots-full' /** ms from now; undefined: nothing is waiting */
      waitMs: number | undefined
    }

export type ReservedLane = LaneRef & {
  fence: number
  /** instant on Redis's clock at which the lane opens, that of the taking when it was open; and how far off it is, ms (0: open) */
  notBefore: Instant
  waitMs: number
  /** requests already made for the head */
  tries: number
  /** which gate held the lane the last time that one did */
  heldBy?: Gate
  /** back-off or pause of the site: nothing may be begun before */
  closedUntil?: Instant
  /** an operator has blocked the origin: his reason */
  blocked?: string
  /** an operator wants its robots.txt asked for again first */
  refetch?: true
  /** the head and what is next, oldest first; never empty */
  heads: Parked[]
  robots: { version: number; state: RobotsState }
  /** the delay that robots.txt was last known to ask of this lane, or the longer one of an operator, ms; owed while the rules are out of force, too */
  delayMs?: number
  /** the ledger's time at the taking; and what Redis's clock showed, which counts for `expiresAt` */
  now: Instant
  wallAt: Instant
}

/** A lane to begin with: what an order says of its lease. */
export type StartRequest = LaneRef & {
  /** robots-page: the URL of a page is a robots.txt; like 'robots' it is the one robots fetch of its origin */
  kind: 'page' | 'robots' | 'robots-page'
  fence: number
  version: number
  delayMs: number
  /** another lane of the same partition that is this one's clock as well: begun with it or not at all */
  clock?: LaneRef
}

export type StartAnswer =
  | {
      kind: 'granted'
      /** how long the lease lasts, ms from when begin was called */
      leaseMs: number
      /** the lane opens in so many ms, counted from the reply: nothing may be sent before; absent: it is open */
      waitMs?: number
      /** the visit to the clock: to be ended by `settle` with `entered`, owing this silence (ms) */
      clock?: { fence: number; delayMs: number }
    }
  | { kind: 'early' /** ms */; waitMs: number } //           ask again then; the lease is kept
  | { kind: 'refused'; why: 'stale' | 'startup-hold' | 'rules-changed' | 'back-off' | 'robots-in-flight' | 'paced' } // the lane has been given back

/** A lease that was begun, and under which nothing has been sent yet. */
export type HeldLane = LaneRef & {
  fence: number
  /** of the rules that the request was judged by; absent for a visit */
  version?: number
}
/** Whether what was begun may still be sent. */
export type Confirmation = 'granted' | 'stale' | 'startup-hold' | 'back-off' | 'rules-changed'

/**
 * A visit that no URL of the lane asked for: the hop of a robots.txt, or a request of other lanes that this one is the clock
 * of. Of several lanes, all of one partition (the places of a pace group), the first that is open is entered.
 */
export type SecondaryRequest = {
  lanes: LaneRef[]
  kind: 'hop' | 'clock'
  /** silence owed afterwards if no longer one is known, ms */
  delayMs: number
  /** the lane that the request goes to, where it is of the same partition: the delay known of it is owed at least. Of a hop: its own */
  of?: LaneRef
  /** of a hop: its URL is a robots.txt, so it is the one robots fetch of its origin; ended by `endRobotsFetch` */
  isRobots?: boolean
  /** of a hop: the fence under which the visitor holds that lane already; nothing is leased, the origin's gates are looked at */
  heldFence?: number
  /** whose request it is for: it keeps its place among those who wait. Without it, one comes behind all of them */
  by?: LaneRef
}
export type Entry =
  /** of a hop: an operator has blocked the origin */
  | { kind: 'blocked' }
  | {
      kind: 'granted'
      lane: LaneRef
      fence: number /** silence owed afterwards, ms */
      delayMs: number
      leaseMs: number
    }
  | { kind: 'wait' /** ms; a turn of one's own, that may come to nothing: ask again then */; waitMs: number }

/** What a page answer says about the site's load. */
export type SiteLoad =
  | { kind: 'normal' }
  | { kind: 'asked-for-less' /** as the site asked, ms */; retryAfterMs?: number } // 429, 503: closes the site's lanes
  | { kind: 'no-answer' } //                                                    connection failures in a row do too

/** The end of one exchange, by the fetcher: lane, outcome, next due time in one script. */
export type Completion = LaneRef & {
  fence: number
  delayMs: number
  load: SiteLoad
  /** silence already kept since the last byte, ms (monotonic): archive and queueing do not delay the lane */
  elapsedMs: number
  /** undefined: the URL stays at the head and its attempt is counted, unless the lane was entered for something else */
  outcome?: Outcome
  /** the lane was entered by name (`enter`): no URL of it was meant */
  secondary?: true
  /** a redirect's target, to become a candidate of its own */
  candidate?: Candidate & { id: string }
}

/** A word on a lane that was taken and that nobody has begun; `release` also ends a visit that was not used, `unused` what was begun. */
export type Resolution = LaneRef & {
  fence: number
  /** outcomes of the first heads, in order: they leave the lane without spending its slot */
  dropped: Outcome[]
  /** keep: an order follows · release: back to its clock · unused: the same, when it was begun and nothing was sent · until: nothing may happen here before that instant */
  next: { kind: 'keep' } | { kind: 'release' } | { kind: 'unused' } | { kind: 'defer'; until: Instant; why: Gate }
}

export type CompleteResult = 'completed' | 'stale'

/** The end of a robots fetch that taught nothing: the facts stay, and the lanes of these agents that wait for it are woken. */
export type RobotsFetchEnd = { origin: string; fence: number; agents: string[] }

/** full: no room for the body within the budget; nothing was changed */
export type LearnResult = CompleteResult | 'full'

/** A robots answer, by the fetcher that asked under its own fence. */
export type RobotsRecord = LaneRef & {
  fence: number
  /** the asker died: a gateway writes what is known, no lease ends by it */
  forAsker?: boolean
  state: RobotsState
  body?: { hash: string; octets: Uint8Array }
  /** delay of each agent under the new rules: a longer one counts at once, for running silences too */
  delays: {
    agent: string
    /** absent: what is known stays */
    delayMs?: number
    /** as the site wrote it, seconds, when it was clamped */
    clampedFrom?: number
  }[]
  /** silence owed by the asking lane, ms */
  delayMs: number
  elapsedMs: number
}

export type Reaped = {
  /** leases that ended by themselves: begun ones count an attempt and owe delay + quarantine */
  started: number
  unstarted: number
  /** robots questions whose asker died: the origin's state wants an `unanswered` event */
  questions: (LaneRef & { fence: number; state: RobotsState; version: number })[]
  /** a call looks at so many; there may be others */
  more?: true
}

/** The operator's hand on one origin. `until`: ms since 1970 UTC, absent: until somebody ends it. */
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
}

export type LaneView = LaneRef & {
  waiting: number
  /** instant, or undefined when idle */
  due?: Instant
  state: 'idle' | 'waiting' | 'reserved' | 'in-flight'
  /** why it waits, when it is not merely its delay */
  heldBy?: Gate
  tries: number
  head?: Parked
}

export type OriginView = {
  origin: string
  version: number
  state: RobotsState
  /** back-off of the site: until when, how many incidents in a row */
  backOff?: { until: Instant; incidents: number }
  paused?: { until: Instant; reason: string }
  blocked?: { until: Instant; reason: string }
  /** delay by an operator's hand */
  override?: { delayMs: number; until: Instant; reason: string }
  delays: { agent: string; delayMs: number; clampedFrom?: number }[]
  lanes: LaneView[]
  now: Instant
}

/** Which lanes are listed: waiting ones by the instant they open, or those with a lease, about as long as they have it. */
export type LaneList = {
  order: 'soonest' | 'latest' | 'in-flight'
  /** at most 200 */
  limit: number
  /** so many of that order first */
  skip?: number
}
/** One lane, and what is known of its origin; `origin.lanes` holds this lane alone. */
export type LaneInOrigin = { lane: LaneView; origin: OriginView }

export type PartitionView = {
  tag: string
  now: Instant
  holdUntil?: Instant
  lanes: number
  due: number
  inFlight: number
  waiting: number
  unread: number
  nextDue?: Instant
  /** since the beginning: parked, absorbed, stale writes refused, outcomes by kind */
  counts: Record<string, number>
}

export type { Gate, Outcome, OutcomeBody }
