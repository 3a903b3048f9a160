/** What a crawl frontier holds in its hand: candidates go in, outcomes come out. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkOneServer, keysOf, LedgerUnfitError, PARTITIONS_KEY, type RedisLink, readTags } from '@decorum/ledger'
import { type Candidate, partitionTags } from '@decorum/protocol'
import { Acknowledger } from './acknowledge.ts'
import { connectTo, within } from './connection.ts'
import { Intake } from './enqueue.ts'
import { FrontierUnavailableError, FrontierUnfitError } from './errors.ts'
import { merged } from './merged.ts'
import { type Delivery, OutcomeReader, type OutcomesOptions } from './outcomes.ts'

export type FrontierOptions = {
  /** REDIS_URL, or an ioredis instance (Redis, Cluster) whose settings are taken over (own connections are made) */
  redis: string | RedisLink
  /** default: as many as the fleet on this Redis has, 1 before it first starts */
  partitions?: number
  /** how long enqueue() tries again while Redis is away, ms; default 0: it fails at once */
  patienceMs?: number
}

export type Frontier = {
  /** hash tag of each partition, in order */
  readonly tags: readonly string[]
  /**
   * Stores candidates for the fleet; resolves when Redis has them all. Candidates with an `id` may be sent again: while
   * one is stored, the second is absorbed.
   * @throws FrontierUnavailableError when Redis is away: some may be stored
   * @throws TypeError for a candidate that JSON cannot carry; anything else is judged by the gateway and, if wrong,
   *   becomes an `invalid` outcome
   */
  enqueue(candidates: Iterable<Candidate> | AsyncIterable<Candidate>): Promise<{ count: number }>
  /** What became of candidates; endless unless `wait: false`. Ends by close(), or by leaving the loop. */
  outcomes(options: OutcomesOptions): AsyncGenerator<Delivery, void, undefined>
  /** Forgets a group for good. One that nobody reads any more would keep every outcome stored. */
  removeGroup(group: string): Promise<void>
  /** Ends every loop over outcomes and closes the connections. */
  close(): Promise<void>
}

const CALL_MS = 5_000
/** A reader whose Redis does not answer tries again after this. */
const AGAIN_MS = 500
/** How often a reader looks whether there are more partitions now. */
const LOOK_AGAIN_MS = 2_000

/**
 * @throws FrontierUnavailableError when Redis does not answer
 * @throws FrontierUnfitError when `partitions` is not what the fleet has
 */
export async function openFrontier(options: FrontierOptions): Promise<Frontier> {
  const redis = await connectTo(options.redis)
  try {
    const tags = await tagsOf(redis, options.partitions)
    return frontierOn(redis, tags, options.patienceMs ?? 0)
  } catch (error) {
    redis.disconnect()
    throw error
  }
}

async function tagsOf(redis: RedisLink, wanted: number | undefined): Promise<string[]> {
  const { tags } = await within(
    CALL_MS,
    checkOneServer(redis).then(() => readTags(redis)),
  ).catch((error: unknown) => {
    if (error instanceof LedgerUnfitError) throw new FrontierUnfitError(error.message)
    throw new FrontierUnavailableError(`${PARTITIONS_KEY} could not be read`, error)
  })
  if (tags.length === 0) return partitionTags(wanted ?? 1)
  if (wanted !== undefined && wanted !== tags.length) {
    throw new FrontierUnfitError(`the fleet on this Redis has ${tags.length} partitions, not ${wanted}`)
  }
  return tags
}

function frontierOn(redis: RedisLink, tags: string[], patienceMs: number): Frontier {
  const intake = new Intake(redis, tags, patienceMs)
  const acks = new Acknowledger(redis)
  const closing = new AbortController()

  /** Where outcomes are written, or were before the number of partitions was changed. */
  const streams = async (): Promise<string[]> => {
    const now = await within(CALL_MS, readTags(redis)).catch(() => ({ tags: [], retired: [] }))
    const known = now.tags.length === 0 ? { tags, retired: now.retired } : now
    return [...known.tags, ...known.retired].map((tag) => keysOf(tag).outcomes)
  }

  async function* outcomes(options: OutcomesOptions): AsyncGenerator<Delivery, void, undefined> {
    const { group, consumer = newConsumer(), from = 'start', wait = true } = options
    const held = new Set<string>()
    for (let again = true; again && !closing.signal.aborted; ) {
      const names = await streams()
      const ending = new AbortController()
      const signal = AbortSignal.any([closing.signal, ending.signal])
      again = false
      const watch = setInterval(() => {
        void streams().then((others) => {
          again = others.some((name) => !names.includes(name))
          if (again) ending.abort()
        })
      }, LOOK_AGAIN_MS).unref()
      try {
        // One command reads many streams, but of a cluster only those of one node; and a partition of its own pauses alone.
        const parts = redis.isCluster ? names.map((name) => [name]) : [names]
        const readers = parts.map((part) => readPart(part, { group, consumer, from, wait }, held, signal))
        for await (const delivery of merged(readers)) {
          if (closing.signal.aborted) return
          yield delivery
        }
      } finally {
        clearInterval(watch)
        ending.abort()
      }
    }
  }

  /** Tried until it stands if the reader `wait`s; undefined when it is ended before that. */
  async function ownConnection(wait: boolean, signal: AbortSignal): Promise<RedisLink | undefined> {
    const { promise: ended, resolve: end } = Promise.withResolvers<undefined>()
    signal.addEventListener('abort', () => end(undefined), { once: true })
    while (!signal.aborted) {
      const own = connectTo(redis)
      try {
        const first = await Promise.race([own, ended])
        if (first !== undefined && !signal.aborted) return first
        void own.then((late) => late.disconnect()).catch(() => undefined)
      } catch (error) {
        if (!wait) throw error
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
      }
    }
    return undefined
  }

  async function* readPart(
    part: string[],
    options: Required<OutcomesOptions>,
    held: Set<string>,
    signal: AbortSignal,
  ): AsyncGenerator<Delivery, void, undefined> {
    const own = await ownConnection(options.wait, signal)
    if (own === undefined) return
    // A blocking read ends only when its connection does.
    const cut = (): void => own.disconnect()
    signal.addEventListener('abort', cut)
    try {
      yield* new OutcomeReader(own, acks, part, options, held, signal).read()
    } finally {
      signal.removeEventListener('abort', cut)
      if (!signal.aborted) cut() // a second disconnect would keep a timer of 2 s running
    }
  }

  return {
    tags,
    enqueue: (candidates) => intake.enqueue(candidates),
    outcomes,
    async removeGroup(group) {
      const gone = (await streams()).map((stream) => redis.xgroup('DESTROY', stream, group))
      await within(CALL_MS, Promise.all(gone)).catch((error: unknown) => {
        if (error instanceof Error && /no such key|requires the key to exist/.test(error.message)) return
        throw new FrontierUnavailableError(`the group '${group}' could not be removed`, error)
      })
    },
    async close() {
      closing.abort()
      await Promise.all([acks.idle(), intake.close()])
      redis.disconnect()
    },
  }
}

/** Unlike any other: two readers under one name would each be handed what the other holds. */
const newConsumer = (): string => `${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`
