/** The settings of the permits service, read once from its environment. The settings themselves are in @decorum/config. */

import { agentsOf, entriesOf, readingSettings, readSettings, readSitePolicies, schemaOf } from '@decorum/config'
import { loadPaceGroups } from '@decorum/politeness'
import { addressGuard } from '@decorum/politeness/admission'
import { permitTokens } from '@decorum/sending/granting'

const Settings = schemaOf('permits')

export type PermitsConfig = ReturnType<typeof readConfig>

/** @throws SettingsError naming each wrong variable and what is expected */
export function readConfig(env: Record<string, string | undefined>) {
  const { PACE_GROUPS, SITE_POLICIES, DECORUM_PERMIT_TOKENS, ...settings } = readSettings(Settings, env)
  const agents = agentsOf(settings)
  return {
    ...settings,
    agents,
    /** undefined: only loopback is answered */
    tokens: permitTokens({ ...settings, DECORUM_PERMIT_TOKENS }, agents, 'permits are given beyond loopback'),
    guard: addressGuard(entriesOf(settings.DECORUM_ALLOW_ADDRESSES), entriesOf(settings.DECORUM_ALLOW_PORTS)),
    sitePolicies: readingSettings(() => readSitePolicies(SITE_POLICIES)),
    paceGroups: readingSettings(() => loadPaceGroups(PACE_GROUPS)),
  }
}
