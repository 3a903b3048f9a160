/** The demo's settings: those of a real fleet, with its times scaled so that an outage fits into half a minute. */
import { common } from '@decorum/config'
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

/** Settings that services read and that are not the fleet's common ones. */
const OTHERS = [
  'HOST',
  'INTAKE_CONCURRENCY',
  'INTAKE_LOCK_MS',
  'RESERVE_MS',
  'FETCH_PROCESSES',
  'PAGE_SINK',
  'FETCH_CONCURRENCY',
  'PAGE_MAX_BYTES',
  'ARCHIVE_DIR',
  'DNS_SERVERS',
]

/** The environment of the demo's processes: the user's own settings of a real fleet take no part. */
export function demoEnv(env: NodeJS.ProcessEnv, redisUrl: string): NodeJS.ProcessEnv {
  const clean = Object.fromEntries(Object.entries(env).filter(([name]) => !(name in common) && !OTHERS.includes(name)))
  return {
    ...clean,
    REDIS_URL: redisUrl,
    DECORUM_AGENTS: JSON.stringify(DEMO_AGENTS),
    DECORUM_ALLOW_ADDRESSES: DEMO.addresses,
    DEFAULT_DELAY_MS: String(DEMO.delayMs),
    MAX_DELAY_MS: String(DEMO.capMs),
    FETCH_DEADLINE_MS: String(DEMO.fetchDeadlineMs),
    LEASE_MS: String(DEMO.leaseMs),
    QUARANTINE_MS: String(DEMO.quarantineMs),
    ROBOTS_RETRY_MS: String(DEMO.robotsRetryMs),
    LOG_LEVEL: 'warn',
  }
}
