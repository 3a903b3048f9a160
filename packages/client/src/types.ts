/**
 * The types that a frontier uses. They are published with this package (packages/client/scripts/pack.mjs), so they name types of
 * this repository alone, and none of ioredis or zod.
 */
import type { Content, ContentOptions } from '@decorum/content'
import type { Candidate as AnyCandidate } from '@decorum/protocol'
import type { Outcome } from '@decorum/protocol/outcome'
import type { RequestShape } from '@decorum/protocol/request-shape'

/** A URL that a frontier would like fetched: docs/spec/design.md §5. */
export type Candidate = {
  url: string
  /** at most 128 characters; assigned when absent */
  id?: string | undefined
  /** product token of one of the fleet's agents; default: the first */
  agent?: string | undefined
  /** whose URL it is, `[a-z0-9-]{1,64}`; ids are unique within a crawl. Default: that of `openFrontier`, or `default` */
  crawl?: string | undefined
  priority?: 'high' | 'normal' | undefined
  /** ms since 1970 UTC; kept in whole seconds, rounded up */
  expiresAt?: number | undefined
  /** JSON, at most 4 KiB, comes back with the outcome */
  meta?: Record<string, unknown> | undefined
} & RequestShape
/** Does not compile while the fleet reads a field that is missing here, or reads it in another way. */
type Told = Required<Candidate> extends Required<Omit<AnyCandidate, 'hops'>> ? true : never
type AllTold = keyof AnyCandidate extends keyof Candidate | 'hops' ? Told : never
true satisfies AllTold

/** An ioredis instance (Redis, Cluster), of whichever copy. */
export type RedisInstance = { readonly options: object; duplicate(...args: never[]): unknown }

export type FrontierOptions = {
  /** of the candidates that name none, and of the outcomes that are read; default: `default` */
  crawl?: string
  /**
   * REDIS_URL, or an ioredis instance (Redis, Cluster) whose settings are taken over (own connections are made). Default: what REDIS_URL
   * names in the environment, else the Redis of the fleet that runs for this user (`decorum up`)
   */
  redis?: string | RedisInstance | undefined
  /** must be what the fleet on this Redis has registered, if it has; default: whatever that is */
  partitions?: number
  /** how long enqueue() tries again while Redis is away, ms; default 0: it fails at once */
  patienceMs?: number
  /** how pages are reached that are kept on other machines: the console's address, or the fleet's token; and how much is read */
  content?: ContentOptions
}

export type Frontier = {
  /** hash tag of each partition, in order, as far as is known: before a fleet first starts there is one */
  readonly tags: readonly string[]
  /**
   * Stores candidates for the fleet; resolves when Redis has them all. Candidates with an `id` may be sent again: while
   * one is stored, the second is absorbed.
   * @throws FrontierUnavailableError when Redis is away: some may be stored
   * @throws TypeError for what is no array or iterable, or a candidate that JSON cannot carry. The gateway judges everything else;
   *   what is wrong becomes an `invalid` outcome.
   */
  enqueue(candidates: Iterable<Candidate> | AsyncIterable<Candidate>): Promise<{ count: number }>
  /**
   * What became of candidates; endless unless `wait: false`. Ends by close(), or by leaving the loop; until then this reader
   * sends heartbeats, however slow the loop is, and keeps the outcomes it was given.
   * @throws TypeError for options that are wrong
   */
  outcomes(options: OutcomesOptions): AsyncGenerator<Delivery, void, undefined>
  /**
   * Acknowledges deliveries by their ids, from whichever process. The ids of one group and one crawl; with a consumer it is also a
   * sign of life of that reader.
   * @returns how many had not been acknowledged before
   * @throws TypeError for what is no id of a delivery; then none is acknowledged
   * @throws FrontierUnavailableError when Redis is away: some may be acknowledged, and doing it again is safe
   */
  acknowledge(options: AcknowledgeOptions): Promise<{ count: number }>
  /**
   * Makes a group, or leaves it as it is: `from: 'now'` begins with what is stored after this has resolved. Otherwise outcomes() makes
   * it when the first one is asked for.
   * @throws TypeError for options that are wrong
   * @throws FrontierUnavailableError when Redis is away
   */
  createGroup(options: GroupOptions): Promise<void>
  /** Forgets a group for good, which is written down. A group that is no longer read keeps every outcome stored. */
  removeGroup(group: string, crawl?: string): Promise<void>
  /** Ends every loop over outcomes and closes the connections. */
  close(): Promise<void>
}

export type OutcomesOptions = {
  /** whose outcomes: those of the candidates of this crawl. Default: that of `openFrontier` */
  crawl?: string
  /** who reads: each group sees every outcome once and continues where it stopped */
  group: string
  /** a reader of that group; the same name after a restart gets its unacknowledged outcomes first. Default: a new one */
  consumer?: string
  /** where a new group begins: with everything still stored (default), or with what is yet to come */
  from?: 'start' | 'now'
  /** false: end when nothing is left to read; default: wait for more until close() */
  wait?: boolean
  /**
   * most deliveries that are not acknowledged: then it waits for an acknowledgement, or ends where `wait` is false.
   * Default: no limit
   */
  max?: number
  /** ends this loop */
  signal?: AbortSignal
}

export type GroupOptions = Pick<OutcomesOptions, 'crawl' | 'group' | 'from'>

export type AcknowledgeOptions = { crawl?: string; group: string; consumer?: string; ids: readonly string[] }

export type Delivery = {
  /** for `acknowledge`, from any process. Another delivery of the same outcome to the same group has the same id */
  id: string
  outcome: Outcome
  /** What the page says; of `fetched` outcomes whose page was kept. Nothing is read before it is asked for. */
  content?: Content
  /** This outcome is dealt with and need not come again. Resolves when Redis knows. */
  ack: () => Promise<void>
}

/**
 * How long a consumer without a heartbeat counts as alive, how often heartbeats are sent, how often dead ones are looked for, and
 * when a reader that has begun asks once more for what it was given.
 */
export type Patience = { deadAfterMs: number; beatMs: number; claimEveryMs: number; lookAgainAfterMs: number }
