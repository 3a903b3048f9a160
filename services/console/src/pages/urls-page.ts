/** The page at `/urls`: why a URL, or a candidate by its id, is where it is. Pure. */
import { MAX_URL_CHARS } from '@decorum/protocol'
import type { CandidateStatus } from '../candidate-status.ts'
import { day, length, some } from '../words.ts'
import { type Html, html } from './html.ts'
import { type Frame, layout } from './layout.ts'

export type UrlsPageFacts = {
  asked: string
  found: CandidateStatus[]
  /** what was not looked at, or why the question cannot be read */
  problem?: string
  now: number
  frame: Frame
}

export function urlsPage({ asked, found, problem, now, frame }: UrlsPageFacts): string {
  const body = html`<main><h1>Why a URL is where it is</h1>
<form class="card filter" method="get" action="/urls"><label>URL or id<input name="what" type="text" maxlength="${MAX_URL_CHARS}" value="${asked}" placeholder="https://example.com/page" required></label><button>Look</button></form>
${problem !== undefined && html`<p class="notice" role="status">${problem}</p>`}
${found.map((one) => told(one, now))}</main>`
  return layout({ title: 'Why a URL waits · Decorum', body, frame, place: '/urls' })
}

function told(
  { state, sentence, id, url, agent, before, attempts, why, outcome, expiresAt }: CandidateStatus,
  now: number,
): Html {
  const origin = url === undefined ? undefined : URL.parse(url)?.origin
  const facts: [string, Html | string | undefined][] = [
    ['URL', url],
    ['Id', id],
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
  return html`<section class="headline ${state === 'ended' ? 'calm' : 'polite'}" role="status"><h2>${state}</h2><p>${sentence}</p>
<dl class="facts">${facts.map(([name, value]) => value !== undefined && html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></section>`
}
