/** The policies of sites over time, for the auditor, which judges by the version that was in force. */
import { readHours, type SitePolicies, type SitePolicy } from '@decorum/config'
import { delayUnder, opensAt, policyOf } from './site-policy.ts'

/** `at`: from when on, ms since 1970 UTC. */
export type PolicyVersion = { at: number; policies: SitePolicies }

/** What a version says of one host. */
export type PolicyThen = {
  site: string
  /** @param owedMs  what agent and robots.txt ask */
  delayMs(owedMs: number): number
  isOpenAt(at: number): boolean
  requestsPerDay: number | undefined
}

/**
 * @returns what counted for a host at any time of a stretch of time; undefined where it had no policy. Before the first version there was
 *          none.
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
