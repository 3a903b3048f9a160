/** The views and operations of operators: lanes, origins, partitions, and the search for a candidate. */

import type { Outcome } from '@decorum/protocol'
import { DEFAULT_CRAWL } from '@decorum/protocol'
import { type Cancelled, EVERYTHING, type LaneRef, stopsInForce, thatAnswer } from '../index.ts'
import { answersOf, KEPT, type Note, type Notes, type Partitions } from '../stored.ts'
import { dropPending } from './drop-pending.ts'
import { type FoundPending, findInJobs, findOutcome, findPending } from './find-candidate.ts'
import { areStored, type Intake, intakeOf, laterTargets, waitingForIntake } from './intake.ts'
import { listOperations, operate } from './operate.ts'
import type {
  ClosedList,
  LaneList,
  LaneScan,
  Operation,
  OperationRecord,
  PartitionView,
  PendingUrl,
  Sample,
  WantedCandidate,
} from './types.ts'
import { viewLanes } from './view-lanes.ts'
import { scanLanes, viewClosed } from './view-names.ts'
import { viewOrigin } from './view-origin.ts'
import { viewPartition } from './view-partition.ts'

/** @param notes  undefined: no notes are written */
export function operatorCalls(partitions: Partitions, notes: Notes | undefined) {
  const { redis, tags, all, active, of, ofOrigin, placeOf, deadline, timed, wall, stops } = partitions
  return {
    viewOrigin: (origin: string, agents: string[]) => viewOrigin(ofOrigin(origin).scripts, origin, agents),
    /** A bounded number of lanes in order; a lane without URLs is listed until its delay is over. */
    viewLanes: (partition: number, list: LaneList) => viewLanes(of(partition).scripts, list),
    viewPartition(partition: number): Promise<PartitionView> {
      const viewed = viewPartition(of(partition).scripts, tags[partition] as string)
      return viewed.then((view) => {
        const stop = stopsInForce(stops.known, wall()).find(({ name }) => name === EVERYTHING)
        return stop === undefined ? view : { ...view, stopped: stop.reason }
      })
    },
    /**
     * Origins that a gate holds, by when it opens, each with its lane of each agent; `looked`: number of entries read, including other
     * domains.
     */
    viewClosed: (partition: number, list: ClosedList, agents: string[]) =>
      viewClosed(of(partition).scripts, list, agents),
    /** Lanes with URLs of one domain, among about five thousand that are read; the cursor '0' means that those were the last. */
    scanLanes: (partition: number, scan: LaneScan) => scanLanes(of(partition).scripts, scan),
    /** Recent notes of an origin, newest first: at most 30 notes, kept for three days, for 10,000 origins of each partition. */
    async notesOf(origin: string): Promise<Note[]> {
      const key = ofOrigin(origin).keys.notes(origin)
      const texts = await timed(redis.lrange(key, 0, KEPT.notes - 1), 'notes')
      return texts.map((text) => JSON.parse(text) as Note)
    },
    /** The latest examples of outcomes with each of these reasons (`countedAs`), newest first: at most 10 of each, kept for a day. */
    async examples(partition: number, reasons: readonly string[]): Promise<Note[][]> {
      const { keys } = of(partition)
      const pipeline = redis.pipeline()
      for (const reason of reasons) pipeline.lrange(keys.examples(reason), 0, KEPT.examples - 1)
      const lists = (await answersOf(pipeline, deadline, 'examples')) as string[][]
      return lists.map((texts) => texts.map((text) => JSON.parse(text) as Note))
    },
    /** Samples of the partition in the last hours, newest first. */
    async samples(partition: number, most: number): Promise<Sample[]> {
      const texts = await timed(redis.lrange(of(partition).keys.ring, 0, Math.min(most, KEPT.samples) - 1), 'samples')
      return texts.map((text) => JSON.parse(text) as Sample)
    },
    operate(operation: Operation, agents: string[]): Promise<void> {
      const { scripts, closings } = ofOrigin(operation.origin)
      return closings.operate({ origin: operation.origin, write: () => operate(scripts, operation, agents) })
    },
    /** Operations, newest first. A retired partition keeps those from before its hosts moved. */
    operations: (partition: number, most: number): Promise<OperationRecord[]> =>
      listOperations(redis, of(partition).keys, most, deadline),
    /** Ends the pending URLs of a lane. @returns how many */
    dropBacklog: (lane: LaneRef, by: string, reason: string, signal?: AbortSignal): Promise<number> =>
      dropPending({ clock: deadline.clock, ...ofOrigin(lane.origin) }, lane, by, reason, signal),
    /** Candidates that no gateway has stored in lanes yet. */
    intake: (partition: number): Promise<Intake> => intakeOf(redis, of(partition).keys, wall(partition), deadline),
    /** Jobs of candidates and targets of redirects that no gateway has stored in lanes yet, retired partitions included. */
    async waitingForIntake(): Promise<number> {
      const counts = all.map(({ keys }) => waitingForIntake(redis, keys, deadline))
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
    },
    /** Redirect targets that wait for the Retry-After of their redirect, in all partitions: the `targetName` of each. */
    async laterTargets(): Promise<Set<string>> {
      const found = await Promise.all(all.map(({ keys }) => timed(laterTargets(redis, keys), 'laterTargets')))
      return new Set(found.flat())
    },
    /** Whether one of the oldest jobs of candidates of a partition holds the candidate; `complete`: no other jobs exist. */
    findInJobs: (
      partition: number,
      wanted: { id?: string; url?: string; crawl?: string },
    ): Promise<{ found: boolean; complete: boolean }> =>
      timed(findInJobs(redis, of(partition).keys, wanted), 'findInJobs'),
    /**
     * The places of a candidate in its lane, in the order in which URLs are fetched; the same URL may be there under several ids.
     * @param most  number of URLs that are searched; the default takes Redis about a millisecond
     */
    findPending: (lane: LaneRef, wanted: WantedCandidate, most?: number): Promise<FoundPending> =>
      timed(findPending(redis, ofOrigin(lane.origin).keys, lane, wanted, most), 'findPending'),
    /** The outcome of a candidate, if it is among the latest of a crawl in this partition. */
    findOutcome: (
      partition: number,
      crawl: string,
      wanted: { id?: string; url?: string },
    ): Promise<Outcome | undefined> => timed(findOutcome(redis, of(partition).keys, crawl, wanted), 'findOutcome'),
    /** The partitions in which a candidate of this id is stored; ids that a gateway has assigned are not found there. */
    async storedIn(id: string, crawl = DEFAULT_CRAWL): Promise<number[]> {
      const found = await thatAnswer(
        active.map(async ({ keys }, partition) => {
          const [isStored] = await areStored(redis, keys, [{ id, crawl }], deadline)
          return isStored === true ? partition : -1
        }),
      )
      return found.filter((partition) => partition >= 0)
    },
    /** For each candidate, whether one of its id is stored: pending, or in flight. Each partition needs one pipeline. */
    async areStored(candidates: readonly { origin: string; id: string; crawl?: string }[]): Promise<boolean[]> {
      const byPartition = Map.groupBy(candidates.keys(), (at) => placeOf(candidates[at]?.origin ?? ''))
      const found: boolean[] = []
      for (const [partition, places] of byPartition) {
        const ids = places.map((at) => candidates[at] ?? { id: '' })
        const stored = await areStored(redis, of(partition).keys, ids, deadline)
        for (const [n, at] of places.entries()) found[at] = stored[n] === true
      }
      return found
    },
    /** Ends a pending URL with this outcome, in one step: also a reserved one, but none whose request may have been sent. */
    async cancel(url: PendingUrl, outcome: Outcome): Promise<Cancelled> {
      const [result = 'absent'] = await ofOrigin(url.origin).verbs.cancel(url, [{ entry: url.entry, outcome }])
      if (result === 'cancelled') notes?.outcome(outcome, url.origin)
      return result
    },
  }
}
