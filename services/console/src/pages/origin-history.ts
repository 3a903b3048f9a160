/** Recent events of an origin, and the rule that refused a URL last. Pure. */
import { type Note, toleratedIn } from '@decorum/ledger'
import { TOLERATED } from '@decorum/protocol'
import { BACK_OFF_CAUSES } from '../why.ts'
import { day, length, some } from '../words.ts'
import { type Html, html } from './html.ts'
import { chip, section } from './parts.ts'
import { table } from './table.ts'

/** @param notes  newest first */
export function originHistory(notes: Note[]): Html {
  const decided = notes.find((note) => note.what === 'outcome' && note.kind === 'disallowed')
  return section(
    'What happened lately',
    'the latest 30 notes, kept for three days',
    html`${decided?.what === 'outcome' && html`<p class="small">The rule that refused a URL last: <code>${decided.rule ?? ''}</code>, line ${decided.line ?? 0} of its robots.txt, ${day(decided.at)}, for <code>${decided.url}</code>.</p>`}
${overlooked(notes)}
${table(
  'What happened lately',
  { When: '', What: '', Details: 'long' },
  notes.map((note) => {
    const [word, tone] = note.what === 'outcome' ? [note.kind, note.kind] : WORDS[note.what]
    return [day(note.at), chip(word, tone), sentenceOf(note)]
  }),
  {
    shown: 8,
    none: 'Nothing is noted. Of a fast crawl only a sample of pages is noted, but all trouble; notes are kept for the 10,000 origins of a partition that had some last.',
  },
)}`,
  )
}

/** The tolerated faults of its answers. */
function overlooked(notes: Note[]): Html | false {
  const marks = toleratedIn(notes)
  if (marks.length === 0) return false
  const rows = marks.map(([mark, times]) => [html`<code>${mark}</code>`, times, TOLERATED[mark]])
  return html`<p class="small">Faults of its answers that were overlooked, as browsers do, among these notes:</p>
${table('Faults that were overlooked', { Mark: '', Notes: '', Meaning: 'long' }, rows)}`
}

const WORDS: Record<Exclude<Note['what'], 'outcome'>, [word: string, tone: string]> = {
  'back-off': ['back-off', 'halted'],
  robots: ['robots.txt', 'halted'],
  request: ['request', 'calm'],
  act: ['by hand', 'moving'],
}

function sentenceOf(note: Note): Html {
  switch (note.what) {
    case 'outcome': {
      const parts = [
        note.reason,
        note.status && `answer ${note.status}`,
        note.rule && `line ${note.line}: ${note.rule}`,
        note.exchange && `took ${length(note.exchange.ms)}`,
        note.tolerated && `overlooked: ${note.tolerated.join(', ')}`,
        note.detail,
      ]
      return html`<code>${note.url}</code><small>${parts.filter(Boolean).join(' · ')}</small>`
    }
    case 'back-off': {
      const { cause, incidents = 0, failures = 0, retryAfterMs, retryAfterUnread: unread, until } = note
      const inARow = cause === 'asked-for-less' ? incidents : failures
      return html`It ${BACK_OFF_CAUSES[cause]}${inARow > 1 && `, ${some(inARow, 'time')} in a row`}${
        retryAfterMs !== undefined && `, Retry-After ${length(retryAfterMs)}`
      }${unread !== undefined && `, a Retry-After that cannot be read: '${unread}'`}${
        until !== undefined && `; nothing is requested before ${day(until)}`
      }.`
    }
    case 'robots': {
      const { answer, status, reason, tolerated, detail } = note
      return html`Its robots.txt: ${answer}${status !== undefined && ` (${status})`}${reason !== undefined && ` (${reason})`}${
        tolerated && `; overlooked: ${tolerated.join(', ')}`
      }.${detail !== undefined && html`<small>${detail}</small>`}`
    }
    case 'request':
      return html`A request under a permit or through the proxy: took ${length(note.exchange?.ms ?? 0)}.`
    case 'act':
      return html`${note.action} by ${note.by}${note.reason !== '' && `: ${note.reason}`}.`
    default:
      return note satisfies never
  }
}
