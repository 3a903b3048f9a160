/** The page at `/stops`: the emergency stop with its confirmation, the stops in force, and how to lift them. */
import { EVERYTHING, nameForPeople, type Stop } from '@decorum/ledger'
import { Problem } from '@decorum/runtime/http-api'
import type { Viewer } from '../access/sessions.ts'
import { defaultBy } from '../api/mount.ts'
import { StopBody } from '../api/questions.ts'
import { changeStops, listStops, type StopsAnswer } from '../api/stops.ts'
import { day } from '../words.ts'
import { afterForm, Form, type PageParts, type PageScope, READ, readThen, WRITE } from './answer-page.ts'
import {
  confirmation,
  type Fields,
  field,
  notConfirmed,
  notDone,
  radio,
  type Refused,
  readWhyAndWho,
  whyAndWho,
} from './forms.ts'
import { type Html, html } from './html.ts'
import { mayAct, type Page } from './layout.ts'
import { banner } from './parts.ts'

export function addStops(scope: PageScope, { ledger }: PageParts): void {
  scope.get('/stops', READ, async (request) => stopsPage(request, await listStops(ledger, false)))
  scope.post('/stops', { ...WRITE, schema: { body: Form } }, async (request, reply) => {
    const fields = request.body
    const isConfirmed = fields.action === 'lift' || fields.confirm === 'yes'
    const answer = isConfirmed
      ? await readThen(StopBody, stopRequestOf(fields), (wish) => changeStops(ledger, wish, defaultBy(request)))
      : notConfirmed('a stop')
    if (!(answer instanceof Problem) && answer.unreached !== undefined) return stopsPage(request, answer)
    return afterForm(reply, answer, '/stops', async (problem) =>
      stopsPage(request, await listStops(ledger, false), { problem, fields }),
    )
  })
}

function stopsPage(viewer: Viewer, { stops, unreached }: StopsAnswer, refused?: Refused): Page {
  const fields: Fields = refused?.fields ?? {}
  const what = fields.what ?? 'names'
  const body = html`${banner(stops.length > 0 ? 'trouble' : 'calm', 'Emergency stop', sentence(stops))}
${unreached !== undefined && html`<p class="notice trouble" role="alert">${unreached} partitions did not answer: nothing can start there now, and each gets the stops as soon as it answers.</p>`}
${notDone(refused?.problem)}
<ul class="in-force">${stops.map((stop) => inForce(stop, mayAct(viewer)))}</ul>
${
  mayAct(viewer) &&
  html`<section class="hand"><h2>Stop</h2>
<form class="card" method="post" action="/stops">
<fieldset><legend>What</legend>
${radio('what', 'names', what, 'By name', 'Domains or hosts with all names below them, addresses, or URLs of hosts.')}
${radio('what', 'everything', what, 'Everything', 'The whole fleet sends nothing any more.')}</fieldset>
${field('Names, separated by blanks', 'names', fields.names, { maxlength: 8_192, placeholder: 'example.com 192.0.2.1' })}
${whyAndWho(fields, viewer)}
${confirmation('Yes, stop it', 'Within a second, until somebody lifts it. What is in flight ends.')}
<button name="action" value="stop">Stop</button>
</form></section>`
}`
  return { title: 'Emergency stop', body, place: '/stops' }
}

function sentence(stops: Stop[]): string {
  if (stops.length === 0) return 'Nothing is stopped.'
  if (stops.some(({ name }) => name === EVERYTHING)) return 'Everything is stopped: no process sends anything.'
  return 'Part is stopped: no process sends anything to what is named here.'
}

const inForce = ({ name, at, by, reason, until }: Stop, canLift: boolean): Html =>
  html`<li><span>${nameForPeople(name)}: stopped ${day(at)} by ${by}: ${reason} (until ${until === undefined ? 'it is lifted' : day(until)})</span>${canLift && html`<form method="post" action="/stops"><input type="hidden" name="${name === EVERYTHING ? 'what' : 'names'}" value="${name === EVERYTHING ? 'everything' : name}"><button name="action" value="lift">Lift</button></form>`}</li>`

/** Converts a post to the API's request. Without names the list is empty, which the schema refuses. */
function stopRequestOf({ action, what, names = '', ...fields }: Fields): object {
  const list = names.split(/[\s,]+/).filter((name) => name !== '')
  return { action, ...(what === 'everything' ? { everything: true } : { names: list }), ...readWhyAndWho(fields) }
}
