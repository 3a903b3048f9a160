/** The settings of a fetcher, read once. Settings that several services share are in @decorum/config. */
import { Resolver } from 'node:dns'
import {
  type Agents,
  checkRelations,
  common,
  loadAgents,
  readingSettings,
  readSettings,
  wholeNumber,
} from '@decorum/config'
import { loadPaceGroups, type PaceGroups } from '@decorum/politeness'
import { entriesOf } from '@decorum/protocol'
import { z } from 'zod'
import { type AddressGuard, addressGuard } from './http/address-guard.ts'

const Config = z.object({
  REDIS_URL: common.REDIS_URL,
  DECORUM_PARTITIONS: common.DECORUM_PARTITIONS,
  DECORUM_AGENTS: common.DECORUM_AGENTS,
  DECORUM_CONTACT: common.DECORUM_CONTACT,
  DECORUM_ALLOW_ADDRESSES: common.DECORUM_ALLOW_ADDRESSES,
  DECORUM_ALLOW_PORTS: common.DECORUM_ALLOW_PORTS,
  DEFAULT_DELAY_MS: common.DEFAULT_DELAY_MS,
  MAX_DELAY_MS: common.MAX_DELAY_MS,
  PACE_GROUPS: z.string().optional(), // path of a JSON file, or inline JSON: which lanes share a delay
  MAX_ATTEMPTS: common.MAX_ATTEMPTS,
  FETCH_DEADLINE_MS: common.FETCH_DEADLINE_MS,
  LEASE_MS: common.LEASE_MS,
  QUARANTINE_MS: common.QUARANTINE_MS,
  BACK_OFF_MS: common.BACK_OFF_MS, // used where 429 and 503 are recorded: here
  ROBOTS_DOMAIN_MAX_BYTES: common.ROBOTS_DOMAIN_MAX_BYTES, // likewise for robots.txt
  ROBOTS_BODIES_MAX_BYTES: common.ROBOTS_BODIES_MAX_BYTES,
  PORT: common.PORT,
  LOG_LEVEL: common.LOG_LEVEL,
  HOST: z.string().default('127.0.0.1'), // of /livez, /readyz, /metrics
  FETCH_CONCURRENCY: wholeNumber(1, 10_000).default(100), // requests at once in this process
  FETCH_PROCESSES: wholeNumber(0, 64).default(1), // under a supervisor that kills a silent one; 0: none, this process fetches
  PAGE_MAX_BYTES: wholeNumber(1).default(10 * 1024 * 1024), // on the wire; a longer body is cut
  ARCHIVE_DIR: z.string().default(''), // folder of WARC files; empty: none
  DECORUM_CRAWLS: z.string().default(''), // folder of notes, set by `up` and `crawl`: where the pages of each crawl are kept
  PAGE_SINK: z.string().default('warc'), // warc, folder, none, or the path of a module: where pages are kept
  DNS_SERVERS: z.string().default(''), // addresses, separated by commas; empty: as the system resolves
})

export type Config = Omit<z.output<typeof Config>, 'DNS_SERVERS' | 'PACE_GROUPS'> & {
  agents: Agents
  paceGroups: PaceGroups
  guard: AddressGuard
  dnsServers: string[]
}

/** @throws SettingsError naming each wrong variable */
export function readConfig(env: Record<string, string | undefined>): Config {
  const { DNS_SERVERS, PACE_GROUPS, ...settings } = readSettings(Config, env)
  checkRelations(settings)
  const agents = readingSettings(() =>
    loadAgents({
      agents: settings.DECORUM_AGENTS,
      contact: settings.DECORUM_CONTACT,
      defaultDelayMs: settings.DEFAULT_DELAY_MS,
      maxDelayMs: settings.MAX_DELAY_MS,
    }),
  )
  const paceGroups = readingSettings(() => loadPaceGroups(PACE_GROUPS))
  const ranges = entriesOf(settings.DECORUM_ALLOW_ADDRESSES)
  readingSettings(() => addressGuard(ranges), 'DECORUM_ALLOW_ADDRESSES')
  const guard = readingSettings(
    () => addressGuard(ranges, entriesOf(settings.DECORUM_ALLOW_PORTS)),
    'DECORUM_ALLOW_PORTS',
  )
  return {
    ...settings,
    agents,
    paceGroups,
    guard,
    dnsServers: readingSettings(() => dnsServersOf(DNS_SERVERS), 'DNS_SERVERS'),
  }
}

function dnsServersOf(text: string): string[] {
  return entriesOf(text).map((entry) => {
    try {
      new Resolver().setServers([entry])
      return entry
    } catch {
      throw new Error(`'${entry}' is not the address of a DNS server such as 192.0.2.53 or [2001:db8::53]:5353`)
    }
  })
}
