/** The page at `/readers`: who reads outcomes, and what each has not acknowledged. Pure. */
import { isRead, type Reader } from '@decorum/ledger'
import { DEFAULT_CRAWL } from '@decorum/protocol'
import { count, length, some } from '../words.ts'
import { forgetCommand } from './headline.ts'
import { type Html, html } from './html.ts'
import { type Frame, layout } from './layout.ts'
import { table } from './table.ts'

export type ReadersPageFacts = { readers: Reader[]; unread: number; limit: number; frame: Frame }

export function readersPage(facts: ReadersPageFacts): string {
  const body = html`<main><h1>Readers of outcomes</h1><div data-follow="/readers/facts">${readersFacts(facts)}</div></main>`
  return layout({ title: 'Readers · Decorum', body, frame: facts.frame, place: '/readers' })
}

export function readersFacts({ readers, unread, limit }: Omit<ReadersPageFacts, 'frame'>): Html {
  const silent = readers.filter((reader) => !isRead(reader) && reader.lag + reader.pending > 0)
  return html`<p role="status">${some(unread, 'outcome')} lie unread. Dispatch pauses at ${count(limit)} per partition.</p>
${readersTable(readers)}
${silent.map((reader) => html`<p class="small">Nobody reads as <b>${reader.group}</b>. If that is to stay so: <code>${forgetCommand(reader)}</code></p>`)}`
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
  return table('Readers of outcomes', columns, rows)
}
