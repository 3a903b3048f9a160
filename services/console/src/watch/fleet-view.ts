/** The console's view of the fleet: bounded reads, at most once a second for any number of viewers. */
import { type Crawl, type Member, type Reader, thatAnswer } from '@decorum/ledger'
import type { Intake, LaneInOrigin, LedgerWithViews, PartitionView } from '@decorum/ledger/views'
import { DEFAULT_CRAWL, systemClock } from '@decorum/protocol'
import { readersOfOthers } from './crawl-readers.ts'
import { type Recent, recentOf, SAMPLES } from './recent.ts'

/** Lanes shown on the overview, over all partitions. */
export const LANES_SHOWN = 25

/** At most one in three listed lanes is in flight: the waiting ones matter more. */
const IN_FLIGHT_SHARE = 3

/** The parts of the ledger that the console reads. */
export type LedgerViews = Pick<
  LedgerWithViews,
  'tags' | 'viewPartition' | 'viewLanes' | 'members' | 'readers' | 'crawls' | 'intake' | 'samples' | 'memory'
>

export type SoonLane = LaneInOrigin & { partition: number }

export type FleetView =
  | {
      kind: 'seen'
      at: number
      /** the partitions that answer */
      partitions: PartitionView[]
      /** number of partitions that do not answer: a master of the cluster is unreachable */
      away: number
      lanes: SoonLane[]
      members: Member[]
      /** readers of outcomes of the default crawl, those with most to read first */
      readers: Reader[]
      /** readers of other crawls, by crawl; only of the crawls with most outcomes stored */
      otherReaders: Reader[]
      /** the default crawl first */
      crawls: Crawl[]
      /** candidates that wait for a gateway, over all partitions that answer */
      intake: Intake
      recent: Recent
      /** share of maxmemory that Redis uses, 0 to 1; with several masters, that of the fullest */
      memoryShare?: number
    }
  | { kind: 'unavailable'; at: number; why: string }

/**
 * @returns a function that reads the fleet; calls within `freshMs` of each other share one view.
 * An unresponsive ledger gives the view `unavailable`, not an error: the page is needed most at that moment.
 */
export function fleetViewer(ledger: LedgerViews, freshMs = 1_000): () => Promise<FleetView> {
  let last: { at: number; readOnce: Promise<FleetView> } | undefined
  return function readOnce(): Promise<FleetView> {
    const now = systemClock.monotonic()
    if (last === undefined || now - last.at >= freshMs) last = { at: now, readOnce: readFleet(ledger) }
    return last.readOnce
  }
}

async function readFleet(ledger: LedgerViews): Promise<FleetView> {
  const at = systemClock.machine()
  try {
    const [parts, lanes, members, readers, crawls, intakes, memory] = await Promise.all([
      thatAnswer(
        ledger.tags.map(async (_, partition) => {
          const [view, samples] = await Promise.all([
            ledger.viewPartition(partition),
            ledger.samples(partition, SAMPLES),
          ])
          return { view, samples }
        }),
      ),
      soonLanes(ledger),
      ledger.members(),
      ledger.readers(DEFAULT_CRAWL),
      ledger.crawls(),
      thatAnswer(ledger.tags.map((_, partition) => ledger.intake(partition))),
      ledger.memory().catch(() => undefined), // a server may refuse INFO
    ])
    const otherReaders = await readersOfOthers(ledger, crawls)
    const partitions = parts.map(({ view }) => view)
    const away = ledger.tags.length - partitions.length
    return {
      kind: 'seen',
      at,
      partitions,
      away,
      lanes,
      members,
      readers,
      otherReaders,
      crawls,
      intake: summed(intakes),
      recent: recentOf(parts),
      ...(memory === undefined ? {} : { memoryShare: memory.share }),
    }
  } catch (error) {
    return { kind: 'unavailable', at, why: error instanceof Error ? error.message : String(error) }
  }
}

/** Lanes in flight whose leases end first, then waiting ones by their due time: two calls per partition. */
async function soonLanes(ledger: LedgerViews): Promise<SoonLane[]> {
  // Twice as many as are shown: an emptied lane stays listed until its delay is over.
  const perPartition = Math.max(2, Math.ceil((LANES_SHOWN * 2) / ledger.tags.length))
  const listed = await thatAnswer(
    ledger.tags.map(async (_, partition) => {
      const lists = await Promise.all([
        ledger.viewLanes(partition, { order: 'in-flight', limit: Math.ceil(perPartition / IN_FLIGHT_SHARE) }),
        ledger.viewLanes(partition, { order: 'soonest', limit: perPartition }),
      ])
      return lists.flat().map((one) => ({ partition, ...one }))
    }),
  )
  const rank = ({ lane }: SoonLane): number => lane.due ?? 0 // a lane in flight has no due time, and comes first
  return listed
    .flat()
    .filter(({ lane }) => lane.state !== 'idle')
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, LANES_SHOWN)
}

/** Sums up the queues of several partitions. */
export function summed(intakes: Intake[]): Intake {
  const ages = intakes.flatMap(({ oldestMs }) => (oldestMs === undefined ? [] : [oldestMs]))
  return {
    jobs: intakes.reduce((n, { jobs }) => n + jobs, 0),
    urls: intakes.reduce((n, { urls }) => n + urls, 0),
    isEstimate: intakes.some(({ isEstimate }) => isEstimate),
    paused: [...new Set(intakes.flatMap(({ paused }) => paused))],
    ...(ages.length === 0 ? {} : { oldestMs: Math.max(...ages) }),
  }
}
