/** The policy of a site as a form: permissions and restrictions in the fleet's configuration; and the parsing of a post. Pure. */
import type { Problem } from '@decorum/runtime/http-api'
import type { DescribedOrigin } from '../api/describe-origin.ts'
import { type Html, html } from './html.ts'
import type { FormFields } from './origin-forms.ts'

export function policyForm(
  { origin, policy }: Pick<DescribedOrigin, 'origin' | 'policy'>,
  by: string,
  failed: { problem: Problem; fields: FormFields } | undefined,
): Html {
  const fields = failed?.fields ?? {
    site: policy?.site ?? URL.parse(origin)?.hostname ?? '',
    delay: policy?.delayMs === undefined ? '' : String(policy.delayMs / 1_000),
    consent: policy?.consent ?? '',
    hours: policy?.hours ?? '',
    budget: String(policy?.requestsPerDay ?? ''),
  }
  return html`<section id="policy"><h2>Policy of its site<small>kept in the configuration of the fleet</small></h2>
${failed !== undefined && html`<p class="notice trouble" role="alert">Not done: ${failed.problem.message}</p>`}
<form class="card" method="post" action="/origins/${encodeURIComponent(origin)}/policy">
<label>Site<input name="site" type="text" required maxlength="260" value="${fields.site}" placeholder="www.example.com, domain:example.com or *.example.com"></label>
<label>Delay, seconds<input name="delay" type="number" min="0" max="86400" step="any" value="${fields.delay}"></label>
<label>Visiting hours, UTC<input name="hours" type="text" maxlength="11" value="${fields.hours}" placeholder="22:00-06:00"></label>
<label>Requests a day<input name="budget" type="number" min="1" step="1" value="${fields.budget}"></label>
<label>Consent to a shorter delay: who gave it, and how<input name="consent" type="text" maxlength="512" value="${fields.consent}"></label>
<label>Reason<input name="reason" type="text" required maxlength="512" value="${fields.reason ?? ''}" placeholder="it is written down"></label>
<label>By<input name="by" type="text" maxlength="512" value="${fields.by ?? ''}" placeholder="${by}" autocomplete="username"></label>
<div class="buttons"><button name="action" value="set">Set the policy</button>${policy !== undefined && html`<button name="action" value="remove">Remove it</button>`}</div>
</form></section>`
}

/** The policy in the form of SITE_POLICIES; undefined: no policy. */
export function policyOf({
  action,
  delay = '',
  consent = '',
  hours = '',
  budget = '',
}: FormFields): object | undefined {
  if (action === 'remove') return undefined
  return {
    ...(delay.trim() === '' ? {} : { delayMs: Math.round(Number(delay) * 1_000) }),
    ...(consent.trim() === '' ? {} : { consent: consent.trim() }),
    ...(hours.trim() === '' ? {} : { hours: hours.trim() }),
    ...(budget.trim() === '' ? {} : { requestsPerDay: Number(budget) }),
  }
}
