/** Which policy counts for a host, and what it says. The ledger's lib/site-policy.lua finds the same ones in Redis. */
import type { Hours, SitePolicies, SitePolicy } from '@decorum/config'

/** The policy that counts for an origin, and under which name it stands in SITE_POLICIES. */
export type PolicyOfSite = SitePolicy & {
  site: string
  /** to the host today (UTC), where there is a budget */
  requestsToday?: number
}

/**
 * Under which names a host may have a policy, the most specific first: the host itself; then name by name above it, what is below a
 * name before the registrable domain with everything below. One policy counts, as a whole: nothing is added from another.
 */
export function sitesOf(host: string): string[] {
  const names = host.startsWith('[') ? [host] : host.split('.').map((_, at, labels) => labels.slice(at).join('.'))
  return names.flatMap((name, at) => [at === 0 ? name : `*.${name}`, `domain:${name}`])
}

export function policyOf(policies: SitePolicies, host: string): PolicyOfSite | undefined {
  const site = sitesOf(host).find((name) => Object.hasOwn(policies, name))
  const policy = site === undefined ? undefined : policies[site]
  return site === undefined || policy === undefined ? undefined : { site, ...policy }
}

/**
 * The delay of a lane under a policy: longer where the policy has a longer one, and whatever the site has consented to.
 * @param owedMs  what agent, robots.txt and the exchange ask
 */
export function delayUnder({ delayMs, consent }: SitePolicy, owedMs: number): number {
  if (delayMs === undefined) return owedMs
  return consent === undefined ? Math.max(owedMs, delayMs) : delayMs
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/**
 * When a site may be visited that is visited at certain hours: now, or the next time that its hours begin. Hours begin with their first
 * minute and end before their last one.
 * @param at       wall clock, ms
 * @param spareMs  how long before the end nothing is begun any more
 * @returns        an instant of the wall clock, never before `at`
 */
export function opensAt({ from, to }: Hours, at: number, spareMs = 0): number {
  const midnight = at - (at % DAY_MS)
  const begins = from * MINUTE_MS
  const lasts = (to * MINUTE_MS - begins + DAY_MS) % DAY_MS
  if (lasts === 0) return at // the whole day
  const since = (at - midnight - begins + DAY_MS) % DAY_MS // since they last began
  return since < Math.max(MINUTE_MS / 2, lasts - spareMs) && since < lasts ? at : at - since + DAY_MS
}

/** What a policy says, for people. @param length  how the reader's page or command writes a length of time */
export function policySentence(policy: PolicyOfSite, length: (ms: number) => string): string {
  const { site, delayMs, consent, hours, requestsPerDay, requestsToday } = policy
  const parts = [
    delayMs === undefined
      ? ''
      : consent === undefined
        ? `a delay of at least ${length(delayMs)}`
        : `a delay of ${length(delayMs)}, by consent: ${consent}`,
    hours === undefined ? '' : `visits ${hours} UTC`,
    requestsPerDay === undefined
      ? ''
      : `at most ${requestsPerDay} requests a day${requestsToday === undefined ? '' : ` (${requestsToday} today)`}`,
  ]
  return `${site}: ${parts.filter(Boolean).join('; ')}`
}
