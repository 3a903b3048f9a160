/** Options of a ledger, with their defaults. */
import { type Clock, systemClock } from '@decorum/protocol'
import type { RedisLink } from './link.ts'

export type OnCall = (verb: string, seconds: number, isAnswered: boolean) => void

export type LedgerOptions = {
  /** REDIS_URL, or an existing connection */
  redis: string | RedisLink
  partitions: number
  leaseMs?: number
  quarantineMs?: number
  /** `start` also grants a lane that becomes due within this time, ms; the caller waits until then (StartAnswer.waitMs) */
  grantAheadMs?: number
  /** longest time that the end of an exchange waits for others, to share one call of `complete`, ms; default 0 */
  gatherMs?: number
  /** a reservation that is not started ends after this; default 30 s, or the lease if that is shorter */
  reserveMs?: number
  laneLimit?: number
  outcomesLimit?: number
  /**
   * first back-off after 429 or 503 without Retry-After, ms; doubles per incident up to `backOffMaxMs`, forgotten after `backOffQuietMs`
   */
  backOffMs?: number
  backOffMaxMs?: number
  backOffQuietMs?: number
  /** the memory that robots.txt bodies may use */
  bodies?: Partial<BodyBudget>
  /** a call fails with LedgerUnavailableError unless Redis answers within this time */
  callDeadlineMs?: number
  /** called with a sentence for the operator that says why nothing is granted for a while */
  onNotice?: (sentence: string) => void
  /** called after each call of a script: its verb, how long it took, s, and whether Redis answered */
  onCall?: OnCall | undefined
  /** the caller vouches that this Redis has never held a ledger (`announceNew`); assumed with virtual time */
  isNew?: boolean
  /** tests only: virtual time in place of Redis's clock, ms */
  nowMs?: () => number
  /** tests only, with `nowMs`: the time that this process can vouch for; default: the present one */
  mostMs?: () => number | undefined
  /** tests only, with `nowMs`: the share of the time on Redis's clock that has not passed on this process's (redis-clock.ts) */
  excess?: () => number
  /** time, timers and random numbers of this process; default: the real ones */
  clock?: Clock
}

/**
 * The memory that robots.txt bodies may use in one partition. Each life given to a body counts, so at most twice a budget is stored at
 * once.
 */
export type BodyBudget = {
  /** for the origins of one registrable domain, bytes; and the same again for short lives */
  domainBytes: number
  /** for all origins, bytes; and the same again for short lives */
  allBytes: number
  /** life of a body beyond the budget, ms */
  beyondLifeMs: number
}

/** The longest back-off of a site that keeps answering 429 or 503 without Retry-After. */
export const LONGEST_BACK_OFF_MS = 3_600_000

/** Limits that may change while the ledger is open. */
export type LiveLimits = Pick<LedgerOptions, 'laneLimit' | 'outcomesLimit' | 'backOffMs' | 'bodies'>

/** Settings of the verbs. */
export type VerbSettings = {
  clock: Clock
  leaseMs: number
  quarantineMs: number
  grantAheadMs: number
  gatherMs: number
  reserveMs: number
  laneLimit: number
  outcomesLimit: number
  backOffMs: number
  backOffMaxMs: number
  backOffQuietMs: number
  bodies: BodyBudget
  /** random factor, [0, 1) in thousandths: a tenth of it lengthens a back-off, so that not all back-offs end at once */
  jitter: () => number
}

/**
 * For a domain: sixteen files of the largest size that is read, even if they do not deflate. For all: the amount that a Redis of a few GB
 * can spare. Beyond, an origin's robots.txt is fetched again after an hour, which RFC 9309 §2.4 allows; bodies that arrive within that hour
 * are bounded as well.
 */
const BODIES: BodyBudget = { domainBytes: 8 * 1024 * 1024, allBytes: 512 * 1024 * 1024, beyondLifeMs: 3_600_000 }

export function verbSettings(options: Omit<LedgerOptions, 'redis' | 'partitions'> = {}): VerbSettings {
  const { clock = systemClock, leaseMs = 45_000 } = options
  return {
    leaseMs,
    quarantineMs: options.quarantineMs ?? 10_000,
    grantAheadMs: options.grantAheadMs ?? 0,
    gatherMs: options.gatherMs ?? 0,
    // start leaves the instant in `inflight` unchanged, so a reservation must not outlast the lease that it becomes
    reserveMs: Math.min(options.reserveMs ?? 30_000, leaseMs),
    laneLimit: options.laneLimit ?? 100_000,
    outcomesLimit: options.outcomesLimit ?? 1_000_000,
    backOffMs: options.backOffMs ?? 60_000,
    backOffMaxMs: options.backOffMaxMs ?? LONGEST_BACK_OFF_MS,
    backOffQuietMs: options.backOffQuietMs ?? 1_800_000,
    bodies: { ...BODIES, ...options.bodies },
    clock,
    jitter: () => Math.floor(clock.random() * 1_000) / 1_000,
  }
}
