/**
 * Recent outcomes and intake, from the ledger's samples: the same for the page, for `decorum status`, which reads once, and for the metric
 * behind the alerts.
 */
import type { PartitionView, Sample } from '@decorum/ledger/views'
import { OUTCOME_KINDS } from '@decorum/protocol'

export type Recent = {
  /** outcomes per minute; undefined: no sample is old enough */
  perMinute?: number | undefined
  /** candidates processed by gateways within the last 10 s or longer; undefined: no sample is old enough */
  takenIn?: number | undefined
}

/** A sample is taken every 30 s. */
export const SAMPLES = 4
const LONGEST_MS = 100_000
const PACE_MS = 2_000
const INTAKE_MS = 10_000

type Counts = PartitionView['counts']
export const outcomesOf = (counts: Counts): number => OUTCOME_KINDS.reduce((n, kind) => n + (counts[kind] ?? 0), 0)
/** Each URL that was processed is stored, absorbed, or has an outcome at once. */
const takenInOf = (counts: Counts): number => (counts.parked ?? 0) + (counts.absorbed ?? 0) + outcomesOf(counts)

/** @param seen  the latest samples of each partition that answers, the newest first */
export function recentOf(seen: { view: PartitionView; samples: Sample[] }[]): Recent {
  const paces = seen.map(({ view, samples }) => {
    const before = samples.findLast(({ at }) => isWithin(view.now - at, PACE_MS))
    return before && (since(view, before, outcomesOf) / (view.now - before.at)) * 60_000
  })
  const taken = seen.map(({ view, samples }) => {
    const before = samples.find(({ at }) => isWithin(view.now - at, INTAKE_MS))
    return before && since(view, before, takenInOf)
  })
  return { perMinute: sum(paces), takenIn: sum(taken) }
}

const isWithin = (age: number, least: number): boolean => age >= least && age <= LONGEST_MS

/** Counts that have fallen belong to another Redis, or to one that was flushed. */
const since = (view: PartitionView, before: Sample, of: (counts: Counts) => number): number =>
  Math.max(0, of(view.counts) - of(before.counts))

const sum = (ns: (number | undefined)[]): number | undefined =>
  ns.includes(undefined) ? undefined : ns.reduce<number>((total, n) => total + (n ?? 0), 0)
