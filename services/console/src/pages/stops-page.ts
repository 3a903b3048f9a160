/** The page at `/stops`: the emergency stop with its confirmation, the stops in force, and how to lift them. Pure. */
import { EVERYTHING, nameForPeople, type Stop } from '@decorum/ledger'
import type { StopsAnswer } from '../api/stops.ts'
import { day } from '../words.ts'
import { type Html, html } from './html.ts'
import { type Frame, layout } from './layout.ts'

export type StopFields = {
  action?: string
  what?: string
  names?: string
  reason?: string
  confirm?: string
  by?: string
}

export type StopsPageFacts = {
  told: StopsAnswer
  /** the operator, if the form does not name one */
  by: string
  frame: Frame
  /** a refused form, and why */
  problem?: { message: string; fields: StopFields }
}

export function stopsPage({ told, by, frame, problem }: StopsPageFacts): string {
  const fields = problem?.fields ?? {}
  const body = html`<main>
<section class="headline ${told.stops.length > 0 ? 'trouble' : 'calm'}" role="status"><h1>Emergency stop</h1><p>${sentence(told)}</p></section>
${told.unreached !== undefined && html`<p class="notice trouble" role="alert">${told.unreached} partitions did not answer: nothing can start there now, and each gets the stops as soon as it answers.</p>`}
${problem !== undefined && html`<p class="notice trouble" role="alert">Not done: ${problem.message}</p>`}
${inForce(told.stops)}
<section class="hand"><h2>Stop</h2>
<form class="card" method="post" action="/stops">
<fieldset><legend>What</legend>
<label class="choice"><input type="radio" name="what" value="names"${fields.what !== 'everything' && html` checked`}><b>By name</b><small>Domains or hosts with all names below them, addresses, or URLs of hosts.</small></label>
<label class="choice"><input type="radio" name="what" value="everything"${fields.what === 'everything' && html` checked`}><b>Everything</b><small>The whole fleet sends nothing any more.</small></label></fieldset>
<label>Names, separated by blanks<input name="names" type="text" maxlength="8192" value="${fields.names ?? ''}" placeholder="example.com 192.0.2.1"></label>
<label>Reason<input name="reason" type="text" required maxlength="256" value="${fields.reason ?? ''}" placeholder="it is written down"></label>
<label>By<input name="by" type="text" maxlength="256" value="${fields.by ?? ''}" placeholder="${by}" autocomplete="username"></label>
<label class="choice"><input type="checkbox" name="confirm" value="yes" required><b>Yes, stop it</b><small>Within a second, until somebody lifts it. What is in flight ends.</small></label>
<button name="action" value="stop">Stop</button>
</form></section></main>`
  return layout({ title: 'Emergency stop · Decorum', body, frame, place: '/stops' })
}

function sentence({ stops }: StopsAnswer): string {
  if (stops.length === 0) return 'Nothing is stopped.'
  if (stops.some(({ name }) => name === EVERYTHING)) return 'Everything is stopped: no process sends anything.'
  return 'Part is stopped: no process sends anything to what is named here.'
}

function inForce(stops: Stop[]): Html | undefined {
  if (stops.length === 0) return undefined
  return html`<ul class="in-force">${stops.map(
    ({ name, at, by, reason, until }) =>
      html`<li><span>${nameForPeople(name)}: stopped ${day(at)} by ${by}: ${reason} (${until === undefined ? 'until it is lifted' : `until ${day(until)}`})</span><form method="post" action="/stops"><input type="hidden" name="what" value="${name === EVERYTHING ? 'everything' : 'names'}"><input type="hidden" name="names" value="${name === EVERYTHING ? '' : name}"><button name="action" value="lift">Lift</button></form></li>`,
  )}</ul>`
}

/** Converts a post to the API's request. A stop without confirmation names no target, and is refused. */
export function stopRequestOf({ action, what, names = '', reason = '', by = '' }: StopFields): object {
  const list = names.split(/[\s,]+/).filter((name) => name !== '')
  const target = what === 'everything' ? { everything: true } : { names: list }
  return { action, ...target, reason, ...(by.trim() === '' ? {} : { by }) }
}
