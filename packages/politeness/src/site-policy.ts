/** Decides which policy applies to a host, and its effect. The ledger's lib/site-policy.lua makes the same choice in Redis. */
import type { Hours, SitePolicies, SitePolicy } from '@decorum/config'

/** The policy that applies to an origin, and its name in SITE_POLICIES. */
export type PolicyOfSite = SitePolicy & {
  site: string
  /** requests to the host today (UTC), if there is a budget */
  requestsToday?: number
}

/**
 * The names under which a host may have a policy, most specific first: `host` and `domain:host`, then `*.name` and `domain:name` for each
 * name above it. One policy applies as a whole: policies are not combined.
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
 * The delay of a lane under a policy: the policy's if it is longer, or if the site has consented to it.
 * @param owedMs  the delay that agent, robots.txt and the exchange ask for
 */
export function delayUnder({ delayMs, consent }: SitePolicy, owedMs: number): number {
  if (delayMs === undefined) return owedMs
  return consent === undefined ? Math.max(owedMs, delayMs) : delayMs
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/**
 * When a site with visiting hours may be requested: now, or when its hours next begin. `from` is the first minute of the
 * hours, `to` the first minute after them.
 * @param at       wall clock, ms
 * @param spareMs  nothing begins within this time before the end of the hours
 * @returns        an instant of the wall clock, never before `at`
 */
export function opensAt({ from, to }: Hours, at: number, spareMs = 0): number {
  const midnight = at - (at % DAY_MS)
  const begins = from * MINUTE_MS
  const lasts = (to * MINUTE_MS - begins + DAY_MS) % DAY_MS
  if (lasts === 0) return at // the whole day
  const since = (at - midnight - begins + DAY_MS) % DAY_MS // since the hours last began
  return since < Math.max(MINUTE_MS / 2, lasts - spareMs) && since < lasts ? at : at - since + DAY_MS
}

/** A policy in words, for people. @param length  formats a length of time for the page or command */
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
