/** Settings of the fleet for conform: short times, so that a lost lease is reassigned within seconds, and small pages. */
export const POOL = 'conform'
export const AGENT = {
  name: 'conformbot',
  userAgent: 'Mozilla/5.0 (compatible; conformbot/1.0; +https://example.com/conformbot)',
  pool: POOL,
}

export const CONFORM = {
  DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8',
  DEFAULT_DELAY_MS: 200,
  MAX_DELAY_MS: 2_000,
  FETCH_DEADLINE_MS: 4_000,
  LEASE_MS: 5_000,
  QUARANTINE_MS: 500,
  ROBOTS_RETRY_MS: 1_000,
  BACK_OFF_MS: 1_000,
  PAGE_MAX_BYTES: 65_536,
  PERMIT_MAX_MS: 12_000,
  MAX_ATTEMPTS: 3,
  FETCH_PROCESSES: 0, // supervision has no effect on a worker
  LOG_LEVEL: 'warn',
}
