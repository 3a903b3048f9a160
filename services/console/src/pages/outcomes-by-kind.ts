/** The number of outcomes of each kind, as one bar and in numbers. Pure. */
import { OUTCOME_KINDS } from '@decorum/protocol'
import { count } from '../words.ts'
import { type Html, html } from './html.ts'
import { section } from './parts.ts'

/** @param all  counts since the beginning, by kind: of all partitions, or of one crawl; other keys are left out */
export function outcomesByKind(all: readonly Record<string, number>[]): Html {
  const sums = OUTCOME_KINDS.map((kind) => ({ kind, n: all.reduce((sum, counts) => sum + (counts[kind] ?? 0), 0) }))
  const total = sums.reduce((sum, { n }) => sum + n, 0)
  let x = 0
  const bars = sums.map(({ kind, n }) => {
    const width = total === 0 ? 0 : (n / total) * 100
    const bar = html`<rect class="${kind}" x="${x.toFixed(3)}" y="0" width="${width.toFixed(3)}" height="6"><title>${kind}: ${count(n)}</title></rect>`
    x += width
    return bar
  })
  return section(
    'Outcomes',
    `${count(total)} since the beginning`,
    html`<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="outcomes by kind">${bars}</svg>
<ul class="legend">${sums.map(({ kind, n }) => html`<li class="${kind}"><i></i>${kind} <b>${count(n)}</b></li>`)}</ul>`,
  )
}
