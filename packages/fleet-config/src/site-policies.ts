/** Gives the policies of sites to the ledger, whose scripts apply them to every caller. */
import { readHours, type SitePolicies, type SitePolicy } from '@decorum/config'
import type { Ledger, SitePolicyRecord } from '@decorum/ledger'
import { SECOND } from '@decorum/protocol'

export type WrittenSitePolicies = {
  /** all partitions that answer know them, or have been asked for `patienceMs` */
  written: Promise<void>
  /** this version of the fleet's configuration has been taken over */
  write(version: number, policies: SitePolicies): void
  stop(): void
}

/** A partition that does not answer gets them later; no process waits longer for it. */
const PATIENCE_MS = 2 * SECOND

/** Sends them now, after each change, and once a second: a partition may be away, or may have lost its data. */
export function writeSitePolicies(
  ledger: Pick<Ledger, 'setSitePolicies'>,
  version: number,
  policies: SitePolicies,
): WrittenSitePolicies {
  let list = listOf(policies)
  const write = (): Promise<void> => ledger.setSitePolicies(version, list).catch(() => undefined)
  const patience = Promise.withResolvers<void>()
  const timer = setTimeout(patience.resolve, PATIENCE_MS)
  const written = Promise.race([write(), patience.promise]).finally(() => clearTimeout(timer))
  const writing = setInterval(() => void write(), SECOND).unref()
  return {
    written,
    write(next, changed) {
      version = next
      list = listOf(changed)
      void write()
    },
    stop: () => clearInterval(writing),
  }
}

const listOf = (policies: SitePolicies): SitePolicyRecord[] =>
  Object.entries(policies).map(([site, policy]) => ({ site, ...scalarsOf(policy), shown: policy }))

const scalarsOf = ({
  delayMs,
  consent,
  hours,
  requestsPerDay,
}: SitePolicy): Omit<SitePolicyRecord, 'site' | 'shown'> => ({
  delayMs,
  hasConsent: consent !== undefined,
  hours: hours === undefined ? undefined : readHours(hours),
  requestsPerDay,
})
