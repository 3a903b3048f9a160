/** Settings of the fleet for conform: short times, so that a lost lease is reassigned within seconds, and small pages. */
import { isSetting } from '@decorum/config'

export const CONFORM = {
  pool: 'conform',
  delayMs: 200,
  capMs: 2_000,
  deadlineMs: 4_000,
  leaseMs: 5_000,
  quarantineMs: 500,
  robotsRetryMs: 1_000,
  backOffMs: 1_000,
  pageMaxBytes: 65_536,
  maxAttempts: 3,
  permitMaxMs: 12_000,
  agent: {
    name: 'conformbot',
    userAgent: 'Mozilla/5.0 (compatible; conformbot/1.0; +https://example.com/conformbot)',
    pool: 'conform',
  },
} as const

/** The user's settings of a real fleet have no effect here. */
export function conformEnv(env: NodeJS.ProcessEnv, redisUrl: string): NodeJS.ProcessEnv {
  const clean = Object.fromEntries(Object.entries(env).filter(([name]) => !isSetting(name)))
  return {
    ...clean,
    REDIS_URL: redisUrl,
    DECORUM_AGENTS: JSON.stringify([CONFORM.agent]),
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
    DEFAULT_DELAY_MS: String(CONFORM.delayMs),
    MAX_DELAY_MS: String(CONFORM.capMs),
    FETCH_DEADLINE_MS: String(CONFORM.deadlineMs),
    LEASE_MS: String(CONFORM.leaseMs),
    QUARANTINE_MS: String(CONFORM.quarantineMs),
    ROBOTS_RETRY_MS: String(CONFORM.robotsRetryMs),
    BACK_OFF_MS: String(CONFORM.backOffMs),
    PAGE_MAX_BYTES: String(CONFORM.pageMaxBytes),
    PERMIT_MAX_MS: String(CONFORM.permitMaxMs),
    MAX_ATTEMPTS: String(CONFORM.maxAttempts),
    FETCH_PROCESSES: '0', // supervision has no effect on a worker
    LOG_LEVEL: 'warn',
  }
}
