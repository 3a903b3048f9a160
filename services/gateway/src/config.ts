/** The settings of a gateway, read once. */
import { checkRelations, common, loadAgents, readingSettings, readSettings, wholeNumber } from '@decorum/config'
import { addressRanges } from '@decorum/protocol'
import { z } from 'zod'

const Settings = z.object({
  ...common,
  /** where the health server listens */
  HOST: z.string().default('127.0.0.1'),
  /** jobs of `candidates` worked on at once, per partition */
  INTAKE_CONCURRENCY: wholeNumber(1, 64).default(4),
  /** a job of `candidates` whose gateway died is delivered again after this, at the latest after twice this */
  INTAKE_LOCK_MS: wholeNumber(1_000).default(30_000),
  /** a reserved lane that no fetcher has started is due again after this */
  RESERVE_MS: wholeNumber(1_000).default(30_000),
})

export type GatewayConfig = ReturnType<typeof readConfig>

/** @throws SettingsError with a message for the person who set them */
export function readConfig(env: Record<string, string | undefined>) {
  const settings = readSettings(Settings, env)
  checkRelations(settings)
  readingSettings(() => addressRanges(settings.DECORUM_ALLOW_ADDRESSES), 'DECORUM_ALLOW_ADDRESSES')
  return { ...settings, agents: readingSettings(() => loadAgents(agentSettings(settings))) }
}

const agentSettings = (s: z.output<typeof Settings>) => ({
  agents: s.DECORUM_AGENTS,
  contact: s.DECORUM_CONTACT,
  defaultDelayMs: s.DEFAULT_DELAY_MS,
  maxDelayMs: s.MAX_DELAY_MS,
})
