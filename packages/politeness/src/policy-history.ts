/** The policies of sites over time, for the auditor, which applies the version that was in force. */
import { readHours, type SitePolicies, type SitePolicy } from '@decorum/config'
import { delayUnder, opensAt, policyOf } from './site-policy.ts'

/** `at`: the beginning of the version, ms since 1970 UTC. */
export type PolicyVersion = { at: number; policies: SitePolicies }

/** The policy of one host in one version. */
export type PolicyThen = {
  site: string
  /** @param owedMs  the delay that agent and robots.txt ask for */
  delayMs(owedMs: number): number
  isOpenAt(at: number): boolean
  requestsPerDay: number | undefined
}

/**
 * @returns the policies of a host that were in force at any time between `from` and `to`; a member is undefined while the host had none, as
 * before the first version
 */
export function policyHistory(
  versions: readonly PolicyVersion[],
): (host: string, from: number, to: number) => (PolicyThen | undefined)[] {
  const sorted = versions.toSorted((one, other) => one.at - other.at)
  const ofHost = new Map<string, (PolicyThen | undefined)[]>()
  return (host, from, to) => {
    let known = ofHost.get(host)
    if (known === undefined) {
      known = sorted.map(({ policies }) => then(policyOf(policies, host)))
      ofHost.set(host, known)
    }
    const first = sorted.findLastIndex(({ at }) => at <= from)
    const last = sorted.findLastIndex(({ at }) => at <= to)
    const found = known.slice(Math.max(first, 0), last + 1)
    return first < 0 ? [undefined, ...found] : found
  }
}

function then(policy: (SitePolicy & { site: string }) | undefined): PolicyThen | undefined {
  if (policy === undefined) return undefined
  const hours = policy.hours === undefined ? undefined : readHours(policy.hours)
  return {
    site: policy.site,
    delayMs: (owedMs) => delayUnder(policy, owedMs),
    isOpenAt: (at) => hours === undefined || opensAt(hours, at) === at,
    requestsPerDay: policy.requestsPerDay,
  }
}
