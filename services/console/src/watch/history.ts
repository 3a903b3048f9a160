/** The last hours from the rings of all partitions, as columns for a chart. Pure, except for `readHistory`. */
import { TOOK_AT_MOST, thatAnswer } from '@decorum/ledger'
import type { LedgerWithViews, Sample } from '@decorum/ledger/views'
import { OUTCOME_KINDS } from '@decorum/protocol'
import type { z } from 'zod'
import type { HistoryAnswer } from '../api/answers.ts'

export type History = z.output<typeof HistoryAnswer>
/** One number per instant; null: no sample was taken. */
export type Column = History['waiting']

const MINUTE = 60_000
/** A sample that is older than this at the end of a minute, ms, does not count for that minute. */
const STALE = 120_000

/**
 * @param rings  samples of each partition, newest first
 * @param now    ms since 1970 UTC
 */
export function historyOf(rings: Sample[][], now: number, minutes: number): History {
  const last = Math.floor(now / MINUTE)
  const first = last - minutes + 1
  const at = Array.from({ length: minutes }, (_, n) => (first + n) * 60)
  const known = rings.filter((ring) => ring.length > 0).map((ring) => perMinute(ring, first, minutes))
  const column = (of: (sample: Sample) => number): Column =>
    at.map((_, n) => {
      const samples = known.map((minute) => minute[n + 1])
      if (samples.length === 0 || samples.includes(undefined)) return null
      return samples.reduce((sum, sample) => sum + of(sample as Sample), 0)
    })
  const rate = (name: string): Column =>
    at.map((_, n) => {
      let sum = 0
      if (known.length === 0) return null
      for (const minute of known) {
        const [before, here] = [minute[n], minute[n + 1]]
        if (before === undefined || here === undefined) return null
        // A ledger that was emptied counts from zero again
        sum += Math.max(0, (here.counts[name] ?? 0) - (before.counts[name] ?? 0)) / elapsed(before, here)
      }
      return Math.round(sum * 100) / 100
    })
  const took = TOOK_AT_MOST.map((most) => rate(`ms/${most}`))
  const percentile = (share: number): Column =>
    at.map((_, n) =>
      tookOf(
        took.map((column) => column[n] ?? 0),
        share,
      ),
    )
  return {
    at,
    waiting: column(({ counts }) => (counts.parked ?? 0) - (counts.left ?? 0)),
    due: column(({ due }) => due),
    lanes: column(({ lanes }) => lanes),
    inFlight: column(({ inFlight }) => inFlight),
    unread: column(({ unread }) => unread),
    jobs: column(({ jobs }) => jobs),
    lagMs: column(({ lagMs }) => lagMs),
    outcomes: Object.fromEntries(OUTCOME_KINDS.map((kind) => [kind, rate(kind)])) as History['outcomes'],
    statuses: Object.fromEntries(statusesOf(rings).map((code) => [code, rate(`status/${code}`)])),
    tookMs: { half: percentile(0.5), most: percentile(0.95) },
  }
}

/** Status codes counted in the time of the rings. */
function statusesOf(rings: Sample[][]): string[] {
  const names = rings.flatMap((ring) => Object.keys(ring[0]?.counts ?? {}))
  const codes = names.flatMap((name) => (name.startsWith('status/') ? [name.slice('status/'.length)] : []))
  return [...new Set(codes)].sort()
}

/** The duration, ms, that this share of exchanges did not exceed, interpolated within its class of durations; null: no exchange. */
function tookOf(counts: number[], share: number): number | null {
  const wanted = counts.reduce((sum, n) => sum + n, 0) * share
  if (wanted === 0) return null
  let before = 0
  for (const [n, count] of counts.entries()) {
    const [from, to] = [TOOK_AT_MOST[n - 1] ?? 0, TOOK_AT_MOST[n] ?? 0]
    if (before + count >= wanted) return Math.round(from + ((wanted - before) / count) * (to - from))
    before += count
  }
  return null
}

/** Minutes between two samples; 1 for a single sample, in which nothing happened. */
const elapsed = (before: Sample, here: Sample): number => Math.max(1, (here.at - before.at) / MINUTE)

/** The latest sample before the end of each minute, starting with the minute before the first one. */
function perMinute(ring: Sample[], first: number, minutes: number): (Sample | undefined)[] {
  const ascending = ring.toReversed()
  let next = 0
  let latest: Sample | undefined
  return Array.from({ length: minutes + 1 }, (_, n) => {
    const end = (first + n) * MINUTE
    for (let sample = ascending[next]; sample !== undefined && sample.at < end; sample = ascending[next]) {
      latest = sample
      next += 1
    }
    return latest !== undefined && end - latest.at <= STALE ? latest : undefined
  })
}

export async function readHistory(ledger: LedgerWithViews, minutes: number): Promise<History> {
  const rings = await thatAnswer(ledger.tags.map((_, partition) => ledger.samples(partition, minutes * 2 + 2)))
  return historyOf(rings, ledger.wall(), minutes)
}
