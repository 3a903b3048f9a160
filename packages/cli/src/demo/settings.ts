/** The demo's settings: those of a real fleet, with its times scaled so that an outage fits into half a minute. */
import { isolatedEnv } from '../isolated-env.ts'
import { DEMO_AGENTS } from './sites.ts'

export const DEMO = {
  gateways: 2,
  fetchers: 3,
  delayMs: 200,
  capMs: 10_000,
  fetchDeadlineMs: 4_000,
  leaseMs: 6_000,
  quarantineMs: 1_000,
  /** first retry of an unreachable robots.txt; then twice as late each time */
  robotsRetryMs: 2_500,
  /** the sites' addresses (web.ts), opened in the fetchers' address guard; nothing else private is */
  addresses: '127.40.0.0/16',
  /** a crawl that has not ended by then has failed */
  limitMs: 75_000,
}

export const demoEnv = (env: NodeJS.ProcessEnv, redisUrl: string): NodeJS.ProcessEnv =>
  isolatedEnv(env, {
    REDIS_URL: redisUrl,
    DECORUM_AGENTS: JSON.stringify(DEMO_AGENTS),
    DECORUM_ALLOW_ADDRESSES: DEMO.addresses,
    DEFAULT_DELAY_MS: DEMO.delayMs,
    MAX_DELAY_MS: DEMO.capMs,
    FETCH_DEADLINE_MS: DEMO.fetchDeadlineMs,
    LEASE_MS: DEMO.leaseMs,
    QUARANTINE_MS: DEMO.quarantineMs,
    ROBOTS_RETRY_MS: DEMO.robotsRetryMs,
    LOG_LEVEL: 'warn',
  })
