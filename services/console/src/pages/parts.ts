/** Parts that several pages have. Pure. */
import type { WaitState } from '../why.ts'
import { type Html, html, type Piece } from './html.ts'

/** calm: nothing to do · moving: pages are fetched · polite: delays are kept · halted: held back · trouble: an operator should act */
export type Tone = 'calm' | 'moving' | 'polite' | 'halted' | 'trouble'

/** The state of a lane as a headline and a chip show it, the strongest first. */
export const STATES: Record<WaitState, { tone: Tone; title: string }> = {
  'startup-hold': { tone: 'halted', title: 'Held' },
  stopped: { tone: 'halted', title: 'Stopped' },
  blocked: { tone: 'halted', title: 'Blocked' },
  paused: { tone: 'halted', title: 'Paused' },
  'back-off': { tone: 'halted', title: 'Backing off' },
  late: { tone: 'trouble', title: 'Late' },
  robots: { tone: 'halted', title: 'Waiting for its robots.txt' },
  'visiting hours': { tone: 'halted', title: 'Outside its visiting hours' },
  budget: { tone: 'halted', title: 'Its requests for today are spent' },
  'in flight': { tone: 'moving', title: 'In flight' },
  due: { tone: 'moving', title: 'Due' },
  delay: { tone: 'polite', title: 'Waiting for its delay' },
  idle: { tone: 'calm', title: 'Nothing waits' },
}

export const chip = (word: string, tone: string): Html => html`<span class="chip ${tone}">${word}</span>`
export const stateChip = (state: WaitState): Html => chip(state, STATES[state].tone)

/** The sentence at the top of a page. */
export const banner = (tone: Tone, title: Piece, sentence: string, more?: Html): Html =>
  html`<section class="headline ${tone}" role="status"><h1>${title}</h1>${more}<p>${sentence}</p></section>`

export const section = (title: string, note: Piece, body: Piece): Html =>
  html`<section><h2>${title}<small>${note}</small></h2>${body}</section>`

export const tile = (label: string, value: string, note: Piece): Html =>
  html`<div class="tile"><h2>${label}</h2><b>${value}</b><small>${note}</small></div>`

export const originPath = (origin: string): string => `/origins/${encodeURIComponent(origin)}`
/** @param url  URL of an origin, or of a page there; any other text is shown without a link */
export function originLink(url: string): Html {
  const origin = URL.parse(url)?.origin
  return origin?.startsWith('http') ? html`<a href="${originPath(origin)}">${url}</a>` : html`${url}`
}
