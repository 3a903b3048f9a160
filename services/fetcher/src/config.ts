/** The settings of a fetcher, read once from its environment. The settings themselves are in @decorum/config. */

import {
  agentsOf,
  dnsServers,
  entriesOf,
  inheritedCrawls,
  readEgress,
  readingSettings,
  readSettings,
  schemaOf,
} from '@decorum/config'
import { thisHost } from '@decorum/content/reference'
import { loadPaceGroups } from '@decorum/politeness'
import { addressGuard } from '@decorum/politeness/admission'

const Settings = schemaOf('fetcher')

export type Config = ReturnType<typeof readConfig>

/** @throws SettingsError naming each wrong variable */
export function readConfig(env: Record<string, string | undefined>) {
  const { DNS_SERVERS, EGRESS, PACE_GROUPS, ...settings } = readSettings(Settings, env)
  const agents = agentsOf(settings)
  return {
    ...settings,
    agents,
    crawls: inheritedCrawls(env),
    egress: readingSettings(() =>
      readEgress(
        EGRESS,
        agents.list.map(({ key }) => key),
      ),
    ),
    paceGroups: readingSettings(() => loadPaceGroups(PACE_GROUPS)),
    guard: addressGuard(entriesOf(settings.DECORUM_ALLOW_ADDRESSES), entriesOf(settings.DECORUM_ALLOW_PORTS)),
    dnsServers: dnsServers(DNS_SERVERS),
  }
}

/** Whether pages are kept: `warc` keeps none without a folder. */
export const keepsPages = ({ PAGE_SINK, ARCHIVE_DIR, crawls }: Config): boolean =>
  PAGE_SINK !== 'none' && (PAGE_SINK !== 'warc' || ARCHIVE_DIR !== '' || crawls !== '')

/**
 * The address at which other machines reach the pages of this process: CONTENT_URL; or its own host name, when it listens beyond
 * loopback on a fixed port and CONTENT_TOKEN is set. '': there is none, and references name the folder.
 */
export function contentUrlOf({ CONTENT_URL, CONTENT_TOKEN, HOST, PORT }: Config): string {
  if (CONTENT_URL !== '') return new URL(CONTENT_URL).origin
  const isReachable = CONTENT_TOKEN !== undefined && PORT !== 0 && !/^(127\.|localhost$|::1$)/.test(HOST)
  return isReachable ? `http://${thisHost()}:${PORT}` : ''
}
