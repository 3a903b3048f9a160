/** What the sites' own record says of a crawl within a window of time. */
import { quantile } from '../frame/figures.ts'
import { latenessOf, timesOf } from '../frame/pace.ts'
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

/** @param window  a visit that began within it counts; ms since 1970 */
export function judge(visits: Visit[], delayMs: number, window: { from: number; to: number }): Judged {
  const inside = visits.filter(({ start, status }) => start >= window.from && start < window.to && status === 200)
  const sites = [...Map.groupBy(inside, ({ site }) => site).values()]
  const times = sites.flatMap((site) => timesOf(site, delayMs) ?? [])
  const sum = (of: (one: (typeof times)[number]) => number): number => times.reduce((all, one) => all + of(one), 0)
  const ratios = times.map(({ permittedMs, takenMs }) => permittedMs / takenMs).toSorted((a, b) => a - b)
  const late = sites.flatMap((site) => latenessOf(site, delayMs)).toSorted((a, b) => a - b)
  return {
    pages: inside.length,
    perSecond: (inside.length / (window.to - window.from)) * 1_000,
    ratios: {
      worst: quantile(ratios, 0),
      p5: quantile(ratios, 0.05),
      p50: quantile(ratios, 0.5),
      all: sum(({ permittedMs }) => permittedMs) / sum(({ takenMs }) => takenMs),
    },
    lateMs: { p50: quantile(late, 0.5), p99: quantile(late, 0.99) },
    early: late.filter((ms) => ms < -ROUNDING_MS).length,
  }
}
