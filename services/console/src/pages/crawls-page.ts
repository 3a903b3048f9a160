/** The pages at `/crawls` and `/crawls/{crawl}`: the work of each crawl, its estimated end, and forms to change it. */
import { type Crawl, type CrawlLimits, MOST_WEIGHT, type Reader } from '@decorum/ledger'
import { DEFAULT_CRAWL } from '@decorum/protocol'
import { z } from 'zod'
import type { Viewer } from '../access/sessions.ts'
import { changeCrawl, forgetCrawl, noSuchCrawl } from '../api/crawls.ts'
import { defaultBy } from '../api/mount.ts'
import { CrawlBody, CrawlPath } from '../api/questions.ts'
import type { Pace } from '../watch/pace.ts'
import { capital, count, day, length, some } from '../words.ts'
import { afterForm, Form, type PageParts, type PageScope, READ, readThen, WRITE } from './answer-page.ts'
import {
  choice,
  done,
  type Fields,
  field,
  notConfirmed,
  notDone,
  type Refused,
  readWhyAndWho,
  whyAndWho,
} from './forms.ts'
import { type Html, html } from './html.ts'
import { mayAct, type Page } from './layout.ts'
import { outcomesByKind } from './outcomes-by-kind.ts'
import { banner, chip, section, type Tone, tile } from './parts.ts'
import { readersTable } from './readers-page.ts'
import { table } from './table.ts'

/** Most crawls in the list. */
const SHOWN = 200
const PageQuery = z.object({
  done: z.enum(['pause', 'resume', 'weight', 'limits', 'cancel']).optional().catch(undefined),
})
const params = CrawlPath

export function addCrawls(scope: PageScope, parts: PageParts): void {
  const { ledger, pace } = parts
  const find = async (name: string) => (await ledger.crawls()).find((crawl) => crawl.name === name)
  const show = async (viewer: Viewer, name: string, more: Partial<CrawlPageFacts>): Promise<Page> => {
    const [crawl, readers] = await Promise.all([find(name), ledger.readers(name)])
    if (crawl === undefined) throw noSuchCrawl(name)
    return crawlPage(viewer, { crawl, readers, pace, ...more })
  }
  scope.get('/crawls', READ, async () => crawlsPage((await ledger.crawls()).slice(0, SHOWN), pace))
  scope.get('/crawls/:crawl', { ...READ, schema: { params, querystring: PageQuery } }, (request) =>
    show(request, request.params.crawl, request.query),
  )
  scope.post('/crawls/:crawl', { ...WRITE, schema: { params, body: Form } }, async (request, reply) => {
    const { crawl } = request.params
    const fields = request.body
    const changed = await change(crawl, fields, defaultBy(request))
    const next = fields.action === 'forget' ? '/crawls' : `/crawls/${crawl}?done=${fields.action}`
    return afterForm(reply, changed, next, (problem) => show(request, crawl, { refused: { problem, fields } }))
  })

  async function change(crawl: string, fields: Fields, by: string): Promise<unknown> {
    if (fields.action === 'forget') return forgetCrawl(ledger, crawl)
    if (fields.action === 'cancel' && fields.confirm !== 'yes') return notConfirmed('this')
    if (crawl !== DEFAULT_CRAWL && (await find(crawl)) === undefined) return noSuchCrawl(crawl)
    return readThen(CrawlBody, crawlChangeOf(fields), (body) => changeCrawl(ledger, crawl, body, by))
  }
}

const STATES: Record<Crawl['record']['state'], { tone: Tone; title: string }> = {
  running: { tone: 'moving', title: 'Running' },
  paused: { tone: 'halted', title: 'Paused' },
  cancelled: { tone: 'calm', title: 'Cancelled' },
  ended: { tone: 'calm', title: 'Ended' },
  spent: { tone: 'calm', title: 'Its bytes are spent' },
}

function crawlsPage(crawls: Crawl[], pace: Pace): Page {
  const body = html`<h1>Crawls</h1><p class="small" role="status">${some(crawls.length, 'crawl')}. Candidates that name no crawl are of the crawl default.</p>
${crawlsTable(crawls, pace)}`
  return { title: 'Crawls', body, place: '/crawls', follow: '/crawls' }
}

const endedOf = ({ counts }: Crawl): number => Object.values(counts).reduce((sum, n) => sum + n, 0)

export function crawlsTable(crawls: Crawl[], pace: Pace): Html {
  const rows = crawls.map((crawl) => {
    const { name, record, waiting, unread } = crawl
    return [
      html`<a href="/crawls/${name}">${name}</a><small>${record.reason}</small>`,
      chip(record.state, STATES[record.state].tone),
      ...[record.weight, waiting, endedOf(crawl), unread].map(count),
      endOf(crawl, pace).short,
    ]
  })
  const columns = {
    Crawl: 'name',
    State: '',
    Weight: 'number',
    'URLs waiting': 'number',
    Outcomes: 'number',
    'Stored outcomes': 'number',
    'Ends in about': 'number',
  } as const
  return table('Crawls', columns, rows, { names: crawls.map(({ name }) => name) })
}

/** The estimated end of a crawl, by its pace of the last minute: `short` for a column. */
export function endOf(
  { name, record, waiting }: Crawl,
  pace: Pace,
): { short: string; sentence: string; perMinute: number | undefined } {
  const perMinute = pace.ofCrawl(name)?.perMinute()
  const notKnown = (sentence: string, short = '–') => ({ short, sentence, perMinute })
  if (waiting === 0) return notKnown('no URL waits')
  if (record.state !== 'running') return notKnown(`none is known while it is ${record.state}`)
  if (perMinute === undefined) return notKnown('none is known yet', '…')
  if (perMinute < 0.1) return notKnown('none: no URL has ended within the last minute')
  const short = length((waiting / perMinute) * 60_000)
  return { short, sentence: 'if it goes on as in the last minute; a site with many URLs may take longer', perMinute }
}

type CrawlPageFacts = {
  crawl: Crawl
  readers: Reader[]
  pace: Pace
  /** the action just done, or the form that was refused */
  done?: string | undefined
  refused?: Refused
}

function crawlPage(viewer: Viewer, facts: CrawlPageFacts): Page {
  const { crawl, readers, pace, refused } = facts
  const { name, record, waiting, unread, counts, bytes } = crawl
  const { short, sentence, perMinute } = endOf(crawl, pace)
  const { tone, title } = STATES[record.state]
  const why =
    record.version === 0 ? '' : ` Changed on ${day(record.at)} by ${record.by}${record.reason && `: ${record.reason}`}.`
  const set = Object.entries({ ...record.limits, ...record.settings })
  const body = html`${banner(tone, html`<small>${name}</small>${title}`, `${some(waiting, 'URL waits', 'URLs wait')}.${why}`)}
${mayAct(viewer) && crawlForm(crawl, viewer, refused)}
<section class="tiles">
${tile('Ends in about', short, sentence)}
${tile('Outcomes a minute', perMinute === undefined ? '…' : count(perMinute), `${count(endedOf(crawl))} since the beginning`)}
${tile('Weight', count(record.weight), 'turns in a lane beside other crawls')}
${tile('Stored outcomes', count(unread), 'until each of its readers has acknowledged them')}
${name === DEFAULT_CRAWL ? tile('Bytes', '–', 'not counted of this crawl') : tile('Bytes', count(bytes), 'of bodies')}
</section>
${outcomesByKind([counts])}
${
  set.length > 0 &&
  section(
    'Limits and settings',
    '',
    table(
      'Limits and settings',
      { Name: 'name', Value: 'long' },
      set.map(([key, value]) => [html`<code>${key}</code>`, String(value)]),
    ),
  )
}
${section('Readers of its outcomes', '', readersTable(readers))}`
  const notice = facts.done === undefined ? undefined : done(`Done: ${facts.done}. It counts for the whole fleet.`)
  return { title: name, body, place: '/crawls', follow: `/crawls/${name}`, notice }
}

/** The limits that a crawl may have, and what each counts. */
const LIMITS = Object.entries(CrawlBody.shape.limits.unwrap().shape).map(([limit, { description = '' }]) => ({
  limit: limit as keyof CrawlLimits,
  description,
}))

/** Buttons are updated with the crawl's state, fields keep what was typed. Enter in a field presses the first button, the harmless one. */
function crawlForm({ name, record, waiting }: Crawl, viewer: Viewer, refused: Refused | undefined): Html {
  const fields: Fields = refused?.fields ?? {}
  const isOver = record.state === 'cancelled' || record.state === 'ended'
  const button = (action: string, label: string, id = action) =>
    html`<button id="${id}" name="action" value="${action}">${label}</button>`
  return html`<section class="hand" aria-label="Actions"><form class="card" method="post" action="/crawls/${name}"><div class="fields" id="fields" data-still>${notDone(refused?.problem)}
${whyAndWho(fields, viewer, false)}
${field('Weight', 'weight', fields.weight ?? record.weight, { type: 'number', min: 1, max: MOST_WEIGHT })}
${choice(html`type="checkbox" name="confirm" value="yes"`, 'Yes, cancel it', 'For good: each URL that waits ends as refused: cancelled.')}</div>
<div class="buttons">${button('weight', 'Set the weight')}${!isOver && (record.state === 'paused' ? button('resume', 'Resume', 'turn') : button('pause', 'Pause', 'turn'))}<details id="limits" data-still${fields.action === 'limits' && html` open`}><summary>Limits</summary>${LIMITS.map(
    ({ limit, description }) =>
      field(capital(description), limit, fields[limit] ?? record.limits?.[limit], { type: 'number', min: 1 }),
  )}<p class="small">A field that is empty sets no limit.</p>${button('limits', 'Set the limits', 'set-limits')}</details>${!isOver && name !== DEFAULT_CRAWL && button('cancel', 'Cancel the crawl')}${waiting === 0 && name !== DEFAULT_CRAWL && button('forget', 'Remove it from the list')}</div>
</form></section>`
}

/** Converts a post of the form to the API's request. */
function crawlChangeOf({ action, weight = '', ...fields }: Fields): object {
  const who = readWhyAndWho(fields)
  if (action === 'weight') return { weight: Number(weight), ...who }
  if (action !== 'limits') return { action, ...who }
  return { limits: Object.fromEntries(LIMITS.map(({ limit }) => [limit, Number(fields[limit]) || null])), ...who }
}
