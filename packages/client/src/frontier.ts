/** A frontier's connection to the fleet: candidates go in, outcomes come out. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeGroup, type RedisLink } from '@decorum/ledger'
import type { Candidate } from '@decorum/protocol'
import { Acknowledger } from './acknowledge.ts'
import { connectTo, within } from './connection.ts'
import { Intake } from './enqueue.ts'
import { FrontierUnavailableError } from './errors.ts'
import { merged } from './merged.ts'
import {
  checkCandidates,
  checkFrontierOptions,
  checkGroup,
  checkOutcomesOptions,
  type FrontierOptions,
} from './options.ts'
import { type Delivery, OutcomeReader, type OutcomesOptions } from './outcomes.ts'
import { LOOK_AGAIN_MS, Partitions } from './partitions.ts'

export type Frontier = {
  /** hash tag of each partition, in order, as far as is known: before a fleet first starts there is one */
  readonly tags: readonly string[]
  /**
   * Stores candidates for the fleet; resolves when Redis has them all. Candidates with an `id` may be sent again: while
   * one is stored, the second is absorbed.
   * @throws FrontierUnavailableError when Redis is away: some may be stored
   * @throws TypeError for what is no array or iterable, or a candidate that JSON cannot carry; anything else is judged by the gateway and, if wrong,
   *   becomes an `invalid` outcome
   */
  enqueue(candidates: Iterable<Candidate> | AsyncIterable<Candidate>): Promise<{ count: number }>
  /**
   * What became of candidates; endless unless `wait: false`. Ends by close(), or by leaving the loop; until then this reader
   * sends heartbeats, however slow the loop is, and keeps the outcomes it was given.
   * @throws TypeError for options that are wrong
   */
  outcomes(options: OutcomesOptions): AsyncGenerator<Delivery, void, undefined>
  /** Forgets a group for good. A group that is no longer read keeps every outcome stored. */
  removeGroup(group: string): Promise<void>
  /** Ends every loop over outcomes and closes the connections. */
  close(): Promise<void>
}

const CALL_MS = 5_000
/** A reader whose Redis does not answer tries again after this. */
const AGAIN_MS = 500

/**
 * @throws TypeError for options that are wrong
 * @throws FrontierUnavailableError when Redis does not answer
 * @throws FrontierUnfitError when `partitions` is not what the fleet has
 */
export async function openFrontier(options: FrontierOptions): Promise<Frontier> {
  checkFrontierOptions(options)
  const redis = await connectTo(options.redis)
  try {
    return frontierOn(redis, await Partitions.read(redis, options.partitions), options.patienceMs ?? 0)
  } catch (error) {
    redis.disconnect()
    throw error
  }
}

function frontierOn(redis: RedisLink, partitions: Partitions, patienceMs: number): Frontier {
  const intake = new Intake(redis, partitions, patienceMs)
  const acks = new Acknowledger(redis)
  const closing = new AbortController()
  let closed: Promise<void> | undefined

  async function* outcomes(options: Required<OutcomesOptions>): AsyncGenerator<Delivery, void, undefined> {
    const held = new Set<string>()
    let started = options.from === 'start'
    for (let again = true; again && !closing.signal.aborted; ) {
      // Whoever waits hears of others later. With `wait: false` a partition that is not known would be passed over.
      await partitions.look().catch((error: unknown) => {
        if (!options.wait) throw error
      })
      const names = partitions.streams
      if (!started) started = await start(names, options)
      const ending = new AbortController()
      const signal = AbortSignal.any([closing.signal, ending.signal])
      again = false
      const watch = setInterval(() => {
        const seen = (): void => {
          again = partitions.streams.some((name) => !names.includes(name))
          if (again) ending.abort()
        }
        partitions.look().then(seen, () => undefined)
      }, LOOK_AGAIN_MS).unref()
      try {
        // One command reads many streams, but of a cluster only those of one node; and a partition of its own pauses alone.
        const parts = redis.isCluster ? names.map((name) => [name]) : [names]
        for await (const batch of merged(parts.map((part) => readPart(part, options, held, signal))))
          for (const delivery of batch) {
            if (closing.signal.aborted) return
            yield delivery
          }
      } finally {
        clearInterval(watch)
        ending.abort()
      }
    }
  }

  /**
   * Decides where a group of `from: 'now'` begins, once for all partitions: which of them it has read before is seen only
   * together. Readers that find it missing later make it again from the start.
   */
  async function start(streams: string[], { group, from, wait }: Required<OutcomesOptions>): Promise<boolean> {
    const make = (): Promise<true> => within(CALL_MS, makeGroup(redis, streams, group, from)).then(() => true)
    return (await untilDone(wait, closing.signal, make)) === true
  }

  async function* readPart(
    part: string[],
    options: Required<OutcomesOptions>,
    held: Set<string>,
    signal: AbortSignal,
  ): AsyncGenerator<Iterable<Delivery>, void, undefined> {
    const own = await untilDone(
      options.wait,
      signal,
      () => connectTo(redis),
      (late) => late.disconnect(),
    )
    if (own === undefined) return
    // A blocking read ends only when its connection does.
    const cut = (): void => own.disconnect()
    signal.addEventListener('abort', cut)
    try {
      yield* new OutcomeReader({ own, shared: redis }, acks, part, options, held, signal).read()
    } finally {
      signal.removeEventListener('abort', cut)
      if (!signal.aborted) cut() // a second disconnect would keep a timer of 2 s running
    }
  }

  /** A group stays where a stream's Redis did not answer: then it is said, and can be asked for again. */
  async function removeGroup(group: string): Promise<void> {
    await partitions.look()
    const gone = partitions.streams.map((stream) => within(CALL_MS, redis.xgroup('DESTROY', stream, group)))
    for (const answer of await Promise.allSettled(gone)) {
      if (answer.status === 'fulfilled' || isMissing(answer.reason)) continue
      throw new FrontierUnavailableError(`the group '${group}' could not be removed`, answer.reason)
    }
  }

  async function close(): Promise<void> {
    closing.abort()
    await Promise.all([acks.idle(), intake.close()])
    redis.disconnect()
  }

  return {
    get tags() {
      return partitions.tags
    },
    async enqueue(candidates) {
      checkCandidates(candidates)
      return intake.enqueue(candidates)
    },
    outcomes(options) {
      checkOutcomesOptions(options)
      const { group, consumer = newConsumer(), from = 'start', wait = true } = options
      return outcomes({ group, consumer, from, wait })
    },
    async removeGroup(group) {
      checkGroup('removeGroup', group)
      await removeGroup(group)
    },
    close() {
      closed ??= close()
      return closed
    },
  }
}

/**
 * Tried again and again where the caller waits; undefined when it was ended before it was done.
 * @param undo  what to do with a result that comes after the end
 */
async function untilDone<T>(
  wait: boolean,
  signal: AbortSignal,
  work: () => Promise<T>,
  undo: (late: T) => void = () => undefined,
): Promise<T | undefined> {
  const { promise: ended, resolve: end } = Promise.withResolvers<undefined>()
  signal.addEventListener('abort', () => end(undefined), { once: true })
  while (!signal.aborted) {
    const done = work()
    try {
      const first = await Promise.race([done, ended])
      if (first !== undefined && !signal.aborted) return first
      void done.then(undo).catch(() => undefined)
    } catch (error) {
      if (!wait) throw error
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
    }
  }
  return undefined
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && /no such key|requires the key to exist/.test(error.message)

/** Unlike any other: two readers under one name would each be handed what the other holds. */
const newConsumer = (): string => `${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`
