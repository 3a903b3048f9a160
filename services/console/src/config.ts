/** What the console is told by its environment, read once. */
import {
  type Agents,
  common,
  loadAgents,
  readingSettings,
  readSettings,
  SettingsError,
  wholeNumber,
} from '@decorum/config'
import { z } from 'zod'

const Settings = z.object({
  REDIS_URL: common.REDIS_URL,
  DECORUM_PARTITIONS: common.DECORUM_PARTITIONS,
  DECORUM_AGENTS: common.DECORUM_AGENTS,
  DECORUM_CONTACT: common.DECORUM_CONTACT,
  DEFAULT_DELAY_MS: common.DEFAULT_DELAY_MS,
  MAX_DELAY_MS: common.MAX_DELAY_MS,
  OUTCOMES_LIMIT: common.OUTCOMES_LIMIT,
  LEASE_MS: common.LEASE_MS, //           whoever meets a restarted Redis first holds all grants for these two
  QUARANTINE_MS: common.QUARANTINE_MS,
  PORT: common.PORT,
  LOG_LEVEL: common.LOG_LEVEL,
  HOST: z.string().default('127.0.0.1'), // whoever reaches the console sees every URL and can add more
  HEARTBEAT_MS: wholeNumber(10).default(15_000), // proxies cut streams that are silent for 30 to 60 s
  REQUEST_DEADLINE_MS: wholeNumber(100).default(60_000), // to the last octet of a request's body
  CONSOLE_USER: z.string().default('decorum'),
  CONSOLE_PASSWORD: z.string().min(8, 'at least 8 characters are needed').optional(), // required on a HOST beyond loopback
})

export type ConsoleConfig = {
  redisUrl: string
  partitions: number
  agents: Agents
  outcomesLimit: number
  leaseMs: number
  quarantineMs: number
  /** a stream of outcomes that has nothing to tell says so this often, ms */
  heartbeatMs: number
  /** a request that has not come in whole by then is given up, ms */
  requestDeadlineMs: number
  host: string
  port: number
  logLevel: 'silent' | 'error' | 'warn' | 'info' | 'debug'
  /** undefined: no password is asked, and only loopback names are answered */
  login: { user: string; password: string } | undefined
}

/** @throws SettingsError naming each wrong variable and what is expected. */
export function readConfig(env: Record<string, string | undefined>): ConsoleConfig {
  const c = readSettings(Settings, env)
  if (!isLoopback(c.HOST) && c.CONSOLE_PASSWORD === undefined) {
    throw new SettingsError(
      `wrong settings:\n  CONSOLE_PASSWORD: is needed when the console listens beyond loopback (HOST=${c.HOST})`,
    )
  }
  return {
    redisUrl: c.REDIS_URL,
    partitions: c.DECORUM_PARTITIONS,
    agents: readAgents(c),
    outcomesLimit: c.OUTCOMES_LIMIT,
    leaseMs: c.LEASE_MS,
    quarantineMs: c.QUARANTINE_MS,
    heartbeatMs: c.HEARTBEAT_MS,
    requestDeadlineMs: c.REQUEST_DEADLINE_MS,
    host: c.HOST,
    port: c.PORT,
    logLevel: c.LOG_LEVEL,
    login: c.CONSOLE_PASSWORD === undefined ? undefined : { user: c.CONSOLE_USER, password: c.CONSOLE_PASSWORD },
  }
}

function readAgents(c: z.output<typeof Settings>): Agents {
  return readingSettings(() =>
    loadAgents({
      agents: c.DECORUM_AGENTS,
      contact: c.DECORUM_CONTACT,
      defaultDelayMs: c.DEFAULT_DELAY_MS,
      maxDelayMs: c.MAX_DELAY_MS,
    }),
  )
}

/** Names and literals that only this machine answers to. An IPv6 literal may come with or without brackets. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  return bare === 'localhost' || bare === '::1' || /^127(\.\d{1,3}){3}$/.test(bare)
}
