/** The page at `/failures`: outcomes with a reason, by reason, with the latest examples of each. Pure. */
import { EXPLAINED, type ReasonCount } from '../watch/reasons.ts'
import { count, day, length } from '../words.ts'
import { type Html, html, withCode } from './html.ts'
import type { Page } from './layout.ts'
import { chip, originLink } from './parts.ts'
import { table } from './table.ts'

export function failuresPage(reasons: ReasonCount[], now: number): Page {
  const rows = reasons.map(({ kind, reason, total, lastHour, examples: [latest] }) => [
    html`<a href="#${kind}-${reason}">${reason}</a>`,
    chip(kind, kind),
    lastHour === undefined ? undefined : count(lastHour),
    count(total),
    latest && `${length(now - latest.at)} ago`,
  ])
  const body = html`<h1>Failures</h1>
<p class="small">What did not end as a page, a redirect or a rule of robots.txt, by reason; the latest ten of each reason, for a day.</p>
${table(
  'By reason',
  {
    Reason: 'name',
    Kind: '',
    'In the last hour': 'number',
    'Since the beginning': 'number',
    Latest: 'number',
  },
  rows,
  { names: reasons.map(({ kind, reason }) => `${kind}/${reason}`), none: 'Nothing has failed.' },
)}${reasons.map(examplesOf)}`
  return { title: 'Failures', body, place: '/failures', follow: '/failures' }
}

function examplesOf({ kind, reason, examples, lastHour }: ReasonCount): Html {
  const { means, todo } = EXPLAINED[kind][reason] ?? { means: '', todo: '' }
  const rows = examples.flatMap((note) =>
    note.what === 'outcome' ? [[day(note.at), originLink(note.url), note.agent, note.status, note.detail]] : [],
  )
  return html`<section id="${kind}-${reason}"><h2>${reason}<small>${kind}</small></h2>
<p class="small">${withCode(`${means} ${todo}`)}</p>
${table(`Examples of ${reason}`, { When: '', URL: 'long', Agent: '', Answer: '', Detail: 'long' }, rows, {
  shown: 3,
  none:
    lastHour === 0
      ? 'None within the last hour; examples are kept for a day.'
      : 'No example is kept: they are written within a second, a bounded number of them.',
})}</section>`
}
