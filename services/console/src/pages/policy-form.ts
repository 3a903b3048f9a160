/** The policy of a site as a form: permissions and restrictions in the fleet's configuration; and the parsing of a post. Pure. */
import type { DescribedOrigin } from '../api/describe-origin.ts'
import { type Fields, notDone, type Refused, readWhyAndWho, whyAndWho } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Frame } from './layout.ts'
import { originPath } from './parts.ts'

export function policyForm(
  { origin, policy }: Pick<DescribedOrigin, 'origin' | 'policy'>,
  frame: Frame,
  refused: Refused | undefined,
): Html {
  const { site, delay, hours, budget, consent, ...fields }: Fields = refused?.fields ?? {
    site: policy?.site ?? URL.parse(origin)?.hostname ?? '',
    delay: policy?.delayMs === undefined ? '' : String(policy.delayMs / 1_000),
    consent: policy?.consent ?? '',
    hours: policy?.hours ?? '',
    budget: String(policy?.requestsPerDay ?? ''),
  }
  return html`<section id="policy" data-still><h2>Policy of its site<small>kept in the configuration of the fleet</small></h2>
${notDone(refused?.problem)}
<form class="card" method="post" action="${originPath(origin)}/policy">
<label>Site<input name="site" type="text" required maxlength="260" value="${site}" placeholder="www.example.com, domain:example.com or *.example.com"></label>
<label>Delay, seconds<input name="delay" type="number" min="0" max="86400" step="any" value="${delay}"></label>
<label>Visiting hours, UTC<input name="hours" type="text" maxlength="11" value="${hours}" placeholder="22:00-06:00"></label>
<label>Requests a day<input name="budget" type="number" min="1" step="1" value="${budget}"></label>
<label>Consent to a shorter delay: who gave it, and how<input name="consent" type="text" maxlength="512" value="${consent}"></label>
${whyAndWho(fields, frame)}
<div class="buttons"><button name="action" value="set">Set the policy</button>${policy !== undefined && html`<button name="action" value="remove">Remove it</button>`}</div>
</form></section>`
}

/** Converts a post to the API's request. */
export function policyChangeOf({ action, delay = '', consent = '', hours = '', budget = '', ...fields }: Fields) {
  if (action === 'remove') return readWhyAndWho(fields)
  const given = {
    delayMs: delay.trim() && Math.round(Number(delay) * 1_000),
    consent: consent.trim(),
    hours: hours.trim(),
    requestsPerDay: budget.trim() && Number(budget),
  }
  const policy = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''))
  return { policy, ...readWhyAndWho(fields) }
}
