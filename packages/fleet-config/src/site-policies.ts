/** Gives the policies of sites to the ledger, whose scripts apply them to every caller. */
import { readHours, type SitePolicies, type SitePolicy } from '@decorum/config'
import type { Ledger, SitePolicyToTell } from '@decorum/ledger'
import { SECOND } from '@decorum/protocol'

export type SitePoliciesTold = {
  /** all partitions that answer know them, or have been asked for `patienceMs` */
  told: Promise<void>
  /** this version of the fleet's configuration has been taken over */
  tell(version: number, policies: SitePolicies): void
  stop(): void
}

/** A partition that does not answer gets them later; no process waits longer for it. */
const PATIENCE_MS = 2 * SECOND

/** Sends them now, after each change, and once a second: a partition may be away, or may have lost its data. */
export function tellSitePolicies(
  ledger: Pick<Ledger, 'setSitePolicies'>,
  version: number,
  policies: SitePolicies,
): SitePoliciesTold {
  let list = listOf(policies)
  const tell = (): Promise<void> => ledger.setSitePolicies(version, list).catch(() => undefined)
  const patience = Promise.withResolvers<void>()
  const timer = setTimeout(patience.resolve, PATIENCE_MS)
  const told = Promise.race([tell(), patience.promise]).finally(() => clearTimeout(timer))
  const telling = setInterval(() => void tell(), SECOND).unref()
  return {
    told,
    tell(next, changed) {
      version = next
      list = listOf(changed)
      void tell()
    },
    stop: () => clearInterval(telling),
  }
}

const listOf = (policies: SitePolicies): SitePolicyToTell[] =>
  Object.entries(policies).map(([site, policy]) => ({ site, ...scalarsOf(policy), shown: policy }))

const scalarsOf = ({
  delayMs,
  consent,
  hours,
  requestsPerDay,
}: SitePolicy): Omit<SitePolicyToTell, 'site' | 'shown'> => ({
  delayMs,
  hasConsent: consent !== undefined,
  hours: hours === undefined ? undefined : readHours(hours),
  requestsPerDay,
})
