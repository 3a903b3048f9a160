/**
 * The requests of an origin, lane by lane: a dot at each start, and behind its end a bar for the delay that the lane owed. A bar is red if the
 * next request began before the bar's end. Drawn from the notes of the origin. Pure.
 */
import type { Note } from '@decorum/ledger'
import { clock, count, length, some } from '../words.ts'
import { type Html, html } from './html.ts'

/** One exchange in a lane; instants by Redis's clock, ms. */
export type Request = {
  agent: string
  startedAt: number
  endedAt: number
  /** the delay that the lane owed from its end on, ms */
  owedMs: number
  /** time from its end to the start of the next known exchange, ms; undefined: none is known */
  waitedMs?: number
  what: string
}

/**
 * A wait that is too short by no more than this still counts as kept: the processes of a fleet measure the time of Redis only to about a
 * round trip.
 */
const TOLERATED_MS = 50
/** Length of the time shown: this many times the longest delay, but at least a minute. */
const DELAYS_SHOWN = 25
const LEAST_SHOWN_MS = 60_000
const HEIGHT = 30

export const isShort = ({ owedMs, waitedMs }: Request): boolean =>
  waitedMs !== undefined && waitedMs < owedMs - TOLERATED_MS

/**
 * The exchanges in these notes, the oldest first. An exchange in two notes appears once.
 * @param notes       newest first
 * @param consentMs   the delay that the site has consented to: no more is owed, whatever the sender would have waited
 */
export function requestsOf(notes: readonly Note[], consentMs = Number.POSITIVE_INFINITY): Map<string, Request[]> {
  const found = new Map<string, Request>()
  for (const note of notes) {
    if (note.exchange === undefined) continue
    const { agent, endedAt, ms, owedMs } = note.exchange
    const name = `${agent} ${endedAt}`
    if (found.has(name) && note.what === 'back-off') continue
    found.set(name, {
      agent,
      startedAt: endedAt - ms,
      endedAt,
      owedMs: Math.min(owedMs, consentMs),
      what: whatOf(note),
    })
  }
  const lanes = Map.groupBy(
    [...found.values()].sort((a, b) => a.startedAt - b.startedAt),
    ({ agent }) => agent,
  )
  for (const requests of lanes.values())
    for (const [n, request] of requests.entries()) {
      const next = requests[n + 1]
      if (next !== undefined) request.waitedMs = next.startedAt - request.endedAt
    }
  return lanes
}

function whatOf(note: Note): string {
  switch (note.what) {
    case 'outcome':
      return `${pathOf(note.url)}: ${note.status ?? note.reason ?? note.kind}`
    case 'robots':
      return `/robots.txt: ${note.status ?? note.reason ?? note.answer}`
    case 'back-off':
      return note.cause === 'no-answer' ? 'no answer' : note.cause
    default:
      return 'under a permit'
  }
}
const pathOf = (url: string): string => url.replace(/^[a-z]+:\/\/[^/]*/, '').slice(0, 80)

/** @param now  Redis's clock, ms */
export function timeline(notes: readonly Note[], now: number, consentMs?: number): Html {
  const lanes = requestsOf(notes, consentMs)
  return html`<section class="timeline"><h2>Requests<small>a dot is a request, the bar behind it the delay that is owed; red where the next one came too soon</small></h2>
${
  lanes.size === 0
    ? html`<p class="none">No request is noted.</p>`
    : [...lanes].map(([agent, requests]) => laneLine(agent, requests, now))
}</section>`
}

function laneLine(agent: string, all: Request[], now: number): Html {
  const latest = all.at(-1) as Request
  const span = Math.max(LEAST_SHOWN_MS, DELAYS_SHOWN * Math.max(...all.map(({ owedMs }) => owedMs)))
  const over = latest.endedAt + latest.owedMs
  const to = Math.max(over, now - over > span ? over : now)
  const from = Math.max(to - span, Math.min((all[0] as Request).startedAt, to - LEAST_SHOWN_MS))
  const shown = all.filter(({ startedAt }) => startedAt >= from)
  const x = (at: number): number => Math.min(100, Math.max(0, ((at - from) / (to - from)) * 100))
  const percent = (n: number): string => `${n.toFixed(2)}%`
  const sentence = sentenceOf(shown)
  const marks = shown.map((request) => {
    const { startedAt, endedAt, owedMs, waitedMs, what } = request
    const waited = waitedMs === undefined ? '' : `, waited ${length(waitedMs)}`
    const begun = x(startedAt)
    const ended = x(endedAt)
    return html`<g${isShort(request) && html` class="short"`}><title>${clock(startedAt)} ${what}; took ${length(endedAt - startedAt)}; ${length(owedMs)} owed${waited}</title><rect class="owed" x="${percent(ended)}" y="11" width="${percent(x(endedAt + owedMs) - ended)}" height="8"/><rect class="took" x="${percent(begun)}" y="13.5" width="${percent(ended - begun)}" height="3"/><circle cx="${percent(begun)}" cy="15" r="4"/></g>`
  })
  const present =
    now <= to &&
    html`<line class="present" x1="${percent(x(now))}" x2="${percent(x(now))}" y1="2" y2="${HEIGHT - 2}"><title>now</title></line>`
  return html`<figure class="chart" id="timeline-${agent}"><figcaption><b>${agent}</b><small${shown.some(isShort) && html` class="trouble"`}>${sentence}</small></figcaption>
<svg class="requests" width="100%" height="${HEIGHT}" role="img" aria-label="${agent}: ${sentence}">${present}${marks}</svg>
<p class="axis"><span>${clock(from)}</span><span>${clock(to)}</span></p></figure>`
}

function sentenceOf(shown: Request[]): string {
  const waited = shown.filter((one) => one.waitedMs !== undefined)
  const short = waited.filter(isShort)
  const made = some(shown.length, 'request')
  if (waited.length === 0) return `${made}.`
  const least = waited.reduce((a, b) => ((b.waitedMs ?? 0) - b.owedMs < (a.waitedMs ?? 0) - a.owedMs ? b : a))
  const [waitedFor, owed] = [length(Math.max(0, least.waitedMs ?? 0)), length(least.owedMs)]
  if (short.length === 0)
    return `${made}, none before its delay was over: the closest came after ${waitedFor}, and had to wait ${owed}.`
  return `${made}, ${count(short.length)} before the delay was over: the shortest wait was ${waitedFor} where ${owed} was owed.`
}
