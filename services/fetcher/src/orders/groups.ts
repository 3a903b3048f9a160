/** The groups under which an order counts when fetchers share out their slots. */

import type { Groups } from '@decorum/politeness'
import { Recent } from '@decorum/politeness/admission'
import { domainOf, type Order } from '@decorum/protocol'

/** Most cached domains: finding the domain of an origin takes as long as the rest of an order's way to its slot. */
const MOST_ORIGINS = 10_000
const domains = new Recent<string, string>(MOST_ORIGINS)

/** The permit token or the crawl that requested the order. */
export const requesterOf = ({ by, crawl }: Order): string => (by === undefined ? `crawl:${crawl}` : `token:${by}`)

/**
 * The requester; the registrable domain that the order goes to, or the domain whose redirect led there, since a site chooses the
 * targets of its redirects; and whether it is a robots fetch, the first request to hosts that may never answer.
 */
export const groupsOf = (order: Order): Groups => [
  requesterOf(order),
  `domain:${order.from ?? knownDomain(order.origin)}`,
  `kind:${order.kind}`,
]

function knownDomain(origin: string): string {
  const known = domains.get(origin)
  if (known !== undefined) return known
  const domain = domainOf(origin)
  domains.set(origin, domain)
  return domain
}
