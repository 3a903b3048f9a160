/** What a fetcher is told by its environment, read once. The settings themselves are in @decorum/config. */
import {
  type Agents,
  agentsOf,
  checkRelations,
  dnsServers,
  entriesOf,
  readingSettings,
  readSettings,
  type SettingsOf,
  schemaOf,
} from '@decorum/config'
import { loadPaceGroups, type PaceGroups } from '@decorum/politeness'
import { type AddressGuard, addressGuard } from './http/address-guard.ts'

const Settings = schemaOf('fetcher')

export type Config = Omit<SettingsOf<'fetcher'>, 'DNS_SERVERS' | 'PACE_GROUPS'> & {
  agents: Agents
  paceGroups: PaceGroups
  guard: AddressGuard
  dnsServers: string[]
}

/** @throws SettingsError naming each wrong variable */
export function readConfig(env: Record<string, string | undefined>): Config {
  const { DNS_SERVERS, PACE_GROUPS, ...settings } = readSettings(Settings, env)
  checkRelations(settings)
  return {
    ...settings,
    agents: agentsOf(settings),
    paceGroups: readingSettings(() => loadPaceGroups(PACE_GROUPS)),
    guard: addressGuard(entriesOf(settings.DECORUM_ALLOW_ADDRESSES), entriesOf(settings.DECORUM_ALLOW_PORTS)),
    dnsServers: dnsServers(DNS_SERVERS),
  }
}
