/** The page at `/origins`: origins by state, reason and domain, page by page. Pure. */
import { GATES } from '@decorum/protocol'
import { Problem } from '@decorum/runtime/http-api'
import type { OriginList } from '../api/list-origins.ts'
import { dueIn, WAIT_STATES } from '../why.ts'
import { count, length, some } from '../words.ts'
import { field, select } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { originLink, stateChip } from './parts.ts'
import { table } from './table.ts'

/** The query of the address: text by name. */
export type OriginsRequest = Record<string, string>

const SORTS = [
  ['', 'any'],
  ['soonest', 'due soonest'],
  ['latest', 'due latest'],
  ['in-flight', 'in flight'],
] as const
const anyOf = (values: readonly string[]) => [['', 'any'] as const, ...values.map((value) => [value, value] as const)]

export function originsPage(requested: OriginsRequest, list: OriginList | Problem): Page {
  const body = html`<h1>Origins</h1>
<form class="card filter" method="get" action="/origins">
${select('State', 'state', anyOf(WAIT_STATES), requested.state)}
${select('Held by', 'reason', anyOf([...GATES, 'blocked']), requested.reason)}
${select('Order', 'sort', SORTS, requested.sort)}
${field('Domain', 'domain', requested.domain, { maxlength: 253, placeholder: 'example.com' })}
<button>Show</button></form>
${list instanceof Problem ? html`<p class="notice trouble" role="alert">${list.message}</p>` : found(list, requested)}`
  return { title: 'Origins', body, place: '/origins' }
}

function found({ origins, looked, complete, next }: OriginList, requested: OriginsRequest): Html {
  const rows = origins.map(({ origin, lanes, paused, blocked, robots, backOff, now }) => {
    const [first] = lanes
    const closed = paused ?? blocked
    const state = first?.why.state ?? (paused ? 'paused' : blocked ? 'blocked' : 'idle')
    return [
      originLink(origin),
      stateChip(state),
      first?.why.sentence ?? (closed === undefined ? 'no URL waits' : `no URL waits; ${closed.reason}`),
      robots,
      backOff && length(backOff.until - now),
      first && dueIn(first, first.why, now),
      count(lanes.reduce((n, lane) => n + lane.waiting, 0)),
    ]
  })
  const columns = {
    Origin: 'name',
    State: '',
    Why: 'long',
    'robots.txt': '',
    'Back-off': 'number',
    'Due in': 'number',
    URLs: 'number',
  } as const
  const none = complete ? 'No origin fits.' : 'None among those that were checked.'
  return html`<section aria-label="Found">
<p class="small" role="status">${some(rows.length, 'origin')} found, ${some(looked, 'lane')} looked at${complete && '; these are all'}.</p>
${table('Origins', columns, rows, { none })}
${next !== undefined && html`<p class="more"><a class="button" rel="next" href="/origins?${String(new URLSearchParams({ ...requested, after: next }))}">Look on</a></p>`}</section>`
}
