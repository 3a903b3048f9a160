/**
 * `openLedger`: the state that the fleet shares, one function per call. The calls are in ledger/, by subject: `journey.ts` has those that
 * carry a URL, `crawls.ts` and `fleet.ts` those that concern all partitions.
 */
import { type Clock, type Deadline, systemClock } from '@decorum/protocol'
import { type CrawlBook, crawlBook } from './crawls/book.ts'
import { crawlCalls, crawlPlaces } from './ledger/crawls.ts'
import { fleetCalls } from './ledger/fleet.ts'
import { journeyCalls } from './ledger/journey.ts'
import { openPartitions, type Partitions } from './ledger/partitions.ts'
import { another, type LinkOptions, linkTo, type RedisLink } from './link.ts'
import { type Notes, notesOf } from './notes.ts'
import { reachRedis } from './reach.ts'
import { defineVerbs } from './scripts.ts'
import type { LedgerOptions, LiveLimits } from './settings.ts'
import type { StopKeeper } from './stops/keeper.ts'
import { followWakes, type Wakes } from './wakes.ts'

/** The calls that are defined in ledger/, and the members of the ledger as a whole. */
export type Ledger = ReturnType<typeof journeyCalls> &
  ReturnType<typeof crawlCalls> &
  ReturnType<typeof fleetCalls> & {
    /** the clock of the process that opened the ledger: time, timers and random numbers of everything that uses the ledger */
    readonly clock: Clock
    readonly tags: string[]
    /**
     * Tags from before the number of partitions was changed, numbered after the others: no host lives there any more, but candidates may
     * come in through their queues, and their streams hold outcomes
     */
    readonly retired: string[]
    /** warnings for the log: settings that work but weaken a promise */
    readonly warnings: string[]
    partitionOf(origin: string): number
    /** the records of crawls as a gateway keeps them; `refresh` updates them */
    readonly crawlBook: CrawlBook
    /** the stops as of the latest reply of a partition */
    readonly stops: Pick<StopKeeper, 'latest' | 'why' | 'hasAddresses'>
    /**
     * This process's estimate of the ledger's time, ms, never ahead of it; from the other partitions while this one has not answered yet.
     * The ledger's time equals Redis's clock until that clock leaps (docs/decisions/0014-a-clock-that-leaps.md). Instants of the ledger
     * are in this time.
     */
    now(partition?: number): number
    /** Redis's own clock, ms: for instants from outside the ledger, such as an expiry or the date in a Retry-After */
    wall(partition?: number): number
    /** calls the listener when a lane becomes due before all other lanes of its partition */
    onWake(listener: (partition: number) => void): Promise<void>
    /** changes limits, which apply from the next call on */
    setLimits(limits: LiveLimits): void
    isReady(): boolean
    close(): Promise<void>
  }

/** Commands fail at once rather than queue, and are not sent again automatically. */
const CONNECTION: LinkOptions = { away: 'fail', lazyConnect: true }

/** @throws LedgerUnfitError when this Redis cannot keep the promises · LedgerUnavailableError when Redis does not answer */
export const openLedger = (options: LedgerOptions): Promise<Ledger> => openLedgerWith(options, () => ({}))

/** Adds calls of another package, over the same partitions. `notes`: undefined when no notes are written */
export type MoreCalls<More> = (partitions: Partitions, notes: Notes | undefined) => More

export async function openLedgerWith<More extends object>(
  options: LedgerOptions,
  more: MoreCalls<More>,
): Promise<Ledger & More> {
  const { clock = systemClock, callDeadlineMs: ms = 2_000 } = options
  const deadline = { clock, ms }
  const own = typeof options.redis === 'string'
  const redis = typeof options.redis === 'string' ? linkTo(options.redis, CONNECTION) : options.redis
  return reachRedis(redis, { deadline, isOwn: own }, () => {
    defineVerbs(redis)
    return compose(redis, own, options, deadline, more)
  })
}

async function compose<More extends object>(
  redis: RedisLink,
  own: boolean,
  options: LedgerOptions,
  deadline: Deadline,
  more: MoreCalls<More>,
): Promise<Ledger & More> {
  const partitions = await openPartitions(redis, options, deadline)
  const { tags, retired, warnings, all, of, placeOf, settings, stops, now, wall } = partitions
  const book = crawlBook(crawlPlaces(partitions))
  // With virtual time the test writes its own notes.
  const isVirtual = options.nowMs !== undefined
  const notes = isVirtual
    ? undefined
    : notesOf(deadline.clock, placeOf, (partition, items, tallies) => of(partition).verbs.note(items, tallies), wall)
  let wakes: Wakes | undefined
  return {
    ...journeyCalls(partitions, book, notes),
    ...crawlCalls(partitions, book),
    ...fleetCalls(partitions),
    ...more(partitions, notes),
    clock: deadline.clock,
    tags,
    retired,
    warnings,
    partitionOf: placeOf,
    crawlBook: book,
    stops,
    now,
    wall,
    async onWake(listener) {
      const places = new Map(all.map(({ keys }, index) => [keys.wake, index]))
      const ring = (channel: string): void => {
        const partition = places.get(channel)
        if (partition !== undefined) listener(partition)
      }
      wakes?.close()
      const open = (): RedisLink => another(redis, { away: 'wait' })
      wakes = followWakes(open, [...places.keys()], ring, { deadline })
      await wakes.tried
    },
    setLimits({ bodies, ...limits }) {
      Object.assign(settings, limits)
      Object.assign(settings.bodies, bodies)
    },
    isReady: () => redis.status === 'ready',
    async close() {
      notes?.close()
      wakes?.close()
      if (own) redis.disconnect()
    },
  }
}
