/** The summary at the end of a crawl: its outcomes, and where everything is stored. Pure. */
import { length } from '@decorum/console/words'
import { OUTCOME_KINDS } from '@decorum/protocol'
import { some } from '../say.ts'
import type { CliSettings } from '../settings.ts'
import type { Counts } from './tally.ts'

export type Ending = 'finished' | 'interrupted' | 'limit'

export type Summary = {
  ending: Ending
  total: number
  done: number
  left: number
  byKind: Record<string, number>
  byReason: Record<string, number>
  /** duration of this run, ms */
  ms: number
  pagesPerMinute: number
  outcomes: string
  /** a folder, or the address of a store; undefined: no archive was written */
  pages: string | undefined
  /** folder of pages that the store has not received yet; undefined: there is no store */
  pagesWait: string | undefined
  /** where the remaining URLs are stored; undefined when none remain */
  stored: string | undefined
  /** the command that resumes it */
  goOn: string | undefined
  /** the command that abandons it: in a shared Redis its outcomes are kept until then; undefined when there is nothing to do */
  giveUp: string | undefined
}

export type SummaryInput = Pick<Summary, 'ending' | 'ms' | 'outcomes' | 'pages' | 'pagesWait'> & {
  counts: Counts
  /** fetched in this run */
  fetched: number
  stored: string
  goOn: string
  giveUp: string | undefined
}

export function summaryOf({ counts, fetched, stored, goOn, giveUp, ...rest }: SummaryInput): Summary {
  const nothing = { stored: undefined, goOn: undefined, giveUp: undefined }
  return {
    ...rest,
    ...counts,
    left: Math.max(0, counts.total - counts.done),
    pagesPerMinute: rest.ms > 0 ? Math.round((fetched / rest.ms) * 60_000) : 0,
    ...(rest.ending === 'finished' ? nothing : { stored, goOn, giveUp }),
  }
}

type Place = Pick<Summary, 'pages' | 'pagesWait'>
export const NO_PAGES: Place = { pages: undefined, pagesWait: undefined }

/** Where the pages of a crawl are kept. @param folder  the folder that its fetchers write to */
export function placeOfPages({ pageSink, store }: Pick<CliSettings, 'pageSink' | 'store'>, folder: string): Place {
  if (pageSink === 'none') return NO_PAGES
  return pageSink === 's3' ? { pages: store, pagesWait: folder } : { pages: folder, pagesWait: undefined }
}

const ENDINGS: Record<Ending | 'refused', string> = {
  finished: 'Done',
  refused: 'Nothing was requested',
  interrupted: 'Stopped',
  limit: 'Stopped at the limit',
}

/** Whether every URL was refused or invalid, so that nothing was requested. */
export const isAllRefused = ({ total, byKind }: Pick<Summary, 'total' | 'byKind'>): boolean =>
  total > 0 && (byKind.refused ?? 0) + (byKind.invalid ?? 0) === total

export function printSummary(summary: Summary): string {
  const { done, total, left, ms } = summary
  const ending = summary.ending === 'finished' && isAllRefused(summary) ? 'refused' : summary.ending
  const of =
    summary.ending === 'finished'
      ? `${some(total, 'URL')}, each with its outcome`
      : `${done} of ${some(total, 'URL')} ${done === 1 ? 'has its' : 'have their'} outcome`
  const kinds = OUTCOME_KINDS.filter((kind) => summary.byKind[kind] !== undefined)
  const table = kinds.flatMap((kind) => [
    `  ${String(summary.byKind[kind]).padStart(8)}  ${kind}`,
    ...reasonsOf(summary, kind).map(([reason, count]) => `  ${' '.repeat(10)}${String(count).padStart(8)}  ${reason}`),
  ])
  return [
    `${ENDINGS[ending]}: ${of}, in ${length(ms)} (${summary.pagesPerMinute} pages/min).`,
    ...table,
    `  outcomes  ${summary.outcomes}`,
    ...(summary.pages === undefined ? [] : [`  pages     ${summary.pages}${waitIn(summary)}`]),
    ...(summary.stored === undefined ? [] : [`  ${left} left  ${summary.stored}`, `  go on     ${summary.goOn}`]),
    ...(summary.giveUp === undefined ? [] : [`  give up   ${summary.giveUp}`]),
  ].join('\n')
}

const waitIn = ({ pagesWait }: Summary): string =>
  pagesWait === undefined ? '' : `; what it has not taken yet is in ${pagesWait}`

/** Reasons of one kind of outcome with their counts, most frequent first. */
function reasonsOf({ byReason }: Summary, kind: string): [string, number][] {
  return Object.entries(byReason)
    .filter(([key]) => key.startsWith(`${kind}: `))
    .map(([key, count]): [string, number] => [key.slice(kind.length + 2), count])
    .sort((a, b) => b[1] - a[1])
}
