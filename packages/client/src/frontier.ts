/** A frontier's connection to the fleet: candidates go in, outcomes come out. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { forgetReader, makeGroup, type RedisLink } from '@decorum/ledger'
import { aborted, DEFAULT_CRAWL, outcomesKey } from '@decorum/protocol'
import { type Clock, systemClock } from '@decorum/protocol/time'
import { within } from '@decorum/protocol/within'
import { Acknowledger } from './acknowledge.ts'
import { connectTo } from './connection.ts'
import { readDeliveryId } from './delivery-id.ts'
import { intakeTo } from './enqueue.ts'
import { answered, CALL_MS, FrontierUnavailableError } from './errors.ts'
import { fetchersOf } from './fetchers.ts'
import { dataFolder, fleetAt } from './fleet-here/index.ts'
import { Held } from './held.ts'
import { merged } from './merged.ts'
import { checkOptions } from './options.ts'
import { readOutcomes } from './outcomes.ts'
import { Partitions, REREAD_MS } from './partitions.ts'
import { heldBy, sendHeartbeat } from './stream-group.ts'
import type { AcknowledgeOptions, Delivery, Frontier, FrontierOptions, OutcomesOptions, Patience } from './types.ts'

/** Time before a reader retries when Redis does not answer, ms. */
const AGAIN_MS = 500
/** How often a loop that waits for acknowledgements checks Redis, ms: another process may have sent them. */
const CHECK_ACKS_MS = 1_000
/** Entries of one stream that may be assigned to a consumer beyond those that were handed out. */
const GIVEN_AHEAD = 1_000
/** Most ids in one XACK. */
const ACKS_AT_ONCE = 500

type Reading = Required<Omit<OutcomesOptions, 'signal'>>

/**
 * @throws TypeError for options that are wrong
 * @throws FrontierUnavailableError when Redis does not answer, or none is named and no fleet runs here
 * @throws FrontierUnfitError when `partitions` differs from the fleet's number
 */
export async function openFrontier(options: FrontierOptions = {}): Promise<Frontier> {
  checkOptions('openFrontier', options)
  return openWith(options)
}

/** Finds the Redis that a command would use. @throws FrontierUnavailableError when none is named and none runs */
async function redisHere(): Promise<string> {
  const url = process.env.REDIS_URL?.trim() || (await fleetAt(dataFolder(process.env)))?.url
  if (url !== undefined) return url
  throw new FrontierUnavailableError(
    'no fleet is running here',
    "set REDIS_URL to its Redis, or start one with 'decorum up'",
  )
}

/** @param patience  times of a reader, such as when it counts as dead; like the clock, for tests only */
export async function openWith(
  options: FrontierOptions,
  patience?: Partial<Patience>,
  clock = systemClock,
): Promise<Frontier> {
  const redis = await connectTo((options.redis ?? (await redisHere())) as string | RedisLink, clock)
  try {
    return frontierOn(redis, await Partitions.read(redis, options.partitions, clock), options, patience)
  } catch (error) {
    redis.disconnect()
    throw error
  }
}

function frontierOn(
  redis: RedisLink,
  partitions: Partitions,
  { crawl: own = DEFAULT_CRAWL, patienceMs = 0, content = {} }: FrontierOptions,
  patience: Partial<Patience> | undefined,
): Frontier {
  const { clock } = partitions
  const intake = intakeTo(redis, partitions, patienceMs, own)
  const acks = new Acknowledger(redis, clock)
  const reaching = { ...content, clock, ...(content.token !== undefined && { isFetcher: fetchersOf(redis, clock) }) }
  const closing = new AbortController()
  let closed: Promise<void> | undefined

  /** the deliveries that each loop has handed out */
  const loops = new Set<{ group: string; held: Held }>()

  async function* outcomes(options: Reading, ended: AbortSignal): AsyncGenerator<Delivery, void, undefined> {
    const loop = { group: options.group, held: new Held(clock) }
    loops.add(loop)
    try {
      yield* deliveries(options, loop.held, ended)
    } finally {
      loops.delete(loop)
    }
  }

  async function* deliveries(
    options: Reading,
    held: Held,
    ended: AbortSignal,
  ): AsyncGenerator<Delivery, void, undefined> {
    const { crawl, wait, max } = options
    let started = options.from === 'start'
    for (let again = true; again && !ended.aborted;) {
      // Without a refresh, a loop with `wait: true` picks up new partitions later; one with `wait: false` would skip them.
      await partitions.refresh().catch((error: unknown) => {
        if (!wait) throw error
      })
      const names = partitions.streamsOf(crawl)
      if (!started) started = await start(names, options, ended)
      const ending = new AbortController()
      const signal = AbortSignal.any([ended, ending.signal])
      again = false
      const watch = clock
        .interval(() => {
          const seen = (): void => {
            again = partitions.streamsOf(crawl).some((name) => !names.includes(name))
            if (again) ending.abort()
          }
          partitions.refresh().then(seen, () => undefined)
        }, REREAD_MS)
        .unref()
      try {
        // One command reads many streams, but in a cluster only those of one node. There, only streams of unavailable nodes pause.
        const parts = redis.isCluster ? names.map((name) => [name]) : [names]
        for await (const batch of merged(parts.map((part) => readPart(part, options, held, signal))))
          for (const delivery of batch) {
            if (ended.aborted) return
            yield delivery
            if (held.size < max) continue
            if (!wait) return
            await room(names, options, held, ended)
          }
      } finally {
        clock.cancel(watch)
        ending.abort()
      }
    }
  }

  /** Resolves when fewer than `max` deliveries are unacknowledged, whichever process acknowledges them. */
  async function room(
    streams: string[],
    { group, consumer, max }: Reading,
    held: Held,
    ended: AbortSignal,
  ): Promise<void> {
    while (held.size >= max && !ended.aborted) {
      await held.freed(CHECK_ACKS_MS, ended)
      if (held.size < max || ended.aborted) return
      for (const stream of streams) {
        const entries = held.entriesOf(stream)
        if (entries.length === 0) continue
        const left = await within(clock, heldBy(redis, stream, group, consumer, max + GIVEN_AHEAD), CALL_MS).catch(
          () => entries,
        )
        const known = new Set(left)
        for (const entry of entries) if (!known.has(entry)) held.delete(`${stream} ${entry}`)
      }
    }
  }

  /**
   * Decides where a group of `from: 'now'` begins, once for all partitions: only all of them together show which ones the group has
   * read before. If a reader later finds the group missing, it makes the group again from the start.
   */
  async function start(streams: string[], { group, from, wait }: Reading, ended: AbortSignal): Promise<boolean> {
    const make = (): Promise<true> => within(clock, makeGroup(redis, streams, group, from), CALL_MS).then(() => true)
    return (await untilDone(clock, wait, ended, make)) === true
  }

  async function* readPart(
    part: string[],
    options: Reading,
    held: Held,
    signal: AbortSignal,
  ): AsyncGenerator<Iterable<Delivery>, void, undefined> {
    // A blocking read needs its own connection, and stops only when that connection is closed.
    const own = options.wait ? await untilDone(clock, true, signal, () => connectUntil(signal)) : redis
    if (own === undefined) return
    const links = { own, shared: redis }
    yield* readOutcomes({ links, acks, streams: part, options, held, closing: signal, patience, content: reaching })
  }

  /** A connection that is closed when the signal is aborted, even if it is made later. */
  async function connectUntil(signal: AbortSignal): Promise<RedisLink> {
    const own = await connectTo(redis, clock)
    if (signal.aborted) own.disconnect()
    else signal.addEventListener('abort', () => own.disconnect(), { once: true })
    return own
  }

  async function acknowledge({ crawl = own, group, consumer, ids }: AcknowledgeOptions): Promise<number> {
    let count = 0
    const byTag = Map.groupBy(
      ids.flatMap((id) => readDeliveryId(id) ?? []),
      ({ tag }) => tag,
    )
    for (const [tag, some] of byTag) {
      const stream = outcomesKey(tag, crawl)
      for (let at = 0; at < some.length; at += ACKS_AT_ONCE) {
        const entries = some.slice(at, at + ACKS_AT_ONCE).map(({ entry }) => entry)
        count += await answered(clock, 'outcomes could not be acknowledged', redis.xack(stream, group, ...entries))
        for (const loop of loops)
          if (loop.group === group) for (const entry of entries) loop.held.delete(`${stream} ${entry}`)
      }
    }
    if (consumer === undefined) return count
    for (const stream of partitions.streamsOf(crawl))
      await within(clock, sendHeartbeat(redis, [stream], group, consumer), CALL_MS).catch(() => undefined) // the group may not exist
    return count
  }

  /** Where the stream's Redis does not answer, the group remains: the caller gets an error and can repeat the call. */
  async function removeGroup(group: string, crawl: string): Promise<void> {
    await partitions.refresh()
    const forgetting = { crawl, group, by: `a frontier on ${hostname()}`, reason: '', silentForMs: 0 }
    const gone = partitions.allTags.map((tag) => forgetReader(redis, [tag], forgetting))
    await answered(clock, `the group '${group}' could not be removed`, Promise.all(gone))
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
      checkOptions('enqueue', candidates)
      return intake.enqueue(candidates)
    },
    outcomes(options) {
      checkOptions('outcomes', options)
      const { crawl = own, group, consumer = newConsumer(), from = 'start', wait = true } = options
      const { max = Number.POSITIVE_INFINITY, signal } = options
      const ended = signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal])
      return outcomes({ crawl, group, consumer, from, wait, max }, ended)
    },
    async acknowledge(options) {
      checkOptions('acknowledge', options)
      return { count: await acknowledge(options) }
    },
    async createGroup(options) {
      checkOptions('createGroup', options)
      const { group, crawl = own, from = 'start' } = options
      const made = partitions.refresh().then(() => makeGroup(redis, partitions.streamsOf(crawl), group, from))
      await answered(clock, `the group '${group}' could not be made`, made)
    },
    async removeGroup(group, crawl = own) {
      checkOptions('removeGroup', { group, crawl })
      await removeGroup(group, crawl)
    },
    close() {
      closed ??= close()
      return closed
    },
  }
}

/**
 * Does the work, again and again if `wait` is true; undefined: the signal was aborted first, even if `work` is done later.
 */
async function untilDone<T>(
  clock: Clock,
  wait: boolean,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const ended = aborted(signal).then(() => undefined)
  while (!signal.aborted) {
    try {
      return await Promise.race([work(), ended])
    } catch (error) {
      if (!wait) throw error
      await clock.sleep(AGAIN_MS, { signal })
    }
  }
  return undefined
}

/** A unique name: two readers with one name would each receive the other's entries. */
const newConsumer = (): string => `${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`
