/** For whom an order takes its slot: the groups that share the slots of a fetcher. */
import { Recent } from '@decorum/admission'
import type { Groups } from '@decorum/politeness'
import { domainOf, type Order } from '@decorum/protocol'

/** Domains that are remembered: finding one takes as long as the rest of an order's way to its slot. */
const MOST_ORIGINS = 10_000
const domains = new Recent<string, string>(MOST_ORIGINS)

/**
 * Who asked (a permit token or a crawl); the registrable domain that the order goes to, or whose redirect led there, since a site
 * chooses where its redirects lead; and whether it is a robots fetch, the first request to hosts that may never answer.
 */
export const groupsOf = ({ by, crawl, from, origin, kind }: Order): Groups => [
  by === undefined ? `crawl:${crawl}` : `token:${by}`,
  `domain:${from ?? knownDomain(origin)}`,
  `kind:${kind}`,
]

function knownDomain(origin: string): string {
  const known = domains.get(origin)
  if (known !== undefined) return known
  const domain = domainOf(origin)
  domains.set(origin, domain)
  return domain
}
