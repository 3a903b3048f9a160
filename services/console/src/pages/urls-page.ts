/** The page at `/urls`: search results, and a waiting URL with the button that cancels it. Pure. */
import type { FoundCandidate } from '../find.ts'
import { day, length, some } from '../words.ts'
import { type Html, html } from './html.ts'
import { type Frame, layout } from './layout.ts'

export type UrlsPageFacts = {
  asked: string
  found: FoundCandidate[]
  /** the action just done, an empty result, or a refusal */
  sentence?: string
  /** candidates for the page that was meant */
  origins?: string[]
  now: number
  frame: Frame
}

export function urlsPage({ asked, found, sentence, origins = [], now, frame }: UrlsPageFacts): string {
  const body = html`<main><h1>Find</h1>
${sentence !== undefined && html`<p class="notice" role="status">${sentence}</p>`}
${origins.map((origin) => html`<p><a href="/origins/${encodeURIComponent(origin)}">${origin}</a></p>`)}
${asked === '' && html`<p class="none">The box above takes a URL, a host, or the id of a candidate, and shows where it is and why it waits.</p>`}
${found.map((one) => told(one, asked, now, frame.who?.role !== 'read'))}</main>`
  return layout({ title: 'Find · Decorum', body, frame, asked })
}

function told(one: FoundCandidate, asked: string, now: number, mayAct: boolean): Html {
  const { state, sentence, id, url, agent, before, attempts, why, outcome, expiresAt, crawl } = one
  const origin = url === undefined ? undefined : URL.parse(url)?.origin
  const facts: [string, Html | string | undefined][] = [
    ['URL', url],
    ['Id', id],
    ['Crawl', html`<a href="/crawls/${crawl}">${crawl}</a>`],
    ['Agent', agent],
    ['Before it in its lane', before === undefined ? undefined : some(before, 'URL')],
    ['Requests made for it', attempts === undefined ? undefined : String(attempts)],
    [
      'Its lane',
      why === undefined
        ? undefined
        : `${why.sentence}${why.until === undefined || why.until <= now ? '' : `; for another ${length(why.until - now)}`}`,
    ],
    ['Expires', expiresAt === undefined ? undefined : day(expiresAt)],
    [
      'Ended',
      outcome === undefined
        ? undefined
        : `${day(outcome.at)} as ${outcome.kind}${'reason' in outcome ? `: ${outcome.reason}` : ''}`,
    ],
    ['Rule', outcome?.kind === 'disallowed' ? `line ${outcome.line}: ${outcome.rule}` : undefined],
    [
      'Origin',
      origin === undefined || origin === 'null'
        ? undefined
        : html`<a href="/origins/${encodeURIComponent(origin)}">${origin}</a>`,
    ],
  ]
  const canEnd = mayAct && id !== undefined && (state === 'pending' || state === 'reserved')
  return html`<section class="headline ${state === 'ended' ? 'calm' : 'polite'}" role="status"><h2>${state}</h2><p>${sentence}</p>
<dl class="facts">${facts.map(([name, value]) => value !== undefined && html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>
${canEnd && html`<form method="post" action="/urls"><input type="hidden" name="what" value="${asked}"><input type="hidden" name="id" value="${id}"><input type="hidden" name="url" value="${url ?? ''}"><input type="hidden" name="crawl" value="${crawl}"><button>Cancel this URL</button></form>`}</section>`
}
