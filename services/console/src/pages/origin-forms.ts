/** The actions of operators on an origin as forms, and the parsing of their posts. Pure. */
import type { Viewer } from '../access/sessions.ts'
import type { DescribedOrigin } from '../api/describe-origin.ts'
import { lasting, length } from '../words.ts'
import { type Fields, field, notDone, radio, type Refused, readWhyAndWho, select, whyAndWho } from './forms.ts'
import { type Html, html } from './html.ts'
import { originPath } from './parts.ts'

const CHOICES = [
  ['pause', 'Pause', 'Nothing is fetched; URLs wait.'],
  ['delay', 'Slow down', 'A longer delay after each request; never shorter than its rules ask.'],
  ['block', 'Block', 'Nothing is fetched; URLs end as refused.'],
  ['refetch', 'Fetch robots.txt again', 'Before anything else is fetched.'],
  ['drop', 'Drop the backlog', 'What waits now ends as refused; what comes later is kept.'],
] as const

/** Spans in ms. */
const SPANS = [
  ['600000', '10 minutes'],
  ['3600000', '1 hour'],
  ['21600000', '6 hours'],
  ['86400000', '1 day'],
  ['604800000', '7 days'],
  ['2592000000', '30 days'],
  ['', 'until somebody ends it'],
] as const

export function operatorForms(origin: DescribedOrigin, viewer: Viewer, refused: Refused | undefined): Html {
  const path = originPath(origin.origin)
  const fields: Fields = refused?.fields ?? {}
  const chosen = CHOICES.find(([action]) => action === fields.action)?.[0] ?? 'pause'
  return html`<section class="hand"><ul class="in-force">${restrictionsOf(origin).map(
    ({ text, reason, end, label }) =>
      html`<li><span>${text}: ${reason}</span><form method="post" action="${path}"><button name="action" value="${end}">${label}</button></form></li>`,
  )}</ul>
<details id="act" data-still${refused !== undefined && html` open`}><summary>Act on this origin</summary>${notDone(refused?.problem)}
<form class="card" method="post" action="${path}">
<fieldset><legend>What</legend>${CHOICES.map(([action, label, meaning]) => radio('action', action, chosen, label, meaning))}</fieldset>
${field('Delay, seconds', 'delay', fields.delay ?? 30, { type: 'number', min: 0.001, max: 604_800, step: 'any' })}
${select('For', 'for', SPANS, fields.for ?? '3600000')}
${whyAndWho(fields, viewer)}
<button>Do it</button>
</form></details></section>`
}

/** Restrictions by operators that are in force, each with the action that lifts it. */
export function restrictionsOf({ paused, blocked, override, now }: DescribedOrigin) {
  const list = [
    blocked && { ...blocked, word: 'blocked', end: 'unblock', label: 'Unblock' },
    paused && { ...paused, word: 'paused', end: 'resume', label: 'Resume' },
    override && {
      ...override,
      word: `delay of ${length(override.delayMs)}`,
      end: 'restore-delay',
      label: 'End the delay',
    },
  ]
  return list.flatMap((one) => (one ? [{ ...one, text: `${one.word} ${lasting(one.until, now)}` }] : []))
}

/** Converts a post to the API's request: only the fields of the action, because the form sends all fields. */
export function actionOf({ action = '', for: forMs = '', delay = '', ...fields }: Fields): object {
  const span = forMs === '' || !['pause', 'block', 'delay'].includes(action) ? {} : { forMs: Number(forMs) }
  const seconds = action === 'delay' ? { delayMs: Math.round(Number(delay) * 1_000) } : {}
  return { action, ...span, ...seconds, ...readWhyAndWho(fields) }
}
