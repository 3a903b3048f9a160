/** The settings of a gateway, read once from its environment. The settings themselves are in @decorum/config. */
import { agentsOf, readingSettings, readSettings, readSitePolicies, schemaOf } from '@decorum/config'

const Settings = schemaOf('gateway')

export type GatewayConfig = ReturnType<typeof readConfig>

/** @throws SettingsError with a message for the operator */
export function readConfig(env: Record<string, string | undefined>) {
  const { SITE_POLICIES, ...settings } = readSettings(Settings, env)
  return {
    ...settings,
    agents: agentsOf(settings),
    sitePolicies: readingSettings(() => readSitePolicies(SITE_POLICIES)),
  }
}
