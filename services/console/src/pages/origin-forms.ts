/** The actions of operators as forms: plain posts that work without JavaScript, and the parsing of such a post. Pure. */

import type { Problem } from '@decorum/runtime/http-api'
import type { DescribedOrigin } from '../api/describe-origin.ts'
import { lasting, length } from '../words.ts'
import { type Html, html } from './html.ts'

/** The fields of a form: text by name. */
export type FormFields = Record<string, string>

const CHOICES = [
  ['pause', 'Pause', 'Nothing is fetched; URLs wait.'],
  ['delay', 'Slow down', 'A longer delay after each request; never shorter than its rules ask.'],
  ['block', 'Block', 'Nothing is fetched; URLs end as refused.'],
  ['refetch', 'Ask robots.txt again', 'Before anything else is fetched.'],
  ['drop', 'Drop the backlog', 'What waits now ends as refused; what comes later is kept.'],
] as const

const LENGTHS: [ms: number, text: string][] = [
  [600_000, '10 minutes'],
  [3_600_000, '1 hour'],
  [21_600_000, '6 hours'],
  [86_400_000, '1 day'],
  [604_800_000, '7 days'],
  [2_592_000_000, '30 days'],
]

export function operatorForms(
  origin: DescribedOrigin,
  by: string,
  failed: { problem: Problem; fields: FormFields } | undefined,
): Html {
  const action = `/origins/${encodeURIComponent(origin.origin)}`
  const fields = failed?.fields ?? {}
  const chosen = CHOICES.some(([value]) => value === fields.action) ? fields.action : 'pause'
  return html`<section class="hand">${inForce(origin, action)}
${failed !== undefined && html`<p class="notice trouble" role="alert">Not done: ${failed.problem.message}</p>`}
<details${failed !== undefined && html` open`}><summary>Act on this origin</summary>
<form class="card" method="post" action="${action}">
<fieldset><legend>What</legend>${CHOICES.map(
    ([value, label, meaning]) =>
      html`<label class="choice"><input type="radio" name="action" value="${value}"${value === chosen && html` checked`}><b>${label}</b><small>${meaning}</small></label>`,
  )}</fieldset>
<label class="for-delay">Delay, seconds<input name="delay" type="number" min="0.001" max="604800" step="any" value="${fields.delay ?? '30'}"></label>
<label class="for-while">For<select name="for">${LENGTHS.map(
    ([ms, text]) =>
      html`<option value="${ms}"${(fields.for ?? '3600000') === String(ms) && html` selected`}>${text}</option>`,
  )}<option value="" class="open-end"${fields.for === '' && html` selected`}>until somebody ends it</option></select></label>
<label>Reason<input name="reason" type="text" required maxlength="512" value="${fields.reason ?? ''}" placeholder="it is written down"></label>
<label>By<input name="by" type="text" maxlength="512" value="${fields.by ?? ''}" placeholder="${by}" autocomplete="username"></label>
<button>Do it</button>
</form></details></section>`
}

/** Restrictions in force, each with the button that ends it. */
function inForce({ paused, blocked, override, now }: DescribedOrigin, action: string): Html | undefined {
  const list = [
    blocked && { text: `blocked ${lasting(blocked.until, now)}: ${blocked.reason}`, end: 'unblock', label: 'Unblock' },
    paused && { text: `paused ${lasting(paused.until, now)}: ${paused.reason}`, end: 'resume', label: 'Resume' },
    override && {
      text: `delay of ${length(override.delayMs)} ${lasting(override.until, now)}: ${override.reason}`,
      end: 'restore-delay',
      label: 'End the delay',
    },
  ].filter((one) => one !== undefined)
  if (list.length === 0) return undefined
  return html`<ul class="in-force">${list.map(
    ({ text, end, label }) =>
      html`<li><span>${text}</span><form method="post" action="${action}"><button name="action" value="${end}">${label}</button></form></li>`,
  )}</ul>`
}

/** Converts a post to the API's request: only the fields of the action, because the form sends all fields. */
export function actionOf({ action, for: forMs = '', delay = '', reason = '', by = '' }: FormFields): object {
  const who = by.trim() === '' ? {} : { by }
  const span = forMs === '' ? {} : { forMs: Number(forMs) }
  switch (action) {
    case 'pause':
    case 'block':
      return { action, reason, ...span, ...who }
    case 'delay':
      return { action, reason, delayMs: Math.round(Number(delay) * 1_000), ...span, ...who }
    default:
      return { action, reason, ...who }
  }
}
