/** The status of a running crawl: numbers, and the main reason when it makes no progress. Pure. */
import type { Look, Site } from './look.ts'
import type { Counts } from './tally.ts'

export type Status = {
  done: number
  total: number
  /** false while lines are still being read */
  totalKnown: boolean
  waiting: number
  inFlight: number
  /** checked sites in back-off, or with an unreachable robots.txt */
  backingOff: number
  pagesPerMinute: number
  /** from the pace of the last minute and from the slowest origin's delays; undefined before there is one */
  etaMs: number | undefined
  /** set when the crawl is not simply working */
  note: string | undefined
}

export type StatusInput = {
  counts: Counts
  totalKnown: boolean
  look: Look
  /** recent outcomes per minute; undefined before anything is known */
  donePerMinute: number | undefined
  pagesPerMinute: number
}

export function statusOf({ counts, totalKnown, look, donePerMinute, pagesPerMinute }: StatusInput): Status {
  const total = Math.max(counts.total, counts.done)
  const left = total - counts.done
  const seen = look.kind === 'seen'
  const inFlight = seen ? Math.min(look.inFlight, left) : 0
  return {
    done: counts.done,
    total,
    totalKnown,
    waiting: left - inFlight,
    inFlight,
    backingOff: seen ? look.sites.filter(isBackingOff).length : 0,
    pagesPerMinute,
    etaMs: totalKnown && left > 0 ? eta(left, donePerMinute, seen ? look.sites : []) : undefined,
    note: noteOf(look, left, inFlight),
  }
}

const isBackingOff = (site: Site): boolean => site.state === 'backing-off' || site.state === 'no-robots'

/** Estimates no faster than the recent pace, and no faster than the site with most URLs left allows. */
function eta(left: number, donePerMinute: number | undefined, sites: Site[]): number | undefined {
  const byPace = donePerMinute === undefined || donePerMinute < 1 ? undefined : (left / donePerMinute) * 60_000
  const bySilence = Math.max(0, ...sites.map((site) => site.opensInMs + (site.waiting - 1) * site.delayMs))
  if (byPace === undefined) return bySilence > 0 ? bySilence : undefined
  return Math.max(byPace, bySilence)
}

/** A lane that has been due for this long waits for a fetcher, not for politeness. */
function noteOf(look: Look, left: number, inFlight: number): string | undefined {
  if (look.kind === 'blind') return 'Redis does not answer; nothing new is sent until it does'
  if (left === 0) return undefined
  if (look.heldForMs > 0) {
    return `holding all lanes for ${duration(look.heldForMs)}: Redis was restarted, earlier requests may still be out`
  }
  if (inFlight > 0 || look.sites.length === 0 || look.sites.some((site) => site.state === 'open')) return undefined
  const next = look.sites.reduce((a, b) => (b.opensInMs < a.opensInMs ? b : a))
  return `polite, not stalled: the next lane is due in ${duration(next.opensInMs)} (${next.origin}: ${why(next)})`
}

function why(site: Site): string {
  switch (site.state) {
    case 'backing-off':
      return site.failures > 0
        ? 'it turned requests away (403) or did not answer'
        : 'it asked for less (429 or 503) or to wait (Retry-After)'
    case 'no-robots':
      return 'its robots.txt is unreachable'
    case 'paused':
      return 'paused by the operator'
    case 'silent':
    case 'open':
    case 'in-flight': {
      const clamped = site.clampedFrom === undefined ? '' : `, clamped from the site's ${site.clampedFrom} s`
      return `delay of ${duration(site.delayMs)} between requests${clamped}`
    }
    default:
      return site.state satisfies never
  }
}

/** The numbers of a status for display: done first, ETA left out. */
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
  return [...partsOf(status), ...(status.etaMs === undefined ? [] : [`ETA ${duration(status.etaMs)}`])].join(' · ')
}

/** 0.8 s · 12 s · 3 min 20 s · 2 h 5 min · 3 d 4 h */
export function duration(ms: number): string {
  if (ms < 9_950) return `${(Math.ceil(ms / 100) / 10).toFixed(1).replace(/\.0$/, '')} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes} min` : `${minutes} min ${seconds % 60} s`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  return hours % 24 === 0 ? `${hours / 24} d` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}
