/** The status of a running crawl: numbers, and the main reason when it makes no progress. Pure. */

import { length } from '@decorum/console/words'
import type { Counts } from './tally.ts'
import type { CrawlView, Site } from './view.ts'

export type Status = {
  done: number
  total: number
  /** false while lines are still being read */
  totalKnown: boolean
  waiting: number
  inFlight: number
  /** number of checked sites in back-off, or with an unreachable robots.txt */
  backingOff: number
  pagesPerMinute: number
  /** from the pace of the last minute and from the slowest origin's delays; undefined: no estimate yet */
  etaMs: number | undefined
  /** why nothing is requested now; undefined while the crawl makes progress */
  note: string | undefined
}

export type StatusInput = {
  counts: Counts
  totalKnown: boolean
  view: CrawlView
  /** recent outcomes per minute; undefined: not known yet */
  donePerMinute: number | undefined
  pagesPerMinute: number
}

export function statusOf({ counts, totalKnown, view, donePerMinute, pagesPerMinute }: StatusInput): Status {
  const total = Math.max(counts.total, counts.done)
  const left = total - counts.done
  const seen = view.kind === 'seen'
  const inFlight = seen ? Math.min(view.inFlight, left) : 0
  return {
    done: counts.done,
    total,
    totalKnown,
    waiting: left - inFlight,
    inFlight,
    backingOff: seen ? view.sites.filter((site) => site.isBackingOff).length : 0,
    pagesPerMinute,
    etaMs: totalKnown && left > 0 ? eta(left, donePerMinute, seen ? view.sites : []) : undefined,
    note: noteOf(view, left, inFlight),
  }
}

/** Estimates no faster than the recent pace, and no faster than the site with most URLs left allows. */
function eta(left: number, donePerMinute: number | undefined, sites: Site[]): number | undefined {
  const byPace = donePerMinute === undefined || donePerMinute < 1 ? undefined : (left / donePerMinute) * 60_000
  const bySilence = Math.max(0, ...sites.map((site) => site.opensInMs + (site.waiting - 1) * site.delayMs))
  if (byPace === undefined) return bySilence > 0 ? bySilence : undefined
  return Math.max(byPace, bySilence)
}

/** No note on delays while a checked lane is due: its URLs wait for a fetcher, not for politeness. */
function noteOf(view: CrawlView, left: number, inFlight: number): string | undefined {
  if (view.kind === 'unavailable') return 'Redis does not answer; nothing new is sent until it does'
  if (left === 0) return undefined
  if (view.heldForMs > 0) {
    return `holding all lanes for ${length(view.heldForMs)}: Redis was restarted, earlier requests may still be out`
  }
  if (inFlight > 0 || view.sites.length === 0 || view.sites.some(isOpen)) return undefined
  const next = view.sites.reduce((a, b) => (b.opensInMs < a.opensInMs ? b : a))
  return `polite, not stalled: the next lane is due in ${length(next.opensInMs)} (${next.origin}: ${next.why?.sentence})`
}

/** Waits for a fetcher, or for a gateway to take its URLs in, not for politeness. */
const isOpen = ({ why }: Site): boolean => why === undefined || ['due', 'late', 'idle'].includes(why.state)

/** The numbers of a status for display, without the ETA; `done` is first. */
export function partsOf(status: Status): string[] {
  return [
    `${status.done}/${status.total}${status.totalKnown ? '' : '+'} done`,
    `${status.waiting} waiting`,
    `${status.inFlight} in flight`,
    `${status.backingOff} backing off`,
    `${Math.round(status.pagesPerMinute)} pages/min`,
  ]
}

/** All numbers in one line. */
export function sentenceOf(status: Status): string {
  return [...partsOf(status), ...(status.etaMs === undefined ? [] : [`ETA ${length(status.etaMs)}`])].join(' · ')
}
