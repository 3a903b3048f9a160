/**
 * Types for frontiers. They are published with this package (packages/client/scripts/pack.mjs), so they refer only to types of
 * this repository, and to none of ioredis or zod.
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
  /** the crawl it belongs to, `[a-z0-9-]{1,64}`; ids are unique within a crawl. Default: the crawl of `openFrontier`, or `default` */
  crawl?: string | undefined
  priority?: 'high' | 'normal' | undefined
  /** ms since 1970 UTC; kept in whole seconds, rounded up */
  expiresAt?: number | undefined
  /** JSON, at most 4 KiB, returned with the outcome */
  meta?: Record<string, unknown> | undefined
} & RequestShape
/** Does not compile when the fleet reads a field that is missing here, or reads it differently. */
type Described = Required<Candidate> extends Required<Omit<AnyCandidate, 'hops'>> ? true : never
type AllDescribed = keyof AnyCandidate extends keyof Candidate | 'hops' ? Described : never
true satisfies AllDescribed

/** An ioredis instance (Redis, Cluster), of whichever copy. */
export type RedisInstance = { readonly options: object; duplicate(...args: never[]): unknown }

export type FrontierOptions = {
  /** the crawl of candidates that name none, and of the outcomes that are read; default: `default` */
  crawl?: string
  /**
   * REDIS_URL, or an ioredis instance (Redis, Cluster) whose settings are taken over (own connections are made). Default: what REDIS_URL
   * names in the environment, else the Redis of the fleet that runs for this user (`decorum up`)
   */
  redis?: string | RedisInstance | undefined
  /** must equal the number registered on this Redis, if there is one; default: that number */
  partitions?: number
  /** how long enqueue() retries while Redis is unavailable, ms; default 0: it fails at once */
  patienceMs?: number
  /** how to reach pages kept on other machines (the console's address, or the fleet's token), and how much to read */
  content?: ContentOptions
}

export type Frontier = {
  /** hash tag of each partition, in order; only that of the first partition before a fleet has first started */
  readonly tags: readonly string[]
  /**
   * Stores candidates for the fleet; resolves when Redis has them all. Candidates with an `id` may be sent again: while
   * the first is stored, the second has no effect.
   * @throws FrontierUnavailableError when Redis is unavailable: some may be stored
   * @throws TypeError for a value that is no array or iterable, or a candidate that JSON cannot carry. The gateway judges everything
   * else; a faulty candidate becomes an `invalid` outcome.
   */
  enqueue(candidates: Iterable<Candidate> | AsyncIterable<Candidate>): Promise<{ count: number }>
  /**
   * The outcomes of candidates; endless unless `wait: false`. The loop ends by close() or by leaving it; until then this reader
   * sends heartbeats, however slow the loop is, and keeps the outcomes assigned to it.
   * @throws TypeError for options that are wrong
   */
  outcomes(options: OutcomesOptions): AsyncGenerator<Delivery, void, undefined>
  /**
   * Acknowledges deliveries of one group and one crawl by their ids, from any process. With a consumer it also renews the heartbeat
   * of that reader.
   * @returns how many had not been acknowledged before
   * @throws TypeError for a malformed id; then none is acknowledged
   * @throws FrontierUnavailableError when Redis is unavailable: some may be acknowledged, and repeating the call is safe
   */
  acknowledge(options: AcknowledgeOptions): Promise<{ count: number }>
  /**
   * Makes a group, or leaves it as it is: `from: 'now'` begins with the first outcome stored after this call has resolved. Without
   * this call, outcomes() makes the group when the first outcome is requested.
   * @throws TypeError for options that are wrong
   * @throws FrontierUnavailableError when Redis is unavailable
   */
  createGroup(options: GroupOptions): Promise<void>
  /** Deletes a group for good; the deletion is stored. A group that nobody reads keeps every outcome stored. */
  removeGroup(group: string, crawl?: string): Promise<void>
  /** Ends every loop over outcomes and closes the connections. */
  close(): Promise<void>
}

export type OutcomesOptions = {
  /** the crawl whose outcomes are read. Default: the crawl of `openFrontier` */
  crawl?: string
  /** the group that reads: each group receives every outcome once and continues where it stopped */
  group: string
  /** a reader of that group; the same name after a restart gets its unacknowledged outcomes first. Default: a new one */
  consumer?: string
  /** where a new group begins: with everything still stored (default), or with later outcomes only */
  from?: 'start' | 'now'
  /** false: end when nothing is left to read; default: wait for more until close() */
  wait?: boolean
  /**
   * most unacknowledged deliveries: at this number the loop waits for an acknowledgement, or ends if `wait` is false.
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
  /** The content of the page; present for `fetched` outcomes whose page was kept. Nothing is read before the first call. */
  content?: Content
  /** Marks this outcome as processed, so that it is not redelivered. Resolves when Redis has stored that. */
  ack: () => Promise<void>
}

/**
 * How long a consumer without a heartbeat counts as alive, how often heartbeats are sent, how often dead consumers are looked for,
 * and when a new reader reads its pending entries once more.
 */
export type Patience = { deadAfterMs: number; beatMs: number; claimEveryMs: number; rereadAfterMs: number }
