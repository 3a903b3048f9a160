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
export type Eyes = Pick<
  LedgerWithViews,
  'tags' | 'viewPartition' | 'viewLanes' | 'members' | 'readers' | 'crawls' | 'intake' | 'samples' | 'memory'
>

export type SoonLane = LaneInOrigin & { partition: number }

export type Look =
  | {
      kind: 'seen'
      at: number
      /** the partitions that answer */
      partitions: PartitionView[]
      /** number of partitions that do not: a master of the cluster is unreachable */
      away: number
      lanes: SoonLane[]
      members: Member[]
      /** readers of outcomes of the default crawl, those with most to read first */
      readers: Reader[]
      /** the same for other crawls, by crawl: those with most outcomes stored */
      otherReaders: Reader[]
      /** the default one first */
      crawls: Crawl[]
      /** candidates that wait for a gateway, over all partitions that answer */
      intake: Intake
      recent: Recent
      /** memory of Redis in use, of its maxmemory; with several masters, the fullest one's */
      memoryShare?: number
    }
  | { kind: 'blind'; at: number; why: string }

/**
 * @returns a function that reads the fleet; calls within `freshMs` of each other share one view.
 * An unresponsive ledger gives a special view, not an error: the page is needed most at that moment.
 */
export function looker(eyes: Eyes, freshMs = 1_000): () => Promise<Look> {
  let last: { at: number; look: Promise<Look> } | undefined
  return function look(): Promise<Look> {
    const now = systemClock.monotonic()
    if (last === undefined || now - last.at >= freshMs) last = { at: now, look: takeLook(eyes) }
    return last.look
  }
}

async function takeLook(eyes: Eyes): Promise<Look> {
  const at = systemClock.machine()
  try {
    const [parts, lanes, members, readers, crawls, intakes, memory] = await Promise.all([
      thatAnswer(
        eyes.tags.map(async (_, partition) => {
          const [view, samples] = await Promise.all([eyes.viewPartition(partition), eyes.samples(partition, SAMPLES)])
          return { view, samples }
        }),
      ),
      soonLanes(eyes),
      eyes.members(),
      eyes.readers(DEFAULT_CRAWL),
      eyes.crawls(),
      thatAnswer(eyes.tags.map((_, partition) => eyes.intake(partition))),
      eyes.memory().catch(() => undefined), // a server may refuse INFO
    ])
    const otherReaders = await readersOfOthers(eyes, crawls)
    const partitions = parts.map(({ view }) => view)
    const away = eyes.tags.length - partitions.length
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
    return { kind: 'blind', at, why: error instanceof Error ? error.message : String(error) }
  }
}

/** Lanes in flight whose leases end first, then waiting ones by their due time: two calls per partition. */
async function soonLanes(eyes: Eyes): Promise<SoonLane[]> {
  // Twice as many as are shown: an emptied lane stays listed until its delay is over.
  const perPartition = Math.max(2, Math.ceil((LANES_SHOWN * 2) / eyes.tags.length))
  const listed = await thatAnswer(
    eyes.tags.map(async (_, partition) => {
      const lists = await Promise.all([
        eyes.viewLanes(partition, { order: 'in-flight', limit: Math.ceil(perPartition / IN_FLIGHT_SHARE) }),
        eyes.viewLanes(partition, { order: 'soonest', limit: perPartition }),
      ])
      return lists.flat().map((one) => ({ partition, ...one }))
    }),
  )
  const rank = ({ lane }: SoonLane): number => lane.due ?? 0 // a lane in flight has no due time: first
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
