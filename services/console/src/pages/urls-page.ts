/** The page at `/urls`: search results, and a waiting URL with the button that cancels it. Pure. */
import type { FoundCandidate } from '../find.ts'
import { day, length, some } from '../words.ts'
import { done } from './forms.ts'
import { type Html, html, type Piece } from './html.ts'
import { type Frame, layout, mayAct } from './layout.ts'
import { originLink, STATES } from './parts.ts'

export type UrlsPageFacts = {
  requested: string
  found?: FoundCandidate[]
  /** the action just done, an empty result, or a refusal */
  sentence?: string | undefined
  /** candidates for the page that was meant */
  origins?: string[]
  now: number
}

export function urlsPage(frame: Frame, { requested, found = [], sentence, origins = [], now }: UrlsPageFacts): string {
  const body = html`<h1>Find</h1>
${origins.map((origin) => html`<p>${originLink(origin)}</p>`)}
${requested === '' && html`<p class="none">The box above takes a URL, a host, or the id of a candidate, and shows where it is and why it waits.</p>`}
${found.map((one) => cardOf(one, requested, now, mayAct(frame)))}`
  return layout(frame, 'Find', body, { requested, notice: sentence === undefined ? undefined : done(sentence) })
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
