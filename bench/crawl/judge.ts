/** What the sites' own record says of a crawl within a window of time. */
import type { Visit } from './sites.ts'

export type Judged = {
  pages: number
  perSecond: number
  /** achieved over permitted rate of a site: the worst one, the 5th percentile, the median, and of all sites together */
  ratios: { worst: number; p5: number; p50: number; all: number }
  /** silence kept beyond the delay, ms */
  lateMs: { p50: number; p99: number }
  /** silences shorter than the delay by more than what nginx rounds, and overlaps */
  early: number
}

/** nginx writes times in whole milliseconds, two of them for a silence. */
const ROUNDING_MS = 2

/**
 * Permitted: a site whose answers took s₁…sₙ could have been asked for the last one Σ(sᵢ + delay) after the first, i < n.
 * @param window  a visit that began within it counts; ms since 1970
 */
export function judge(visits: Visit[], delayMs: number, window: { from: number; to: number }): Judged {
  const inside = visits.filter(({ from, status }) => from >= window.from && from < window.to && status === 200)
  const ratios: number[] = []
  const late: number[] = []
  let permittedMs = 0
  let takenMs = 0
  for (const site of Map.groupBy(inside, (visit) => visit.site).values()) {
    const sorted = site.toSorted((a, b) => a.from - b.from)
    const [first, last] = [sorted[0] as Visit, sorted.at(-1) as Visit]
    if (sorted.length < 2) continue
    const permitted = sorted.slice(0, -1).reduce((sum, { from, to }) => sum + to - from + delayMs, 0)
    permittedMs += permitted
    takenMs += last.from - first.from
    ratios.push(permitted / (last.from - first.from))
    for (const [n, { from }] of sorted.slice(1).entries()) late.push(from - (sorted[n] as Visit).to - delayMs)
  }
  const at = (values: number[], share: number): number =>
    values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN
  const byRatio = ratios.toSorted((a, b) => a - b)
  const byLateness = late.toSorted((a, b) => a - b)
  return {
    pages: inside.length,
    perSecond: (inside.length / (window.to - window.from)) * 1_000,
    ratios: { worst: at(byRatio, 0), p5: at(byRatio, 0.05), p50: at(byRatio, 0.5), all: permittedMs / takenMs },
    lateMs: { p50: at(byLateness, 0.5), p99: at(byLateness, 0.99) },
    early: late.filter((ms) => ms < -ROUNDING_MS).length,
  }
}
