/** The page at `/origins`: origins by state, reason and domain, page by page. Pure. */
import { GATES } from '@decorum/protocol'
import type { OriginList } from '../api/list-origins.ts'
import { dueIn, WAIT_STATES } from '../why.ts'
import { count, length, some } from '../words.ts'
import { type Html, html } from './html.ts'
import { type Frame, layout } from './layout.ts'
import { table } from './table.ts'

/** The query of the address: text by name. */
export type OriginsAsked = Partial<Record<'state' | 'reason' | 'domain' | 'sort' | 'after', string>>
export type OriginsPageFacts = { asked: OriginsAsked; list?: OriginList; problem?: string; frame: Frame }

const SORTS = [
  ['', 'as it is found fastest'],
  ['soonest', 'due soonest'],
  ['latest', 'due latest'],
  ['in-flight', 'in flight'],
] as const

export function originsPage({ asked, list, problem, frame }: OriginsPageFacts): string {
  const body = html`<main><h1>Origins</h1>
<form class="card filter" method="get" action="/origins">
${select('State', 'state', ['', ...WAIT_STATES], asked.state)}
${select('Held by', 'reason', ['', ...GATES, 'blocked'], asked.reason)}
<label>Order<select name="sort">${SORTS.map(
    ([value, text]) =>
      html`<option value="${value}"${value === (asked.sort ?? '') && html` selected`}>${text}</option>`,
  )}</select></label>
<label>Domain<input name="domain" type="text" maxlength="253" value="${asked.domain ?? ''}" placeholder="example.com"></label>
<button>Show</button></form>
${problem !== undefined && html`<p class="notice trouble" role="alert">${problem}</p>`}
${list !== undefined && found(list, asked)}</main>`
  return layout({ title: 'Origins · Decorum', body, frame, place: '/origins' })
}

const select = (label: string, name: string, values: readonly string[], chosen = ''): Html =>
  html`<label>${label}<select name="${name}">${values.map(
    (value) =>
      html`<option value="${value}"${value === chosen && html` selected`}>${value === '' ? 'any' : value}</option>`,
  )}</select></label>`

function found(list: OriginList, asked: OriginsAsked): Html {
  const rows = list.origins.map((origin) => {
    const [first] = origin.lanes
    const waiting = origin.lanes.reduce((n, lane) => n + lane.waiting, 0)
    const until = origin.paused ?? origin.blocked
    const state =
      first?.why.state ?? (until === undefined ? 'idle' : origin.paused === undefined ? 'blocked' : 'paused')
    return [
      html`<a href="/origins/${encodeURIComponent(origin.origin)}">${origin.origin}</a>`,
      html`<span class="chip ${state.replace(' ', '-')}">${state}</span>`,
      first?.why.sentence ?? (until === undefined ? 'no URL waits' : `no URL waits; ${until.reason}`),
      origin.robots,
      origin.backOff === undefined ? '–' : length(origin.backOff.until - origin.now),
      first === undefined ? '–' : dueIn(first, first.why, origin.now),
      count(waiting),
    ]
  })
  const columns = [
    ['Origin', 'name'],
    'State',
    ['Why', 'long'],
    'robots.txt',
    ['Back-off', 'number'],
    ['Due in', 'number'],
    ['URLs', 'number'],
  ] as const
  const nothing = list.complete ? 'No origin fits.' : 'None among those that were looked at.'
  return html`<section aria-label="Found">
<p class="small" role="status">${some(rows.length, 'origin')} found, ${some(list.looked, 'lane')} looked at${list.complete ? '; these are all' : ''}.</p>
${rows.length === 0 ? html`<p class="none">${nothing}</p>` : table('Origins', columns, rows)}
${list.next !== undefined && html`<p class="more"><a class="button" rel="next" href="/origins?${address({ ...asked, after: list.next })}">Look on</a></p>`}</section>`
}

const address = (asked: OriginsAsked): string =>
  new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== undefined && value !== '')).toString()
