/** What goes into the ledger and comes out of it, as its callers see it. calls.ts has the form in which the scripts see it. */
import type { Gate, Instant, Outcome, OutcomeBody, RedirectTarget, RequestShape, Tolerated } from '@decorum/protocol'
import type { RetryAfter, RobotsState } from '@decorum/robots'
import type { CrawlRecord } from './crawls/record.ts'
import type { GATE, List } from './layout.ts'

/** The gates that the ledger finds closed. */
export type LedgerGateName = (typeof GATE)[keyof typeof GATE]

/** One lane: one request at a time, then a delay. */
export type LaneRef = { agent: string; origin: string }

/** A URL as it waits in its lane. */
export type Pending = {
  id: string
  path: string
  expiresAt: Instant
  hops: number
  /** the registrable domain or host whose redirects led here */
  from?: string
  priority: 'high' | 'normal'
  /** requests that were made for it; absent: none */
  attempts?: number
  /** absent: of the crawl `default` */
  crawl?: string
  meta?: Record<string, unknown>
  /** how the request is to be made; absent: as usual */
  request?: RequestShape
}

/** What store is given: a URL for its lane, or an outcome that is already known (invalid, refused, disallowed). */
export type StoreItem = ({ lane: LaneRef; pending: Pending } | { outcome: Outcome }) & {
  /** set when this item alone may be stored again after a crash (redirects): stored once per mark */
  mark?: string
}

/**
 * What makes a chunk of items idempotent: a field of the BullMQ job that carried it (gone with the job), written only by
 * the holder of the job's lock under `token`, or a key of its own in this partition (for items that came in by another
 * partition's queue).
 */
export type StoreMark = { job: string; token: string; chunk: number } | { key: string }

/** outcomes-full: a crawl that would get an outcome has as many unread ones as OUTCOMES_LIMIT allows; nothing was stored */
export type StoreResult = 'outcomes-full' | Stored
export type Stored = {
  stored: number
  /** already stored under that id, or the whole chunk came a second time */
  absorbed: number
  outcomes: number
}

export type ReserveRequest = {
  limit: number
  aheadMs: number
  inFlightLimit: number
  peek: number
  /** this lane alone, due or not, and of it this list */
  lane?: LaneRef
  list?: List
}

/** What reserve found. `wait` says when to come again; every such answer names its reason. */
export type ReserveResult =
  | { kind: 'reserved'; lanes: ReservedLane[] /** more lanes were due than asked for */; more: boolean }
  | {
      kind: 'wait'
      why:
        | 'nothing-due'
        | 'startup-hold'
        | 'stopped'
        | 'outcomes-full'
        | 'slots-full' /** ms from now; undefined: nothing is waiting */
      waitMs: number | undefined
    }

export type ReservedLane = LaneRef & {
  fence: number
  /** instant from which the lane may be started, that of the reservation when it was due; and how far off it is, ms (0: due) */
  notBefore: Instant
  waitMs: number
  /** requests already made for the first URL */
  tries: number
  /** which gate held the lane the last time that one did */
  heldBy?: Gate
  /** back-off or pause of the origin: nothing may be started before */
  closedUntil?: Instant
  /** an operator has blocked the origin: the reason given */
  blocked?: string
  /** an operator wants its robots.txt fetched again first */
  refetch?: true
  /** the first URL and those after it, oldest first; never empty */
  urls: Pending[]
  robots: { version: number; state: RobotsState }
  /** the delay known of this lane from robots.txt, or a longer one set by an operator, ms; owed also while the rules are not in force */
  delayMs?: number
  /** the ledger's time at the reservation; and what Redis's clock showed, which counts for `expiresAt` */
  now: Instant
  wallAt: Instant
}

/** A lane to start: what an order says of its lease. */
export type StartRequest = LaneRef & {
  /** robots-page: the URL of a page is a robots.txt; like 'robots' it is the one robots fetch of its origin */
  kind: 'page' | 'robots' | 'robots-page'
  fence: number
  version: number
  delayMs: number
  /** another lane of the same partition that shares this one's pace: started with it or not at all */
  paceLane?: LaneRef
}

export type StartAnswer =
  | {
      kind: 'granted'
      /** how long the lease lasts, ms from when start was called */
      leaseMs: number
      /** nothing may be sent before so many ms after the reply; absent: at once */
      waitMs?: number
      /** the lease of the pace lane: it ends by `complete` with `secondary`, and owes this delay (ms) */
      paceLane?: { fence: number; delayMs: number }
    }
  | { kind: 'early' /** ms */; waitMs: number } //           ask again then; the reservation stands
  | {
      kind: 'refused' // the lane has been given back
      /** stale: the lease is not the caller's; or the gate that is closed */
      why: 'stale' | LedgerGateName
    }

/** A lease that was started, and under which nothing has been sent yet. */
export type LeasedLane = LaneRef & {
  fence: number
  /** of the rules that the request was judged by; absent for a secondary lease */
  version?: number
}
/** Whether a request that was started may still be sent. */
export type Confirmation = 'granted' | 'stale' | LedgerGateName

/**
 * A secondary lease, which none of the lane's own URLs asked for: for the hop of a robots.txt, or for a request of another lane
 * that shares this one's pace. Of several lanes, all of one partition (the lanes of a pace group), the first that is due is leased.
 */
export type SecondaryRequest = {
  lanes: LaneRef[]
  kind: 'hop' | 'pace-group'
  /** delay owed afterwards if no longer one is known, ms */
  delayMs: number
  /** the lane that the request goes to, where that is another one of the same partition: the delay known of it is owed at least */
  of?: LaneRef
  /** of a hop: its URL is a robots.txt, so it is the one robots fetch of its origin; ended by `endRobotsFetch` */
  isRobots?: boolean
  /** whose request it is for: it keeps its place in line. Without it, the request comes behind all that wait */
  by?: LaneRef
  /** of a hop: a lane that shares its pace with this one; both are leased, or neither */
  paceLane?: LaneRef
}
export type AcquireAnswer =
  /** of a hop: an operator has blocked the origin */
  | { kind: 'blocked' }
  | {
      kind: 'granted'
      lane: LaneRef
      fence: number /** delay owed afterwards, ms */
      delayMs: number
      leaseMs: number
      paceLane?: { fence: number; delayMs: number }
    }
  | { kind: 'wait' /** ms; ask again then, perhaps to wait once more */; waitMs: number; gate: LedgerGateName }

/** One more request under leases that are held. Asking says that the request before it has ended. */
export type NextRequest = {
  /** further: under the order of a pool · hop: of a robots.txt, in a lane that its robots fetch holds */
  kind: 'further' | 'hop'
  /** of the request; it need not be among those that are held */
  lane: LaneRef
  /** every lane of one partition that the holder has; the lane of the request first, if it is one of them */
  held: LeasedLane[]
  /** since the end of the request before it, ms */
  elapsedMs: number
  /** what that one owes by what its sender knows, ms; the ledger adds what it knows itself */
  delayMs: number
  /** of a hop: its URL is a robots.txt, so it is the one robots fetch of its origin; ended by `endRobotsFetch` */
  isRobots?: boolean
  /** of an earlier answer to the same request */
  turn?: NextTurn | undefined
}
/** When a request under leases that are held has its turn, and when the one before it ended: both as the ledger writes them. */
export type NextTurn = { at: string; endedAt: string }
export type NextAnswer =
  /** turn: it is half a second away or more: ask again then, with `turn` · waitMs: until it may be sent */
  | { kind: 'granted' | 'turn'; waitMs: number; turn: NextTurn }
  | { kind: 'wait' /** ms; ask again then */; waitMs: number; gate: LedgerGateName }
  /** busy: another request was asked for that has not been sent yet · stale: a lease is not held any more */
  | { kind: 'busy' | 'stale' | 'blocked' | 'rules-changed' | 'refetch' }

/** The crawl for which it was asked is paused or over. */
export type CrawlHeld = { kind: 'crawl-held'; record: CrawlRecord }

/** A lease that a permit asks for: a crawler that is no fetcher of the fleet sends the request. */
export type GrantRequest = LaneRef & {
  /** another lane of the same partition that shares this one's pace: leased with it or not at all */
  paceLane?: LaneRef
  /** of the rules that the URL was judged by */
  version: number
  /** delay owed afterwards if no longer one is known, ms */
  delayMs: number
  leaseMs: number
  /** whose request it is for, without '|' and '@': it keeps its place in line */
  by: LaneRef
  /** by whose weight it takes its turn in the lane; absent: in the order in which requests come */
  crawl?: string
}
export type GrantAnswer =
  | {
      kind: 'granted'
      /** nothing may be sent before so many ms after the reply */
      waitMs: number
      fence: number
      /** delay owed afterwards, ms */
      delayMs: number
      paceLane?: { fence: number; delayMs: number }
    }
  | {
      kind: 'wait' /** ms; ask again then */
      waitMs: number
      gate: LedgerGateName
      /** what a busy lane is leased for: one of its own URLs, or a secondary lease */
      holder?: 'url' | 'permit'
    }
  /** refetch: an operator wants robots.txt fetched again first */
  | { kind: 'blocked' | 'rules-changed' | 'refetch' }
  | CrawlHeld

/** stop: the leases last longer, but this gate wants no more requests; leftMs: how long they last from now */
export type ExtendAnswer = { kind: 'stale' } | { kind: 'extended'; stop?: LedgerGateName; leftMs: number }

/** A robots fetch that no URL of the lane asks for. */
export type ClaimRequest = LaneRef & {
  /** another lane of the same partition that shares this one's pace: nothing is reserved while it is closed */
  paceLane?: LaneRef
  /** the crawl whose permit waits for the rules */
  crawl?: string
}
export type ClaimAnswer =
  | { kind: 'claimed'; fence: number; notBefore: Instant; version: number }
  | { kind: 'wait' /** ms; ask again then */; waitMs: number; gate: LedgerGateName }
  | { kind: 'blocked' }
  | CrawlHeld

/** What an answer says about the load of its origin. */
export type SiteLoad =
  | { kind: 'normal' }
  /** 429, 503: closes the origin's lanes, as Retry-After says or for a while that grows; of a length and a date the later end counts */
  | ({ kind: 'asked-for-less' } & RetryAfter)
  /** 403: several in a row close them for a while that grows, and one for as long as Retry-After says */
  | ({ kind: 'turned-away' } & RetryAfter)
  /** any other answer with a Retry-After: closes them for as long, and is a good answer in all else */
  | ({ kind: 'asked-to-wait' } & RetryAfter)
  /** connection failures in a row close them, too */
  | { kind: 'no-answer' }

/** The end of one exchange, by the fetcher: lane, outcome, next due time in one script. */
export type Completion = LaneRef & {
  fence: number
  delayMs: number
  load: SiteLoad
  /** time since the last byte, ms (monotonic): archive and queueing do not delay the lane */
  elapsedMs: number
  /** the exchange from its beginning to its end, ms, for the note of it; absent: the exchange is noted elsewhere or not known */
  tookMs?: number
  /** undefined: the URL stays first and its attempt is counted, unless the lease is a secondary one */
  outcome?: Outcome
  /** the lease is a secondary one (`acquire`): it was for no URL of the lane */
  secondary?: true
  /** a redirect's target, to become a candidate of its own, and what the redirect asks to wait before */
  candidate?: RedirectTarget
  candidateAfter?: RetryAfter
}

/** What becomes of a reservation. `release` also ends a secondary lease that was not used, and `unused` a lease that was started. */
export type Resolution = LaneRef & {
  fence: number
  /** outcomes of the first URLs, in order: these URLs leave the lane without a request */
  dropped: Outcome[]
  /** keep: an order follows · pool: one for a worker of a pool follows · release: due at its own time · unused: the same, when it was started and nothing was sent · defer: not due before that instant */
  next:
    | { kind: 'keep' }
    | { kind: 'pool' }
    | { kind: 'release' }
    | { kind: 'unused' }
    | { kind: 'defer'; until: Instant; why: Gate }
}

export type CompleteResult = 'completed' | 'stale'

/** A robots fetch that brought no answer: the robots state stays, and the lanes of these agents that wait for it are woken. */
export type RobotsFetchEnd = { origin: string; fence: number; agents: string[] }

/** full: no room for the body within the budget; nothing was changed */
export type RecordResult = CompleteResult | 'full'

/** The answer to a robots fetch, by the fetcher that made it under its own fence. */
export type RobotsRecord = LaneRef & {
  fence: number
  /** the fetcher is gone and a gateway records that: no lease ends by it */
  withPage?: boolean
  state: RobotsState
  body?: { hash: string; octets: Uint8Array }
  /** why some of the body may not do what its site meant; for the note of the origin */
  remark?: string
  /** delay of each agent under the new rules: a longer one counts at once, also for delays that run */
  delays: {
    agent: string
    /** absent: what is known stays */
    delayMs?: number
    /** as the site wrote it, seconds, when it was clamped */
    clampedFrom?: number
  }[]
  /** delay owed by the lane that fetched, ms */
  delayMs: number
  elapsedMs: number
  /** as of a completion */
  tookMs?: number
  /** the token whose question brought it: it is kept for a short while, unless somebody has URLs of the origin, or a permit */
  unclaimedBy?: string
  /** what the site asked for by its answers, whatever they say of the rules; absent: normal */
  load?: SiteLoad
  /** faults of the answers that were overlooked, for the note */
  tolerated?: Tolerated[] | undefined
}

export type Reaped = {
  /** leases that ended by their time: started ones count an attempt and owe delay + quarantine */
  started: number
  unstarted: number
  /** robots fetches whose fetcher is gone: the origin's state needs an `unanswered` event */
  robotsFetches: (LaneRef & { fence: number; state: RobotsState; version: number })[]
  /** there may be others: a call ends a bounded number */
  more?: true
}

/** The policy of a site, as the scripts need it. Sites are named as SITE_POLICIES names them. */
export type SitePolicyRecord = {
  site: string
  delayMs?: number | undefined
  /** the delay counts also where agent or robots.txt ask for more */
  hasConsent: boolean
  /** minutes of the UTC day; over midnight where `from` is after `to` */
  hours?: { from: number; to: number } | undefined
  requestsPerDay?: number | undefined
  /** what the views show of it */
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

/** in-flight: its request may have been sent, so its outcome is that of the request. absent: it is not there any more */
export type Cancelled = 'cancelled' | 'in-flight' | 'absent'

export type { Gate, Outcome, OutcomeBody }
