/** Settings of the fleet for conform: short times, so that a lost lease is reassigned within seconds, and small pages. */
import { isolatedEnv } from '../isolated-env.ts'

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

export const conformEnv = (env: NodeJS.ProcessEnv, redisUrl: string): NodeJS.ProcessEnv =>
  isolatedEnv(env, {
    REDIS_URL: redisUrl,
    DECORUM_AGENTS: JSON.stringify([CONFORM.agent]),
    DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
    DEFAULT_DELAY_MS: CONFORM.delayMs,
    MAX_DELAY_MS: CONFORM.capMs,
    FETCH_DEADLINE_MS: CONFORM.deadlineMs,
    LEASE_MS: CONFORM.leaseMs,
    QUARANTINE_MS: CONFORM.quarantineMs,
    ROBOTS_RETRY_MS: CONFORM.robotsRetryMs,
    BACK_OFF_MS: CONFORM.backOffMs,
    PAGE_MAX_BYTES: CONFORM.pageMaxBytes,
    PERMIT_MAX_MS: CONFORM.permitMaxMs,
    MAX_ATTEMPTS: CONFORM.maxAttempts,
    FETCH_PROCESSES: 0, // supervision has no effect on a worker
    LOG_LEVEL: 'warn',
  })
