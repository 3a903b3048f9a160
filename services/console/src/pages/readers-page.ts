/** The page at `/readers`: the readers of outcomes, and the unacknowledged outcomes of each. Pure. */
import { isRead, type Reader } from '@decorum/ledger'
import { DEFAULT_CRAWL } from '@decorum/protocol'
import { count, length, some } from '../words.ts'
import { forgetCommand } from './headline.ts'
import { type Html, html } from './html.ts'
import { type Frame, layout } from './layout.ts'
import { table } from './table.ts'

export type ReadersPageFacts = {
  readers: Reader[]
  unread: number
  limit: number
  frame: Frame
  by: string
  /** the action just done, or why not */
  sentence?: string
  failed?: boolean
}

export function readersPage(facts: ReadersPageFacts): string {
  const { readers, frame, by, sentence, failed } = facts
  const body = html`<main><h1>Readers of outcomes</h1>
${sentence !== undefined && html`<p class="notice${failed === true && ' trouble'}" role="status">${sentence}</p>`}
<div data-follow="/readers/facts">${readersFacts(facts)}</div>
${frame.who?.role !== 'read' && readers.length > 0 && forgetForm(readers, by)}</main>`
  return layout({ title: 'Readers · Decorum', body, frame: facts.frame, place: '/readers' })
}

export function readersFacts({ readers, unread, limit }: Pick<ReadersPageFacts, 'readers' | 'unread' | 'limit'>): Html {
  const silent = readers.filter((reader) => !isRead(reader) && reader.lag + reader.pending > 0)
  return html`<p role="status">${some(unread, 'outcome')} lie unread. Dispatch pauses at ${count(limit)} per partition.</p>
${readersTable(readers)}
${silent.map((reader) => html`<p class="small">Nobody reads as <b>${reader.group}</b>. If that is to stay so: <code>${forgetCommand(reader)}</code></p>`)}`
}

/** A group and its crawl in one field: a crawl's name contains no blank. */
const nameOf = ({ crawl, group }: Reader): string => `${crawl} ${group}`
export function readerOf(name: string): { crawl: string; group: string } {
  const [crawl = '', ...group] = name.split(' ')
  return { crawl, group: group.join(' ') }
}

function forgetForm(readers: Reader[], by: string): Html {
  return html`<section class="hand"><h2>Forget a reader<small>outcomes are kept for it no longer</small></h2>
<form class="card" method="post" action="/readers">
<label>Reader<select name="reader">${readers.map(
    (reader) =>
      html`<option value="${nameOf(reader)}">${reader.group}${reader.crawl !== DEFAULT_CRAWL && ` (crawl ${reader.crawl})`}</option>`,
  )}</select></label>
<label>Reason<input name="reason" type="text" required maxlength="512" placeholder="it is written down"></label>
<label>By<input name="by" type="text" maxlength="512" placeholder="${by}" autocomplete="username"></label>
<label class="choice"><input type="checkbox" name="confirm" value="yes" required><b>Yes, forget it</b><small>What it has not acknowledged is dropped, unless another group reads it.</small></label>
<button>Forget</button>
</form></section>`
}

export function readersTable(readers: Reader[]): Html {
  if (readers.length === 0) return html`<p class="none">No consumer group reads. Outcomes are kept until one does.</p>`
  const rows = readers.map((reader) => {
    const { crawl, group, lag, lagIsLeast, pending, oldest, idleMs, consumers, consumerCount } = reader
    const holding = consumers.filter((one) => one.pending > 0).slice(0, 3)
    const names = holding.map(({ name, pending: n, idleMs: ms }) => `${name}: ${count(n)}, ${length(ms)} ago`)
    const [state, word] = isRead(reader)
      ? ['due', 'reading']
      : lag + pending === 0
        ? ['idle', 'has read all']
        : ['late', 'nobody reads']
    return [
      html`${group}<small>${[...(crawl === DEFAULT_CRAWL ? [] : [`crawl ${crawl}`]), ...names].join(' · ')}</small>`,
      html`<span class="chip ${state}">${word}</span>`,
      `${lagIsLeast ? 'over ' : ''}${count(lag)}`,
      count(pending),
      html`${oldest === undefined ? '–' : length(oldest.ageMs)}<small>${oldest?.id ?? ''}</small>`,
      count(consumerCount),
      idleMs === undefined ? '–' : `${length(idleMs)} ago`,
    ]
  })
  const columns = [
    ['Group', 'name'],
    'State',
    ['Not handed out', 'number'],
    ['Not acknowledged', 'number'],
    ['Oldest', 'number'],
    ['Consumers', 'number'],
    ['Heard of', 'number'],
  ] as const
  return table('Readers of outcomes', columns, rows, readers.map(nameOf))
}
