/** The policy of a site as a form: permissions and restrictions in the fleet's configuration; and the parsing of a post. Pure. */
import type { Viewer } from '../access/sessions.ts'
import type { DescribedOrigin } from '../api/describe-origin.ts'
import { type Fields, field, notDone, type Refused, readWhyAndWho, whyAndWho } from './forms.ts'
import { type Html, html } from './html.ts'
import { originPath } from './parts.ts'

export function policyForm(
  { origin, policy }: Pick<DescribedOrigin, 'origin' | 'policy'>,
  viewer: Viewer,
  refused: Refused | undefined,
): Html {
  const { site, delay, hours, budget, consent } = refused?.fields ?? {
    site: policy?.site ?? URL.parse(origin)?.hostname ?? '',
    delay: policy?.delayMs === undefined ? undefined : policy.delayMs / 1_000,
    consent: policy?.consent,
    hours: policy?.hours,
    budget: policy?.requestsPerDay,
  }
  return html`<section id="policy" data-still><h2>Policy of its site<small>kept in the configuration of the fleet</small></h2>
${notDone(refused?.problem)}
<form class="card" method="post" action="${originPath(origin)}/policy">
${field('Site', 'site', site, { required: true, maxlength: 260, placeholder: 'www.example.com, domain:example.com or *.example.com' })}
${field('Delay, seconds', 'delay', delay, { type: 'number', min: 0, max: 86_400, step: 'any' })}
${field('Visiting hours, UTC', 'hours', hours, { maxlength: 11, placeholder: '22:00-06:00' })}
${field('Requests a day', 'budget', budget, { type: 'number', min: 1 })}
${field('Consent to a shorter delay: who gave it, and how', 'consent', consent, { maxlength: 512 })}
${whyAndWho(refused?.fields ?? {}, viewer)}
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
