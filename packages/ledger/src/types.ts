/** The types of the ledger's calls and their answers. calls.ts has the form in which the scripts receive them. */
import type { Gate, Instant, Outcome, OutcomeBody, RedirectTarget, RequestShape, Tolerated } from '@decorum/protocol'
import type { RetryAfter, RobotsState } from '@decorum/robots'
import type { CrawlRecord } from './crawls/record.ts'
import type { GATE, List } from './layout.ts'

/** The name of a gate in the scripts of the ledger (GATE in layout.ts). */
export type LedgerGateName = (typeof GATE)[keyof typeof GATE]

/** One lane: one request at a time, then a delay. */
export type LaneRef = { agent: string; origin: string }

/** A URL that waits in its lane. */
export type Pending = {
  id: string
  path: string
  expiresAt: Instant
  hops: number
  /** the registrable domain or host whose redirects led here */
  from?: string
  priority: 'high' | 'normal'
  /** number of requests already made for it; absent: 0 */
  attempts?: number
  /** absent: the crawl `default` */
  crawl?: string
  meta?: Record<string, unknown>
  /** how its request differs from the usual one; absent: not at all */
  request?: RequestShape
}

/** An argument of store: a URL for its lane, or an outcome that is already known (invalid, refused, disallowed). */
export type StoreItem = ({ lane: LaneRef; pending: Pending } | { outcome: Outcome }) & {
  /** idempotency mark of this item alone (for redirect targets): an item whose mark is known is not stored again */
  mark?: string
}

/**
 * The mark that makes a chunk of items idempotent: a field of the BullMQ job that carried it (deleted with the job), which only the holder
 * of the job's lock under `token` writes, or a separate key in this partition (for items from the queue of another partition).
 */
export type StoreMark = { job: string; token: string; chunk: number } | { key: string }

/** outcomes-full: a crawl that would get an outcome already has as many unread ones as OUTCOMES_LIMIT allows; nothing was stored */
export type StoreResult = 'outcomes-full' | Stored
export type Stored = {
  stored: number
  /** items that were not stored again, because their id or their chunk was already stored */
  absorbed: number
  outcomes: number
}

export type ReserveRequest = {
  limit: number
  aheadMs: number
  inFlightLimit: number
  peek: number
  /** reserve only this lane, due or not, and only this list */
  lane?: LaneRef
  list?: List
}

/** The result of reserve. `wait` says when to try again and why. */
export type ReserveResult =
  | { kind: 'reserved'; lanes: ReservedLane[] /** true: other lanes may be due */; more: boolean }
  | {
      kind: 'wait'
      why: 'nothing-due' | 'startup-hold' | 'stopped' | 'outcomes-full' | 'slots-full'
      /** ms from now; undefined: nothing is waiting */
      waitMs: number | undefined
    }

export type ReservedLane = LaneRef & {
  fence: number
  /** instant from which the lane may be started (a due lane: the instant of the reservation), and ms until then (0: due) */
  notBefore: Instant
  waitMs: number
  /** requests already made for the first URL */
  tries: number
  /** the gate that last held the lane */
  heldBy?: Gate
  /** back-off or pause of the origin: nothing may be started before this instant */
  closedUntil?: Instant
  /** an operator has blocked the origin, for this reason */
  blocked?: string
  /** an operator has requested that its robots.txt be fetched again first */
  refetch?: true
  /** the first URL and those behind it, oldest first; never empty */
  urls: Pending[]
  robots: { version: number; state: RobotsState }
  /** the known delay of this lane from robots.txt, or a longer one set by an operator, ms; owed also while the rules are not in force */
  delayMs?: number
  /** instant of the reservation on the ledger's clock, and on Redis's clock, which `expiresAt` refers to */
  now: Instant
  wallAt: Instant
}

/** A lane to start, under the reservation that its order names. */
export type StartRequest = LaneRef & {
  /** robots-page: a page whose URL is a robots.txt; like 'robots' it is the one robots fetch of its origin */
  kind: 'page' | 'robots' | 'robots-page'
  fence: number
  version: number
  delayMs: number
  /** another lane of the same partition that shares this one's pace: both are started, or neither */
  paceLane?: LaneRef
}

export type StartAnswer =
  | {
      kind: 'granted'
      /** how long the lease lasts, ms from when start was called */
      leaseMs: number
      /** how long to wait after the reply before sending, ms; absent: not at all */
      waitMs?: number
      /** the lease of the pace lane: `complete` with `secondary` ends it, and it owes this delay (ms) */
      paceLane?: { fence: number; delayMs: number }
    }
  | { kind: 'early' /** ms */; waitMs: number } // repeat the call after this time; the reservation stays
  | {
      kind: 'refused' // the lane has been released
      /** stale: the lease is not the caller's; otherwise the gate that is closed */
      why: 'stale' | LedgerGateName
    }

/** A lane with a started lease, as the holder of the lease names it. */
export type LeasedLane = LaneRef & {
  fence: number
  /** version of the rules that judged the request; absent for a secondary lease */
  version?: number
}
/** Whether a request that was started may still be sent. */
export type Confirmation = 'granted' | 'stale' | LedgerGateName

/**
 * A secondary lease, which none of the lane's own URLs needs: for the hop of a robots.txt, or for a request of another lane that shares
 * this one's pace. If several lanes are given (a pace group, all of one partition), the first that is due is leased.
 */
export type SecondaryRequest = {
  lanes: LaneRef[]
  kind: 'hop' | 'pace-group'
  /** delay owed afterwards, ms, unless a longer one is known */
  delayMs: number
  /** the lane of the request, if it is another one of the same partition: at least its known delay is owed */
  of?: LaneRef
  /** for a hop whose URL is a robots.txt: the hop is the one robots fetch of its origin, and `endRobotsFetch` ends it */
  isRobots?: boolean
  /** the lane that makes the request: it keeps its place in line. Without it, the request is placed behind all that wait */
  by?: LaneRef
  /** for a hop: a lane that shares its pace with this one; both are leased, or neither */
  paceLane?: LaneRef
}
export type AcquireAnswer =
  /** for a hop: an operator has blocked the origin */
  | { kind: 'blocked' }
  | {
      kind: 'granted'
      lane: LaneRef
      fence: number /** delay owed afterwards, ms */
      delayMs: number
      leaseMs: number
      paceLane?: { fence: number; delayMs: number }
    }
  | { kind: 'wait' /** ms; then repeat the call, which may have to wait again */; waitMs: number; gate: LedgerGateName }

/** Another request under leases that are held. The call implies that the previous request has ended. */
export type NextRequest = {
  /** further: another page under the order of a pool · hop: a redirect of a robots.txt, in a lane that its robots fetch holds */
  kind: 'further' | 'hop'
  /** lane of the request; it need not be among those that are held */
  lane: LaneRef
  /** every lane that the holder has leased in one partition; the lane of the request comes first if it is one of them */
  held: LeasedLane[]
  /** time since the end of the previous request, ms */
  elapsedMs: number
  /** delay owed after the previous request, ms, as its sender reports it; the ledger applies a longer one that it has recorded */
  delayMs: number
  /** for a hop: its URL is a robots.txt, so it is the one robots fetch of its origin; `endRobotsFetch` ends it */
  isRobots?: boolean
  /** the `turn` of an earlier answer to the same request; absent: this is its first call */
  turn?: NextTurn | undefined
}
/** Instants as text that only the ledger reads: when the request may be sent, and when the previous one ended. */
export type NextTurn = { at: string; endedAt: string }
export type NextAnswer =
  /** granted: send after waitMs · turn: more than half a second away; repeat the call after waitMs, with `turn` */
  | { kind: 'granted' | 'turn'; waitMs: number; turn: NextTurn }
  | { kind: 'wait' /** ms; repeat the call then */; waitMs: number; gate: LedgerGateName }
  /** busy: another request was granted that has not been sent yet · stale: a lease is not held any more */
  | { kind: 'busy' | 'stale' | 'blocked' | 'rules-changed' | 'refetch' }

/** The crawl of the request is paused or has ended. */
export type CrawlHeld = { kind: 'crawl-held'; record: CrawlRecord }

/** The lease for a permit: a crawler that is no fetcher of the fleet sends the request. */
export type GrantRequest = LaneRef & {
  /** another lane of the same partition that shares this one's pace: both are leased, or neither */
  paceLane?: LaneRef
  /** version of the rules that judged the URL */
  version: number
  /** delay owed afterwards, ms, unless a longer one is known */
  delayMs: number
  leaseMs: number
  /** the lane that makes the request: it keeps its place in line under this name, which contains no '|' and no '@' */
  by: LaneRef
  /** the crawl by whose weight it takes its turn in the lane; absent: first come, first served */
  crawl?: string
}
export type GrantAnswer =
  | {
      kind: 'granted'
      /** how long to wait after the reply before sending, ms */
      waitMs: number
      fence: number
      /** delay owed afterwards, ms */
      delayMs: number
      paceLane?: { fence: number; delayMs: number }
    }
  | {
      kind: 'wait' /** ms; repeat the call then */
      waitMs: number
      gate: LedgerGateName
      /** the holder of a busy lane: url: one of its own URLs · permit: a secondary lease */
      holder?: 'url' | 'permit'
    }
  /** refetch: an operator has requested that robots.txt be fetched again first */
  | { kind: 'blocked' | 'rules-changed' | 'refetch' }
  | CrawlHeld

/** stop: this gate allows no more requests, although the leases last on; leftMs: their remaining time, ms */
export type ExtendAnswer = { kind: 'stale' } | { kind: 'extended'; stop?: LedgerGateName; leftMs: number }

/** A robots fetch that no URL of the lane needs. */
export type ClaimRequest = LaneRef & {
  /** another lane of the same partition that shares this one's pace: nothing is reserved while it is closed */
  paceLane?: LaneRef
  /** the crawl whose permit waits for the rules */
  crawl?: string
}
export type ClaimAnswer =
  | { kind: 'claimed'; fence: number; notBefore: Instant; version: number }
  | { kind: 'wait' /** ms; repeat the call then */; waitMs: number; gate: LedgerGateName }
  | { kind: 'blocked' }
  | CrawlHeld

/** The load of an origin, judged by the end of one exchange. */
export type SiteLoad =
  | { kind: 'normal' }
  /** 429, 503: closes the origin's lanes until Retry-After (the later of length and date), without it for an increasing time */
  | ({ kind: 'asked-for-less' } & RetryAfter)
  /** 403: several in a row close the lanes for an increasing time; a single one closes them only for its Retry-After */
  | ({ kind: 'turned-away' } & RetryAfter)
  /** any other answer with a Retry-After: closes the lanes for that time, and otherwise counts as a good answer */
  | ({ kind: 'asked-to-wait' } & RetryAfter)
  /** connection failures; several in a row also close the lanes */
  | { kind: 'no-answer' }

/** The end of one exchange, as the fetcher reports it: lane, outcome and next due time in one script. */
export type Completion = LaneRef & {
  fence: number
  delayMs: number
  load: SiteLoad
  /** time since the last byte, ms (monotonic): archiving and queueing do not delay the lane */
  elapsedMs: number
  /** duration of the exchange, ms, for its note; absent: it is noted elsewhere or not known */
  tookMs?: number
  /** undefined: the URL stays first and its attempt is counted, unless the lease is a secondary one */
  outcome?: Outcome
  /** the lease is a secondary one (`acquire`): it was for no URL of the lane */
  secondary?: true
  /** a redirect's target, which becomes a separate candidate, and the wait that the redirect asks for */
  candidate?: RedirectTarget
  candidateAfter?: RetryAfter
}

/** The decision about a reservation. `release` also ends a secondary lease that was not used, and `unused` a lease that was started. */
export type Resolution = LaneRef & {
  fence: number
  /** outcomes of the first URLs, in order: these URLs leave the lane without a request */
  dropped: Outcome[]
  /**
   * keep: an order follows · pool: an order for a worker of a pool follows · release: the lane is due at its own time · unused: nothing was
   * sent under a started lease, and the lane is due after its delay · defer: the gate `why` holds the lane until `until`
   */
  next:
    | { kind: 'keep' }
    | { kind: 'pool' }
    | { kind: 'release' }
    | { kind: 'unused' }
    | { kind: 'defer'; until: Instant; why: Gate }
}

export type CompleteResult = 'completed' | 'stale'

/** A robots fetch without an answer: the robots state stays, and the lanes of these agents that wait for it are woken. */
export type RobotsFetchEnd = { origin: string; fence: number; agents: string[] }

/** full: no room for the body within the budget; nothing was changed */
export type RecordResult = CompleteResult | 'full'

/** The answer to a robots fetch, reported by the fetcher that made it, under its own fence. */
export type RobotsRecord = LaneRef & {
  fence: number
  /** true: no lease ends, because the fetch was made under a secondary lease, or its fetcher is gone */
  withPage?: boolean
  state: RobotsState
  body?: { hash: string; bytes: Uint8Array }
  /** why parts of the body may not mean what the site intended; for the note of the origin */
  remark?: string
  /** delay of each agent under the new rules; a longer one also lengthens a delay that is running */
  delays: {
    agent: string
    /** absent: the known delay stays */
    delayMs?: number
    /** the delay as the site wrote it, seconds, when it was clamped */
    clampedFrom?: number
  }[]
  /** delay owed by the lane that fetched, ms */
  delayMs: number
  elapsedMs: number
  /** as in a completion */
  tookMs?: number
  /**
   * the client token for which the fetch was made: the answer is kept only for a short time, unless URLs of the origin are stored or a
   * permit is held
   */
  unclaimedBy?: string
  /** the load that the site's answers show, whatever they mean for the rules; absent: normal */
  load?: SiteLoad
  /** faults of the answers that were tolerated, for the note */
  tolerated?: Tolerated[] | undefined
}

export type Reaped = {
  /** number of leases that expired: started ones count an attempt and owe delay + quarantine */
  started: number
  unstarted: number
  /** robots fetches whose fetcher is gone: the origin's state needs an `unanswered` event */
  robotsFetches: (LaneRef & { fence: number; state: RobotsState; version: number })[]
  /** more expired leases may be left, because one call ends a bounded number */
  more?: true
}

/** The policy of a site in the form that the scripts use. Sites are named as in SITE_POLICIES. */
export type SitePolicyRecord = {
  site: string
  delayMs?: number | undefined
  /** whether the delay also replaces a longer one of the agent or of robots.txt */
  hasConsent: boolean
  /** minutes of the UTC day; `from` after `to`: over midnight */
  hours?: { from: number; to: number } | undefined
  requestsPerDay?: number | undefined
  /** the part that the views show */
  shown: Omit<SitePolicyView, 'site' | 'requestsToday'>
}
export type SitePolicyView = {
  site: string
  delayMs?: number | undefined
  consent?: string | undefined
  hours?: string | undefined
  requestsPerDay?: number | undefined
  requestsToday?: number
}

/** in-flight: its request may have been sent and gives it its outcome · absent: the URL is not, or no longer, in the list */
export type Cancelled = 'cancelled' | 'in-flight' | 'absent'

export type { Gate, Outcome, OutcomeBody }
