/** The settings that the command itself reads; each role reads and checks its own. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  type Agents,
  checkRelations,
  common,
  loadAgents,
  readSettings,
  SettingsError,
  wholeNumber,
} from '@decorum/config'
import { z } from 'zod'
import { messageOf } from './exit.ts'

const Settings = z.object({
  REDIS_URL: common.REDIS_URL.optional(),
  DECORUM_PARTITIONS: common.DECORUM_PARTITIONS,
  DECORUM_AGENTS: common.DECORUM_AGENTS,
  DECORUM_CONTACT: common.DECORUM_CONTACT,
  DECORUM_ALLOW_ADDRESSES: common.DECORUM_ALLOW_ADDRESSES,
  DEFAULT_DELAY_MS: common.DEFAULT_DELAY_MS,
  MAX_DELAY_MS: common.MAX_DELAY_MS,
  FETCH_DEADLINE_MS: common.FETCH_DEADLINE_MS,
  LEASE_MS: common.LEASE_MS,
  QUARANTINE_MS: common.QUARANTINE_MS,
  ARCHIVE_DIR: z.string().optional(),
  PORT: wholeNumber(0, 65_535).optional(),
})

export type CliSettings = {
  redisUrl: string | undefined
  partitions: number
  agents: Agents
  allowAddresses: string
  /** of a lane whose fetcher is lost, ms */
  leaseMs: number
  quarantineMs: number
  /** a fleet that drains completes its leases within this, ms */
  drainMs: number
  archiveDir: string | undefined
  port: number | undefined
}

/** Time to complete leases and to close connections after the last deadline. */
const SETTLE_MS = 10_000

/** @throws SettingsError naming each wrong variable, or the relation that does not hold */
export function readCliSettings(env: NodeJS.ProcessEnv): CliSettings {
  const c = readSettings(Settings, env)
  checkRelations(c)
  return {
    redisUrl: c.REDIS_URL,
    partitions: c.DECORUM_PARTITIONS,
    agents: readAgents(c),
    allowAddresses: c.DECORUM_ALLOW_ADDRESSES,
    leaseMs: c.LEASE_MS,
    quarantineMs: c.QUARANTINE_MS,
    drainMs: c.FETCH_DEADLINE_MS + SETTLE_MS,
    archiveDir: c.ARCHIVE_DIR,
    port: c.PORT,
  }
}

function readAgents(c: z.output<typeof Settings>): Agents {
  try {
    const {
      DECORUM_AGENTS: agents,
      DECORUM_CONTACT: contact,
      DEFAULT_DELAY_MS: defaultDelayMs,
      MAX_DELAY_MS: maxDelayMs,
    } = c
    return loadAgents({ agents, contact, defaultDelayMs, maxDelayMs })
  } catch (error) {
    throw new SettingsError(messageOf(error))
  }
}

/** Who visits, and what may be visited that the address guard would refuse: said once, before anything is sent. */
export function whatIsOpened({ agents, allowAddresses }: CliSettings): string[] {
  const { default: agent } = agents
  const opened = allowAddresses === '' ? [] : [`opened: DECORUM_ALLOW_ADDRESSES=${allowAddresses}`]
  if (agent.hasContact) return [`we say: ${agent.userAgent}`, ...opened]
  const only = allowAddresses === '' ? 'none is given' : allowAddresses
  return [
    `no contact given: only addresses of DECORUM_ALLOW_ADDRESSES are visited (${only}); ` +
      'set DECORUM_CONTACT=https://… or an e-mail address to visit others',
  ]
}

/** Settings that must be the same in all processes of a fleet; two commands that differ in them cannot work on one Redis. */
export function sharedSettings(env: NodeJS.ProcessEnv, settings: CliSettings): Record<string, string> {
  const { agents, allowAddresses, partitions, leaseMs, quarantineMs } = settings
  return {
    'DECORUM_AGENTS, DECORUM_CONTACT, DEFAULT_DELAY_MS or MAX_DELAY_MS': JSON.stringify(agents.list),
    DECORUM_ALLOW_ADDRESSES: allowAddresses,
    DECORUM_ALLOW_PORTS: env.DECORUM_ALLOW_PORTS ?? '',
    DECORUM_PARTITIONS: String(partitions),
    PACE_GROUPS: env.PACE_GROUPS ?? '',
    LEASE_MS: String(leaseMs),
    QUARANTINE_MS: String(quarantineMs),
  }
}

/** Where an embedded Redis keeps its data unless told otherwise: one place per user, so one fleet knows every site. */
export function dataFolder(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'decorum')
}
