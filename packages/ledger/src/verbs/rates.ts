/** rates: least delays and policies of sites, from one version of the fleet's configuration. */
import { LEAST_DELAY_ITEM, POLICY_ITEM } from '../calls.ts'
import type { Versioned, Written } from '../record/place.ts'
import type { Scripts } from '../scripts.ts'
import type { SitePolicyRecord } from '../types.ts'

export type LeastDelay = { agent: string; delayMs: number }

/** The rates that the scripts apply to every caller. `version` is that of the fleet's configuration. */
export type Rates = Versioned & {
  leastDelays: readonly LeastDelay[]
  sitePolicies: readonly SitePolicyRecord[]
}
export const NO_RATES: Rates = { version: 0, leastDelays: [], sitePolicies: [] }

export async function rates(scripts: Scripts, { version, leastDelays, sitePolicies }: Rates): Promise<Written> {
  const items = [
    ...leastDelays.flatMap(LEAST_DELAY_ITEM.write),
    ...sitePolicies.flatMap((policy) => POLICY_ITEM.write({ site: policy.site, policy: textOf(policy) })),
  ]
  const { values } = await scripts.call('rates', { expected: '', version, agents: leastDelays.length }, items)
  return { kind: values[0] as Written['kind'], version: Number(values[1]) }
}

/** POLICY in layout.ts, without the instant of the change. */
function textOf({ delayMs, hasConsent, hours, requestsPerDay, shown }: SitePolicyRecord): string {
  const parts = [delayMs, hasConsent ? 1 : undefined, hours?.from, hours?.to, requestsPerDay]
  return `${parts.map((part) => part ?? '-').join(' ')} ${JSON.stringify(shown)}`
}
