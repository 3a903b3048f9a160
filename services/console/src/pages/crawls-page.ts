/** The pages at `/crawls` and `/crawls/{crawl}`: the work of each crawl, its estimated end, and forms to change it. Pure. */
import { type Crawl, MOST_WEIGHT, type Reader } from '@decorum/ledger'
import type { Problem } from '@decorum/runtime/http-api'
import type { Pace } from '../watch/pace.ts'
import { count, day, length, some } from '../words.ts'
import { type Html, html } from './html.ts'
import { type Frame, layout } from './layout.ts'
import type { FormFields } from './origin-forms.ts'
import { outcomesByKind } from './outcomes-by-kind.ts'
import { readersTable } from './readers-page.ts'
import { table } from './table.ts'

export type CrawlsFacts = { crawls: Crawl[]; pace: Pace }

export function crawlsPage({ frame, ...facts }: CrawlsFacts & { frame: Frame }): string {
  const body = html`<main><h1>Crawls</h1><div data-follow="/crawls/facts">${crawlsFacts(facts)}</div></main>`
  return layout({ title: 'Crawls · Decorum', body, frame, place: '/crawls' })
}

export const crawlsFacts = ({ crawls, pace }: CrawlsFacts): Html =>
  html`<p class="small" role="status">${some(crawls.length, 'crawl')}. Candidates that name no crawl are of the crawl default.</p>
${crawlsTable(crawls, pace)}`

const CHIPS = { running: 'due', paused: 'halted', cancelled: 'idle', ended: 'idle', spent: 'idle' } as const
const endedOf = ({ counts }: Crawl): number => Object.values(counts).reduce((sum, n) => sum + n, 0)

export function crawlsTable(crawls: Crawl[], pace: Pace): Html {
  const rows = crawls.map((crawl) => {
    const { name, record, waiting, unread } = crawl
    return [
      html`<a href="/crawls/${name}">${name}</a><small>${record.reason}</small>`,
      html`<span class="chip ${CHIPS[record.state]}">${record.state}</span>`,
      ...[record.weight, waiting, endedOf(crawl), unread].map(count),
      endOf(crawl, pace).short,
    ]
  })
  const columns = [
    ['Crawl', 'name'],
    'State',
    ['Weight', 'number'],
    ['URLs waiting', 'number'],
    ['Outcomes', 'number'],
    ['Stored outcomes', 'number'],
    ['Ends in about', 'number'],
  ] as const
  return table(
    'Crawls',
    columns,
    rows,
    crawls.map(({ name }) => name),
  )
}

/** The estimated end of a crawl, by its pace of the last minute: `short` for a column. */
export function endOf(
  { name, record, waiting }: Crawl,
  pace: Pace,
): { short: string; sentence: string; perMinute?: number } {
  const perMinute = pace.ofCrawl(name)?.perMinute()
  const known = perMinute === undefined ? {} : { perMinute }
  if (waiting === 0) return { short: '–', sentence: 'no URL waits', ...known }
  if (record.state !== 'running') return { short: '–', sentence: `none is known while it is ${record.state}`, ...known }
  if (perMinute === undefined) return { short: '…', sentence: 'none is known yet' }
  if (perMinute < 0.1) return { short: '–', sentence: 'none: no URL has ended within the last minute', ...known }
  const short = length((waiting / perMinute) * 60_000)
  return { short, sentence: 'if it goes on as in the last minute; a site with many URLs may take longer', perMinute }
}

export type CrawlFacts = { crawl: Crawl; readers: Reader[]; pace: Pace }
export type CrawlPageFacts = CrawlFacts & {
  frame: Frame
  /** the operator, if the form does not name one */
  by: string
  done?: string | undefined
  problem?: { problem: Problem; fields: FormFields } | undefined
}

export function crawlPage({ frame, by, done, problem, ...facts }: CrawlPageFacts): string {
  const { crawl } = facts
  const notice =
    done !== undefined && html`<p class="notice" role="status">Done: ${done}. It counts for the whole fleet.</p>`
  const body = html`<main>
${notice}<div data-follow="/crawls/${crawl.name}/facts">${crawlFacts(facts)}</div>
${frame.who?.role === 'read' ? undefined : crawlForms(crawl, by, problem)}</main>`
  return layout({ title: `${crawl.name} · Decorum`, body, frame, place: '/crawls' })
}

const TONES = { running: 'moving', paused: 'halted', cancelled: 'calm', ended: 'calm', spent: 'calm' } as const

export function crawlFacts({ crawl, readers, pace }: CrawlFacts): Html {
  const { name, record, waiting, unread, counts, bytes } = crawl
  const { short, sentence, perMinute } = endOf(crawl, pace)
  const why =
    record.version === 0 ? '' : ` Changed on ${day(record.at)} by ${record.by}${record.reason && `: ${record.reason}`}.`
  const limits = { ...record.limits, ...record.settings }
  const set = Object.entries(limits).map(([key, value]) => [html`<code>${key}</code>`, String(value)])
  return html`<section class="headline ${TONES[record.state]}" role="status"><h1><small>${name}</small>${STATES[record.state]}</h1><p>${some(waiting, 'URL waits', 'URLs wait')}.${why}</p></section>
<section class="tiles">
${tile('Ends in about', short, sentence)}
${tile('Outcomes a minute', perMinute === undefined ? '…' : count(perMinute), `${count(endedOf(crawl))} since the beginning`)}
${tile('Weight', count(record.weight), 'turns in a lane beside other crawls')}
${tile('Stored outcomes', count(unread), 'until each of its readers has acknowledged them')}
${tile('Bytes', name === 'default' ? '–' : count(bytes), name === 'default' ? 'not counted of this crawl' : 'of bodies')}
</section>
${outcomesByKind(counts)}
${
  set.length > 0 &&
  html`<section><h2>Limits and settings</h2>${table(
    'Limits and settings',
    [
      ['Name', 'name'],
      ['Value', 'long'],
    ],
    set,
  )}</section>`
}
<section><h2>Readers of its outcomes</h2>${readersTable(readers)}</section>`
}

const STATES = {
  running: 'Running',
  paused: 'Paused',
  cancelled: 'Cancelled',
  ended: 'Ended',
  spent: 'Its bytes are spent',
} as const
const tile = (label: string, value: string, note: string): Html =>
  html`<div class="tile"><h2>${label}</h2><b>${value}</b><small>${note}</small></div>`

function crawlForms({ name, record, waiting }: Crawl, by: string, failed: CrawlPageFacts['problem']): Html {
  const fields = failed?.fields ?? {}
  const isOver = record.state === 'cancelled' || record.state === 'ended'
  const turn = record.state === 'paused' ? ['resume', 'Resume'] : ['pause', 'Pause']
  return html`<section class="hand"><h2>Actions</h2>
${failed !== undefined && html`<p class="notice trouble" role="alert">Not done: ${failed.problem.message}</p>`}
<form class="card" method="post" action="/crawls/${name}">
<label>Reason<input name="reason" type="text" maxlength="256" value="${fields.reason ?? ''}" placeholder="it is written down"></label>
<label>By<input name="by" type="text" maxlength="256" value="${fields.by ?? ''}" placeholder="${by}" autocomplete="username"></label>
<label>Weight<input name="weight" type="number" min="1" max="${MOST_WEIGHT}" step="1" value="${fields.weight ?? record.weight}"></label>
<div class="buttons">${!isOver && html`<button name="action" value="${turn[0]}">${turn[1]}</button>`}<button name="action" value="weight">Set the weight</button></div>
${!isOver && html`<label class="choice"><input type="checkbox" name="confirm" value="yes"><b>Cancel for good</b><small>Each URL that waits ends as refused: cancelled.</small></label><button name="action" value="cancel">Cancel the crawl</button>`}
${waiting === 0 && name !== 'default' && html`<button name="action" value="forget">Remove it from the list</button>`}
</form></section>`
}

/** Converts a post of the form to the API's request. */
export function crawlChangeOf({ action, weight = '', reason = '', by = '' }: FormFields): object {
  const who = { reason, ...(by.trim() === '' ? {} : { by }) }
  return action === 'weight' ? { weight: Number(weight), ...who } : { action, ...who }
}
