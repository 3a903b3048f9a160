/** The settings of the permits service, read once from its environment. The settings themselves are in @decorum/config. */
import { addressGuard } from '@decorum/admission'
import {
  agentsOf,
  entriesOf,
  isLoopback,
  type PermitToken,
  readingSettings,
  readPermitTokens,
  readSettings,
  readSitePolicies,
  schemaOf,
  wrongSettings,
} from '@decorum/config'
import { loadPaceGroups } from '@decorum/politeness'

const Settings = schemaOf('permits')

/** A caller; the token itself is compared in access.ts. */
export type Token = Omit<PermitToken, 'token'>

export type PermitsConfig = ReturnType<typeof readConfig>

/** @throws SettingsError naming each wrong variable and what is expected */
export function readConfig(env: Record<string, string | undefined>) {
  const { PACE_GROUPS, SITE_POLICIES, DECORUM_PERMIT_TOKENS, ...settings } = readSettings(Settings, env)
  const tokens =
    DECORUM_PERMIT_TOKENS === undefined ? undefined : readingSettings(() => readPermitTokens(DECORUM_PERMIT_TOKENS))
  if (!isLoopback(settings.HOST) && tokens === undefined)
    throw wrongSettings(
      `DECORUM_PERMIT_TOKENS: is needed when permits are given beyond loopback (HOST=${settings.HOST})`,
    )
  const agents = agentsOf(settings)
  const unknown = (tokens ?? []).flatMap(({ name, agents: allowed = [] }) =>
    allowed
      .filter((agent) => agents.find(agent) === undefined)
      .map((agent) => `DECORUM_PERMIT_TOKENS: ${name}: there is no agent ${agent}`),
  )
  if (unknown.length > 0) throw wrongSettings(...unknown)
  return {
    ...settings,
    agents,
    /** undefined: loopback alone is answered */
    tokens,
    guard: addressGuard(entriesOf(settings.DECORUM_ALLOW_ADDRESSES), entriesOf(settings.DECORUM_ALLOW_PORTS)),
    sitePolicies: readingSettings(() => readSitePolicies(SITE_POLICIES)),
    paceGroups: readingSettings(() => loadPaceGroups(PACE_GROUPS)),
  }
}
