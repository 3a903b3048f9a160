/** The page at `/failures`: outcomes with a reason, by reason, with the latest examples of each. Pure. */
import type { Note } from '@decorum/ledger'
import { FAILURES, HOLDING_GATES, INVALIDS, REFUSALS } from '@decorum/protocol'
import type { ReasonCount } from '../watch/reasons.ts'
import { count, day, length } from '../words.ts'
import { type Html, html } from './html.ts'
import { type Frame, layout } from './layout.ts'
import { table } from './table.ts'

export type FailuresPageFacts = { reasons: ReasonCount[]; now: number; frame: Frame }

const EXPLAINED: Record<string, Record<string, { means: string; todo: string }>> = {
  failed: FAILURES,
  expired: HOLDING_GATES,
  invalid: INVALIDS,
  refused: REFUSALS,
}

export function failuresPage(facts: FailuresPageFacts): string {
  const body = html`<main><h1>Failures</h1>
<p class="small">What did not end as a page, a redirect or a rule of robots.txt, by reason; the latest ten of each reason, for a day.</p>
<div data-follow="/failures/facts">${failuresFacts(facts)}</div></main>`
  return layout({ title: 'Failures · Decorum', body, frame: facts.frame, place: '/failures' })
}

export function failuresFacts({ reasons, now }: Omit<FailuresPageFacts, 'frame'>): Html {
  if (reasons.length === 0) return html`<p class="none" role="status">Nothing has failed.</p>`
  const rows = reasons.map(({ kind, reason, total, lastHour, examples }) => [
    html`<a href="#${kind}-${reason}">${reason}</a>`,
    html`<span class="chip ${kind}">${kind}</span>`,
    lastHour === undefined ? '–' : count(lastHour),
    count(total),
    examples[0] === undefined ? '–' : `${length(now - examples[0].at)} ago`,
  ])
  const columns = [
    ['Reason', 'name'],
    'Kind',
    ['In the last hour', 'number'],
    ['Since the beginning', 'number'],
    ['Latest', 'number'],
  ] as const
  return html`${table(
    'By reason',
    columns,
    rows,
    reasons.map(({ kind, reason }) => `${kind}/${reason}`),
  )}${reasons.map((one) => section(one))}`
}

function section({ kind, reason, examples, lastHour }: ReasonCount): Html {
  const explained = EXPLAINED[kind]?.[reason]
  const rows = examples.flatMap((note) => row(note))
  const columns = ['When', ['URL', 'long'], 'Agent', 'Answer', ['Detail', 'long']] as const
  return html`<section id="${kind}-${reason}"><h2>${reason}<small>${kind}</small></h2>
<p class="small">${explained?.means ?? ''} ${explained?.todo ?? ''}</p>
${rows.length === 0 ? html`<p class="none">${lastHour === 0 ? 'None within the last hour; examples are kept for a day.' : 'No example is kept: they are written within a second, a bounded number of them.'}</p>` : table(`Examples of ${reason}`, columns, rows)}</section>`
}

function row(note: Note) {
  if (note.what !== 'outcome') return []
  const origin = URL.parse(note.url)?.origin
  const url =
    origin === undefined || origin === 'null'
      ? html`${note.url}`
      : html`<a href="/origins/${encodeURIComponent(origin)}">${note.url}</a>`
  return [[day(note.at), url, note.agent, note.status ?? '–', note.detail ?? '–']]
}
