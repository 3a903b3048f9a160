/** policies: the policies of sites, as a version of the fleet's configuration has them. */
import { POLICY_ITEM } from '../calls.ts'
import type { Scripts } from '../scripts.ts'
import type { SitePolicyRecord } from '../types.ts'

/** Asks first, because they are said once a second: all of them are sent to a partition only when it does not know this version. */
export async function policies(scripts: Scripts, version: number, list: readonly SitePolicyRecord[]): Promise<void> {
  let [known, more] = (await scripts.call('policies', { version, ask: '1' })).values
  if (Number(known) < version && (known !== '0' || list.length > 0)) {
    const items = list.flatMap((policy) => POLICY_ITEM.write({ site: policy.site, policy: textOf(policy) }))
    more = (await scripts.call('policies', { version, ask: '' }, items)).values[1]
  }
  while (more === '1') more = (await scripts.call('policies', { version, ask: '1' })).values[1]
}

/** POLICY in layout.ts, without the instant of the change. */
function textOf({ delayMs, hasConsent, hours, requestsPerDay, shown }: SitePolicyRecord): string {
  const parts = [delayMs, hasConsent ? 1 : undefined, hours?.from, hours?.to, requestsPerDay]
  return `${parts.map((part) => part ?? '-').join(' ')} ${JSON.stringify(shown)}`
}
