/** The number of outcomes of each kind, as one bar and in numbers. Pure. */
import { OUTCOME_KINDS } from '@decorum/protocol'
import { count } from '../words.ts'
import { type Html, html } from './html.ts'

/** @param counts  since the beginning, by kind; other keys are left out */
export function outcomesByKind(counts: Record<string, number>): Html {
  const sums = OUTCOME_KINDS.map((kind) => ({ kind, n: counts[kind] ?? 0 }))
  const all = sums.reduce((n, one) => n + one.n, 0)
  let x = 0
  const bars = sums.map(({ kind, n }) => {
    const width = all === 0 ? 0 : (n / all) * 100
    const bar = html`<rect class="${kind}" x="${x.toFixed(3)}" y="0" width="${width.toFixed(3)}" height="6"><title>${kind}: ${count(n)}</title></rect>`
    x += width
    return bar
  })
  return html`<section><h2>Outcomes<small>${count(all)} since the beginning</small></h2>
<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="outcomes by kind">${bars}</svg>
<ul class="legend">${sums.map(({ kind, n }) => html`<li class="${kind}"><i></i>${kind} <b>${count(n)}</b></li>`)}</ul></section>`
}
