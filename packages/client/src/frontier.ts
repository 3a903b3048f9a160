/** What a crawl frontier holds in its hand: candidates go in, outcomes come out. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { keysOf, PARTITIONS_KEY } from '@decorum/ledger'
import { type Candidate, partitionTags } from '@decorum/protocol'
import type { Redis } from 'ioredis'
import { Acknowledger } from './acknowledge.ts'
import { connectTo, within } from './connection.ts'
import { Intake } from './enqueue.ts'
import { FrontierUnavailableError, FrontierUnfitError } from './errors.ts'
import { type Delivery, OutcomeReader, type OutcomesOptions } from './outcomes.ts'

export type FrontierOptions = {
  /** URL, or an ioredis instance whose settings are taken over (own connections are made) */
  redis: string | Redis
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

/**
 * @throws FrontierUnavailableError when Redis does not answer
 * @throws FrontierUnfitError when `partitions` is not what the fleet has
 */
export async function openFrontier(options: FrontierOptions): Promise<Frontier> {
  const redis = await connectTo(options.redis)
  try {
    const tags = await readTags(redis, options.partitions)
    return frontierOn(redis, tags, options.patienceMs ?? 0)
  } catch (error) {
    redis.disconnect()
    throw error
  }
}

async function readTags(redis: Redis, wanted: number | undefined): Promise<string[]> {
  const tags = await within(CALL_MS, redis.lrange(PARTITIONS_KEY, 0, -1)).catch((error: unknown) => {
    throw new FrontierUnavailableError(`${PARTITIONS_KEY} could not be read`, error)
  })
  if (tags.length === 0) return partitionTags(wanted ?? 1)
  if (wanted !== undefined && wanted !== tags.length) {
    throw new FrontierUnfitError(`the fleet on this Redis has ${tags.length} partitions, not ${wanted}`)
  }
  return tags
}

function frontierOn(redis: Redis, tags: string[], patienceMs: number): Frontier {
  const intake = new Intake(redis, tags, patienceMs)
  const acks = new Acknowledger(redis)
  const streams = tags.map((tag) => keysOf(tag).outcomes)
  const closing = new AbortController()

  async function* outcomes(options: OutcomesOptions): AsyncGenerator<Delivery, void, undefined> {
    const { group, consumer = newConsumer(), from = 'start', wait = true } = options
    const own = await connectTo(redis)
    // A blocking read ends only when its connection does.
    const cut = (): void => own.disconnect()
    closing.signal.addEventListener('abort', cut)
    try {
      yield* new OutcomeReader(own, acks, streams, { group, consumer, from, wait }, closing.signal).read()
    } finally {
      closing.signal.removeEventListener('abort', cut)
      if (!closing.signal.aborted) cut() // a second disconnect would keep a timer of 2 s running
    }
  }

  return {
    tags,
    enqueue: (candidates) => intake.enqueue(candidates),
    outcomes,
    async removeGroup(group) {
      const gone = streams.map((stream) => redis.xgroup('DESTROY', stream, group))
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
