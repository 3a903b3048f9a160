/** The page at `/hours`: charts of the last hours, with the numbers as text beside each chart. Pure. */
import { OUTCOME_KINDS } from '@decorum/protocol'
import { HISTORY_MINUTES } from '../api/questions.ts'
import type { Column, History } from '../watch/history.ts'
import { count, length } from '../words.ts'
import { type Html, html } from './html.ts'
import { type Frame, layout } from './layout.ts'

export type HoursPageFacts = { history: History; frame: Frame }

export function hoursPage({ history, frame }: HoursPageFacts): string {
  const all = history.at.map((_, n) => sumAt(history, n))
  const minutes = history.at.length
  const { statuses, tookMs } = history
  const body = html`<main><h1>The last hours</h1>
<p class="small">One sample per half minute, kept in Redis for six hours. Where no gateway and no console ran, there is none. Times are UTC. A part of a chart is enlarged by drawing the pointer over it, and a double click shows the whole again.</p>
<nav aria-label="Range"><ul>${RANGES.map(
    ([length, name]) =>
      html`<li><a href="/hours?minutes=${length}"${length === minutes && html` aria-current="page"`}>${name}</a></li>`,
  )}</ul></nav>
<div class="charts" data-charts="/v1/history?minutes=${minutes}">
${chart('outcomes', 'Outcomes a minute, by kind', told(all, count))}
${chart('statuses', 'Answers a minute, by status code', toldStatuses(statuses))}
${chart('took', 'How long exchanges took', `half at most: ${told(tookMs.half, length)}; 95 of 100 at most: ${told(tookMs.most, length)}`)}
${chart('backlog', 'URLs in lanes', told(history.waiting, count))}
${chart('flight', 'Leases out and lanes that are due', `out: ${told(history.inFlight, count)}; due: ${told(history.due, count)}`)}
${chart('lag', 'How late the oldest due lane is', told(history.lagMs, length))}
${chart('queues', 'Jobs that wait for a gateway', told(history.jobs, count))}
${chart('unread', 'Unread outcomes', told(history.unread, count))}
</div></main>`
  return layout({ title: 'The last hours · Decorum', body, frame, place: '/hours', charts: true })
}

const RANGES = [
  [15, '15 minutes'],
  [60, '1 hour'],
  [180, '3 hours'],
  [HISTORY_MINUTES, '6 hours'],
] as const

/** Number of answers by status code in the range, the most frequent first. */
function toldStatuses(statuses: History['statuses']): string {
  const sums = Object.entries(statuses).map(
    ([code, column]) => [code, column.reduce<number>((sum, n) => sum + (n ?? 0), 0)] as const,
  )
  const seen = sums.filter(([, n]) => n >= 0.5).sort((a, b) => b[1] - a[1])
  return seen.length === 0 ? 'none yet' : seen.map(([code, n]) => `${code}: ${count(n)}`).join(' · ')
}

const chart = (name: string, title: string, words: string): Html =>
  html`<figure class="chart"><figcaption><b>${title}</b><small>${words}</small></figcaption><div data-chart="${name}"></div></figure>`

function told(column: Column, word: (n: number) => string): string {
  const known = column.filter((n) => n !== null)
  const latest = known.at(-1)
  if (latest === undefined) return 'no sample yet'
  return `now ${word(latest)}, least ${word(Math.min(...known))}, most ${word(Math.max(...known))}`
}

function sumAt({ outcomes }: History, n: number): number | null {
  const values = OUTCOME_KINDS.map((kind) => outcomes[kind][n] ?? null)
  return values.includes(null) ? null : values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}
