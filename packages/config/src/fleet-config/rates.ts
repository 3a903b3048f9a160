/** The part of the configuration that the scripts of the ledger apply to every caller. */

import type { Rates } from '@decorum/ledger'
import { type Agents, readHours, readSitePolicies, type SitePolicy } from '../index.ts'
import type { Version } from './store.ts'

export const ratesOf = ({ version, values }: Version, agents: Agents): Rates => ({
  version,
  leastDelays: agents.list.map(({ key, minDelayMs }) => ({ agent: key, delayMs: minDelayMs })),
  sitePolicies: Object.entries(readSitePolicies(JSON.stringify(values.SITE_POLICIES ?? {}))).map(([site, policy]) => ({
    site,
    ...scalarsOf(policy),
    shown: policy,
  })),
})

const scalarsOf = ({ delayMs, consent, hours, requestsPerDay }: SitePolicy) => ({
  delayMs,
  hasConsent: consent !== undefined,
  hours: hours === undefined ? undefined : readHours(hours),
  requestsPerDay,
})
