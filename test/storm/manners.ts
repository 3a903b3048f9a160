/** The times of a fleet under fire, and the environment that says them to its processes. */
import { agentsOf, type JudgeOptions } from '@decorum/audit'
import { isSetting, loadAgents } from '@decorum/config'

export type Times = {
  delayMs: number
  capMs: number
  deadlineMs: number
  leaseMs: number
  quarantineMs: number
  robotsRetryMs: number
  backOffMs: number
  /** a taken lane that nobody begins, and a candidates job of a dead gateway, come back after this */
  reserveMs: number
  intakeLockMs: number
  /** fetching processes under a supervisor, whose patience is 5 s whatever the lease; 0: none */
  fetchProcesses: number
}

/** A lost lease comes back within seconds; too short for a supervisor to be of use. */
export const SCALED: Times = {
  delayMs: 150,
  capMs: 2_000,
  deadlineMs: 1_200,
  leaseMs: 2_000,
  quarantineMs: 300,
  robotsRetryMs: 1_000,
  backOffMs: 500,
  reserveMs: 2_000,
  intakeLockMs: 2_000,
  fetchProcesses: 0,
}

/** As the product comes. */
export const DEFAULTS: Times = {
  delayMs: 1_000,
  capMs: 10_000,
  deadlineMs: 30_000,
  leaseMs: 45_000,
  quarantineMs: 10_000,
  robotsRetryMs: 60_000,
  backOffMs: 60_000,
  reserveMs: 30_000,
  intakeLockMs: 30_000,
  fetchProcesses: 1,
}

const agentOf = (name: string) => ({
  name,
  userAgent: `Mozilla/5.0 (compatible; ${name}/1.0; +https://example.com/bot)`,
})
/** The agent of permits' holders that lie. */
export const LIAR = 'liarbot'
const AGENTS = [agentOf('stormbot'), agentOf(LIAR)]
/** Loopback open, and nothing of the user's own settings. */
export function environment(redisUrl: string, times: Times, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !isSetting(name))
  return {
    ...Object.fromEntries(own),
    REDIS_URL: redisUrl,
    DECORUM_AGENTS: JSON.stringify(AGENTS),
    PERMIT_MAX_MS: String(times.leaseMs * 3),
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
    DEFAULT_DELAY_MS: String(times.delayMs),
    MAX_DELAY_MS: String(times.capMs),
    FETCH_DEADLINE_MS: String(times.deadlineMs),
    LEASE_MS: String(times.leaseMs),
    QUARANTINE_MS: String(times.quarantineMs),
    ROBOTS_RETRY_MS: String(times.robotsRetryMs),
    BACK_OFF_MS: String(times.backOffMs),
    RESERVE_MS: String(times.reserveMs),
    INTAKE_LOCK_MS: String(times.intakeLockMs),
    FETCH_PROCESSES: String(times.fetchProcesses),
    PAGE_SINK: 'none',
    LOG_LEVEL: 'warn',
    ...more,
  }
}

/** What the configuration is changed to now and then. */
export const longerDelay = ({ delayMs }: Times): number => 2 * delayMs

/** By what the auditor knows this fleet, and what it owes; every violation is kept. */
export const judgedBy = (times: Times): JudgeOptions => ({
  agents: agentsOf({
    agents: loadAgents({
      agents: JSON.stringify(AGENTS),
      defaultDelayMs: times.delayMs,
      maxDelayMs: times.capMs,
    }),
    profile: 'decorum',
    minDelayMs: times.delayMs,
    maxDelayMs: times.capMs,
  }),
  robotsRetryMs: times.robotsRetryMs,
  examples: 100_000,
})
