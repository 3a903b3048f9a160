/** Recent events of an origin, and the rule that decided. Pure. */
import { type Note, toleratedIn } from '@decorum/ledger'
import { TOLERATED } from '@decorum/protocol'
import { day, length, some } from '../words.ts'
import { type Html, html } from './html.ts'
import { table } from './table.ts'

export const CAUSES = {
  'asked-for-less': 'it asked for less (429 or 503)',
  'asked-to-wait': 'it asked to wait',
  'turned-away': 'it turned a request away (403)',
  'no-answer': 'it did not answer',
}

/** @param notes  newest first */
export function originHistory(notes: Note[]): Html {
  const decided = notes.find((note) => note.what === 'outcome' && note.kind === 'disallowed')
  return html`<section><h2>What happened lately<small>the latest 30 notes, kept for three days</small></h2>
${decided?.what === 'outcome' && html`<p class="small">The rule that refused a URL last: <code>${decided.rule ?? ''}</code>, line ${decided.line ?? 0} of its robots.txt, ${day(decided.at)}, for <code>${decided.url}</code>.</p>`}
${overlooked(notes)}
${
  notes.length === 0
    ? html`<p class="none">Nothing is noted. Of a fast crawl only a sample of pages is noted, but all trouble; notes are kept for the 10,000 origins of a partition that had some last.</p>`
    : table('What happened lately', ['When', 'What', ['Details', 'long']], notes.map(row))
}</section>`
}

/** The tolerated faults of its answers. */
function overlooked(notes: Note[]): Html | false {
  const marks = toleratedIn(notes)
  if (marks.length === 0) return false
  const rows = marks.map(([mark, times]) => [html`<code>${mark}</code>`, times, TOLERATED[mark]])
  return html`<p class="small">Faults of its answers that were overlooked, as browsers do, among these notes:</p>
${table('Faults that were overlooked', ['Mark', 'Notes', ['Meaning', 'long']], rows)}`
}

function row(note: Note) {
  return [day(note.at), html`<span class="chip ${chipOf(note)}">${wordOf(note)}</span>`, sentenceOf(note)]
}

const wordOf = (note: Note): string =>
  note.what === 'outcome'
    ? note.kind
    : note.what === 'act'
      ? 'by hand'
      : note.what === 'robots'
        ? 'robots.txt'
        : note.what

const chipOf = (note: Note): string => (note.what === 'outcome' ? note.kind : note.what)

function sentenceOf(note: Note): Html {
  switch (note.what) {
    case 'outcome': {
      const parts = [
        note.reason,
        note.status === undefined ? undefined : `answer ${note.status}`,
        note.rule === undefined ? undefined : `line ${note.line}: ${note.rule}`,
        note.exchange === undefined ? undefined : `took ${length(note.exchange.ms)}`,
        note.tolerated === undefined ? undefined : `overlooked: ${note.tolerated.join(', ')}`,
        note.detail,
      ].filter((part) => part !== undefined)
      return html`<code>${note.url}</code><small>${parts.join(' · ')}</small>`
    }
    case 'back-off': {
      const cause = CAUSES[note.cause].replace(/^i/, 'I')
      const until = note.until === undefined ? '' : `; nothing is asked before ${day(note.until)}`
      const inARow = note.cause === 'asked-for-less' ? (note.incidents ?? 0) : (note.failures ?? 0)
      const times = inARow > 1 ? `, ${some(inARow, 'time')} in a row` : ''
      const wish = note.retryAfterMs === undefined ? '' : `, Retry-After ${length(note.retryAfterMs)}`
      const unread = note.retryAfterUnread
      const garbage = unread === undefined ? '' : `, a Retry-After that cannot be read: '${unread}'`
      return html`${cause}${times}${wish}${garbage}${until}.`
    }
    case 'robots':
      return html`Its robots.txt: ${note.answer}${note.status === undefined ? '' : ` (${note.status})`}${note.reason === undefined ? '' : ` (${note.reason})`}${note.tolerated === undefined ? '' : `; overlooked: ${note.tolerated.join(', ')}`}.${note.detail !== undefined && html`<small>${note.detail}</small>`}`
    case 'request':
      return html`A request under a permit or through the proxy: took ${length(note.exchange?.ms ?? 0)}.`
    case 'act':
      return html`${note.action} by ${note.by}${note.reason === '' ? '' : `: ${note.reason}`}.`
    default:
      return note satisfies never
  }
}
