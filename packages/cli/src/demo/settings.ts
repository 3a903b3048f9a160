/** The demo's settings: those of a real fleet, with its times scaled so that an outage fits into half a minute. */
export const DEMO = {
  DECORUM_ALLOW_ADDRESSES: '127.40.0.0/16', // addresses of the sites (web.ts); no other private address is visited
  DEFAULT_DELAY_MS: 200,
  MAX_DELAY_MS: 10_000,
  FETCH_DEADLINE_MS: 4_000,
  LEASE_MS: 6_000,
  QUARANTINE_MS: 1_000,
  ROBOTS_RETRY_MS: 2_500,
  LOG_LEVEL: 'warn',
}
export const GATEWAYS = 2
export const FETCHERS = 3
/** A crawl that takes longer has failed. */
export const LIMIT_MS = 75_000
