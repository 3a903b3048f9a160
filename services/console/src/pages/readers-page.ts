/** The page at `/readers`: the readers of outcomes, the unacknowledged outcomes of each, and the form that forgets one. */
import { isRead, type Reader } from '@decorum/ledger'
import { DEFAULT_CRAWL } from '@decorum/protocol'
import { z } from 'zod'
import type { Viewer } from '../access/sessions.ts'
import { defaultBy } from '../api/mount.ts'
import { ForgetQuery } from '../api/questions.ts'
import { forget } from '../api/readers.ts'
import { readersOfOthers } from '../watch/crawl-readers.ts'
import { count, length, some } from '../words.ts'
import { afterForm, Form, type PageParts, type PageScope, READ, readThen, WRITE } from './answer-page.ts'
import { confirmation, done, notConfirmed, notDone, readWhyAndWho, select, whyAndWho } from './forms.ts'
import { forgetCommand } from './headline.ts'
import { type Html, html } from './html.ts'
import { mayAct, type Page } from './layout.ts'
import { chip } from './parts.ts'
import { table } from './table.ts'

export function addReaders(scope: PageScope, parts: PageParts): void {
  const { ledger, config } = parts
  const show = async (viewer: Viewer, notice?: Html): Promise<Page> => {
    const [own, unread, crawls] = await Promise.all([
      ledger.readers(DEFAULT_CRAWL),
      ledger.unread(DEFAULT_CRAWL),
      ledger.crawls(),
    ])
    return readersPage(viewer, {
      readers: [...own, ...(await readersOfOthers(ledger, crawls))],
      unread: unread.reduce((sum, n) => sum + n, 0),
      limit: config.outcomesLimit,
      notice,
    })
  }
  const querystring = z.object({ forgotten: z.string().optional() })
  scope.get('/readers', { ...READ, schema: { querystring } }, (request) => {
    const { forgotten } = request.query
    return show(request, forgotten === undefined ? undefined : done(`Forgotten: ${forgotten}.`))
  })
  scope.post('/readers', { ...WRITE, schema: { body: Form } }, async (request, reply) => {
    const { reader, confirm, ...fields } = request.body
    const { crawl, group } = readerOf(reader)
    const given = { crawl, ...readWhyAndWho(fields) }
    const answer =
      confirm === 'yes'
        ? await readThen(ForgetQuery, given, (wish) => forget(ledger, group, wish, defaultBy(request)))
        : notConfirmed('this')
    return afterForm(reply, answer, `/readers?forgotten=${encodeURIComponent(group)}`, (problem) =>
      show(request, notDone(problem)),
    )
  })
}

type ReadersPageFacts = { readers: Reader[]; unread: number; limit: number; notice?: Html | undefined }

function readersPage(viewer: Viewer, { readers, unread, limit, notice }: ReadersPageFacts): Page {
  const silent = readers.filter((reader) => !isRead(reader) && reader.lag + reader.pending > 0)
  const body = html`<h1>Readers of outcomes</h1>
<p role="status">${some(unread, 'outcome lies', 'outcomes lie')} unread. Dispatch pauses at ${count(limit)} per partition.</p>
${readersTable(readers)}
${silent.map((reader) => html`<p class="small">Nobody reads as <b>${reader.group}</b>. If that is to stay so: <code>${forgetCommand(reader)}</code></p>`)}
${mayAct(viewer) && readers.length > 0 && forgetForm(readers, viewer)}`
  return { title: 'Readers', body, place: '/readers', follow: '/readers', notice }
}

/** A group and its crawl in one field: a crawl's name contains no blank. */
const nameOf = ({ crawl, group }: Reader): string => `${crawl} ${group}`
function readerOf(name = ''): { crawl: string; group: string } {
  const [crawl = '', ...group] = name.split(' ')
  return { crawl, group: group.join(' ') }
}

function forgetForm(readers: Reader[], viewer: Viewer): Html {
  const names = readers.map((reader) => {
    const { crawl, group } = reader
    return [nameOf(reader), crawl === DEFAULT_CRAWL ? group : `${group} (crawl ${crawl})`] as const
  })
  return html`<section class="hand" id="forget" data-still><h2>Forget a reader<small>outcomes are kept for it no longer</small></h2>
<form class="card" method="post" action="/readers">
${select('Reader', 'reader', names)}
${whyAndWho({}, viewer)}
${confirmation('Yes, forget it', 'What it has not acknowledged is dropped, unless another group reads it.')}
<button>Forget</button>
</form></section>`
}

export function readersTable(readers: Reader[]): Html {
  const rows = readers.map((reader) => {
    const { crawl, group, lag, lagIsLeast, pending, oldest, idleMs, consumers, consumerCount } = reader
    const holding = consumers.filter((one) => one.pending > 0).slice(0, 3)
    const names = holding.map(({ name, pending: n, idleMs: ms }) => `${name}: ${count(n)}, ${length(ms)} ago`)
    if (crawl !== DEFAULT_CRAWL) names.unshift(`crawl ${crawl}`)
    const state = isRead(reader)
      ? chip('reading', 'moving')
      : lag + pending === 0
        ? chip('has read all', 'calm')
        : chip('nobody reads', 'trouble')
    return [
      html`${group}<small>${names.join(' · ')}</small>`,
      state,
      `${lagIsLeast ? 'over ' : ''}${count(lag)}`,
      count(pending),
      oldest && html`${length(oldest.ageMs)}<small>${oldest.id}</small>`,
      count(consumerCount),
      idleMs === undefined ? undefined : `${length(idleMs)} ago`,
    ]
  })
  const columns = {
    Group: 'name',
    State: '',
    'Not handed out': 'number',
    'Not acknowledged': 'number',
    Oldest: 'number',
    Consumers: 'number',
    'Last seen': 'number',
  } as const
  return table('Readers of outcomes', columns, rows, {
    names: readers.map(nameOf),
    none: 'No consumer group reads. Outcomes are kept until one does.',
  })
}
