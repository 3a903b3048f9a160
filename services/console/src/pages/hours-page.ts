/** The page at `/hours`: charts of the last hours, with the numbers as text beside each chart. Pure. */
import { OUTCOME_KINDS } from '@decorum/protocol'
import { HISTORY_MINUTES } from '../api/questions.ts'
import type { Column, History } from '../watch/history.ts'
import { count, length } from '../words.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'

const RANGES = [
  [15, '15 minutes'],
  [60, '1 hour'],
  [180, '3 hours'],
  [HISTORY_MINUTES, '6 hours'],
] as const

export function hoursPage({ at, outcomes, statuses, tookMs, ...history }: History): Page {
  const ofAllKinds = at.map((_, n) => sum(OUTCOME_KINDS.map((kind) => outcomes[kind][n] ?? null)))
  const body = html`<h1>The last hours</h1>
<p class="small">One sample per half minute, kept in Redis for six hours. While neither a gateway nor a console ran, there are no samples. Times are UTC. A part of the charts is enlarged by drawing the pointer over it, and a double click shows the whole again; by keyboard, choose a range.</p>
<nav aria-label="Range"><ul>${RANGES.map(
    ([minutes, name]) =>
      html`<li><a href="/hours?minutes=${minutes}"${minutes === at.length && html` aria-current="page"`}>${name}</a></li>`,
  )}</ul></nav>
<div class="charts" data-charts="/v1/history?minutes=${at.length}">
${chart('outcomes', 'Outcomes a minute, by kind', inWords(ofAllKinds, count))}
${chart('statuses', 'Answers a minute, by status code', statusesInWords(statuses))}
${chart('took', 'How long exchanges took', `median: ${inWords(tookMs.half, length)}; 95th percentile: ${inWords(tookMs.most, length)}`)}
${chart('backlog', 'URLs in lanes', inWords(history.waiting, count))}
${chart('flight', 'Leases out and lanes that are due', `out: ${inWords(history.inFlight, count)}; due: ${inWords(history.due, count)}`)}
${chart('lag', 'How late the oldest due lane is', inWords(history.lagMs, length))}
${chart('queues', 'Jobs that wait for a gateway', inWords(history.jobs, count))}
${chart('unread', 'Unread outcomes', inWords(history.unread, count))}
</div>`
  return { title: 'The last hours', body, place: '/hours', charts: true }
}

/** Number of answers by status code in the range, the most frequent first. */
function statusesInWords(statuses: History['statuses']): string {
  const sums = Object.entries(statuses).map(([code, column]) => [code, sum(column.map((n) => n ?? 0)) ?? 0] as const)
  const seen = sums.filter(([, n]) => n >= 0.5).sort((a, b) => b[1] - a[1])
  return seen.map(([code, n]) => `${code}: ${count(n)}`).join(' · ') || 'none yet'
}

const chart = (name: string, title: string, words: string): Html =>
  html`<figure class="chart"><figcaption><b>${title}</b><small>${words}</small></figcaption><div data-chart="${name}"></div></figure>`

function inWords(column: Column, word: (n: number) => string): string {
  const known = column.filter((n) => n !== null)
  const latest = known.at(-1)
  if (latest === undefined) return 'no sample yet'
  return `now ${word(latest)}, least ${word(Math.min(...known))}, most ${word(Math.max(...known))}`
}

/** @returns null when one of the numbers is null */
const sum = (numbers: Column): number | null =>
  numbers.reduce((total, n) => (total === null || n === null ? null : total + n), 0)
