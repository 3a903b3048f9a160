/** The settings of the proxy, read once from its environment. The settings themselves are in @decorum/config. */

import {
  agentsOf,
  dnsServers,
  entriesOf,
  readEgress,
  readingSettings,
  readSettings,
  readSitePolicies,
  schemaOf,
} from '@decorum/config'
import { loadPaceGroups } from '@decorum/politeness'
import { addressGuard } from '@decorum/politeness/admission'
import { permitTokens } from '@decorum/sending/granting'

const Settings = schemaOf('proxy')

export type ProxyConfig = ReturnType<typeof readConfig>

/** @throws SettingsError naming each wrong variable and what is expected */
export function readConfig(env: Record<string, string | undefined>) {
  const { PACE_GROUPS, SITE_POLICIES, DECORUM_PERMIT_TOKENS, EGRESS, DNS_SERVERS, PROXY_HOSTS, ...settings } =
    readSettings(Settings, env)
  const agents = agentsOf(settings)
  return {
    ...settings,
    agents,
    /** undefined: the proxy serves only this machine, without credentials */
    tokens: permitTokens({ ...settings, DECORUM_PERMIT_TOKENS }, agents, 'the proxy listens beyond loopback'),
    egress: readingSettings(() =>
      readEgress(
        EGRESS,
        agents.list.map(({ key }) => key),
      ),
    ),
    dnsServers: dnsServers(DNS_SERVERS),
    /** ports that a tunnel may lead to: its content is not seen, and a mail server would read it as mail */
    tunnelPorts: new Set([443, ...entriesOf(settings.DECORUM_ALLOW_PORTS).map(Number)]),
    guard: addressGuard(entriesOf(settings.DECORUM_ALLOW_ADDRESSES), entriesOf(settings.DECORUM_ALLOW_PORTS)),
    sitePolicies: readingSettings(() => readSitePolicies(SITE_POLICIES)),
    paceGroups: readingSettings(() => loadPaceGroups(PACE_GROUPS)),
    /** hosts that may be requested, with all names below them; empty: all hosts */
    hosts: entriesOf(PROXY_HOSTS).map((host) => host.toLowerCase()),
  }
}
