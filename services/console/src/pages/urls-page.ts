/** The page at `/urls`: search results, and a waiting URL with the button that cancels it. */
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import type { Viewer } from '../access/sessions.ts'
import { cancel } from '../api/candidates.ts'
import { CandidatePath, CandidateQuery } from '../api/questions.ts'
import { type FoundCandidate, find } from '../find.ts'
import { day, length, some } from '../words.ts'
import { afterForm, Form, type PageParts, type PageScope, READ, readThen, WRITE } from './answer-page.ts'
import { done } from './forms.ts'
import { type Html, html, type Piece } from './html.ts'
import { mayAct, type Page } from './layout.ts'
import { originLink, originPath, STATES } from './parts.ts'

/** Most URLs that are shown; the same URL may be stored under many ids. */
const SHOWN = 20
const PageQuery = z.object({
  what: z.string().trim().default(''),
  done: z.literal('cancelled').optional().catch(undefined),
})

const CancelForm = CandidateQuery.extend(CandidatePath.shape)

export function addUrls(scope: PageScope, parts: PageParts): void {
  const { ledger, config } = parts
  const { agents } = config
  const show = async (viewer: Viewer, reply: FastifyReply, requested: string, sentence?: string) => {
    const facts = { requested, sentence, now: ledger.wall() }
    if (requested === '') return urlsPage(viewer, facts)
    const keys = agents.list.map(({ key }) => key)
    const answer = await find(ledger, keys, requested)
    if (answer.kind === 'origin') return reply.redirect(originPath(answer.origin), 303)
    if (answer.kind === 'candidates') return urlsPage(viewer, { ...facts, found: answer.found.slice(0, SHOWN) })
    if (answer.wrong) reply.code(400)
    return urlsPage(viewer, { ...facts, origins: answer.origins, sentence: sentence ?? answer.sentence })
  }
  scope.get('/urls', { ...READ, schema: { querystring: PageQuery } }, (request, reply) => {
    const { what, done } = request.query
    return show(request, reply, what, done && 'It was cancelled.')
  })
  scope.post('/urls', { ...WRITE, schema: { body: Form } }, async (request, reply) => {
    const { what = '', id, url, crawl } = request.body
    const given = { id, crawl, url: url || undefined }
    const done = await readThen(CancelForm, given, (wish) => cancel(ledger, agents, wish))
    return afterForm(reply, done, `/urls?done=cancelled&what=${encodeURIComponent(what)}`, ({ message }) =>
      show(request, reply, what, `Not done: ${message}.`),
    )
  })
}

type UrlsPageFacts = {
  requested: string
  found?: FoundCandidate[]
  /** the action just done, an empty result, or a refusal */
  sentence?: string | undefined
  /** origins that may have been meant */
  origins?: string[]
  now: number
}

function urlsPage(viewer: Viewer, { requested, found = [], sentence, origins = [], now }: UrlsPageFacts): Page {
  const body = html`<h1>Find</h1>
${origins.map((origin) => html`<p>${originLink(origin)}</p>`)}
${requested === '' && html`<p class="none">The box above takes a URL, a host, or the id of a candidate, and shows where it is and why it waits.</p>`}
${found.map((one) => cardOf(one, requested, now, mayAct(viewer)))}`
  return { title: 'Find', body, requested, notice: sentence === undefined ? undefined : done(sentence) }
}

function cardOf(one: FoundCandidate, requested: string, now: number, canAct: boolean): Html {
  const { state, sentence, id, url, agent, before, attempts, why, outcome, expiresAt, crawl } = one
  const until = why?.until !== undefined && why.until > now ? `; for another ${length(why.until - now)}` : ''
  const facts: Record<string, Piece> = {
    URL: url,
    Id: id,
    Crawl: html`<a href="/crawls/${crawl}">${crawl}</a>`,
    Agent: agent,
    'Before it in its lane': before === undefined ? undefined : some(before, 'URL'),
    'Requests made for it': attempts,
    'Its lane': why && `${why.sentence}${until}`,
    Expires: expiresAt === undefined ? undefined : day(expiresAt),
    Ended: outcome && `${day(outcome.at)} as ${outcome.kind}${'reason' in outcome ? `: ${outcome.reason}` : ''}`,
    Rule: outcome?.kind === 'disallowed' && `line ${outcome.line}: ${outcome.rule}`,
    Origin: url !== undefined && originLink(URL.parse(url)?.origin ?? ''),
  }
  const tone = state === 'ended' ? 'calm' : why === undefined ? 'polite' : STATES[why.state].tone
  const fields = Object.entries({ what: requested, id, url, crawl })
  return html`<section class="headline ${tone}" role="status"><h2>${state}</h2><p>${sentence}</p>
<dl class="facts">${Object.entries(facts).map(([name, value]) => value !== undefined && value !== false && html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
${
  canAct &&
  id !== undefined &&
  (state === 'pending' || state === 'reserved') &&
  html`<form method="post" action="/urls">${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<button>Cancel this URL</button></form>`
}</section>`
}
