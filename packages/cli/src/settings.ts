/** Settings that the command reads itself; each role reads and checks its settings separately. */
import { agentsOf, readSettings, SETTINGS, schemaOf } from '@decorum/config'

/** REDIS_URL and PORT are optional, because a command may start a Redis and choose its ports. */
const Settings = schemaOf('command').partial({ REDIS_URL: true }).extend({
  PORT: SETTINGS.PORT.schema.unwrap().optional(),
})

/** Time to complete leases and to close connections after the last deadline. */
const SETTLE_MS = 10_000

export type CliSettings = ReturnType<typeof readCliSettings>

/** @throws SettingsError naming each wrong variable and each relation that does not hold */
export function readCliSettings(env: NodeJS.ProcessEnv) {
  const c = readSettings(Settings, env)
  return {
    redisUrl: c.REDIS_URL,
    partitions: c.DECORUM_PARTITIONS,
    agents: agentsOf(c),
    allowAddresses: c.DECORUM_ALLOW_ADDRESSES,
    /** time until the lease of a lost fetcher ends, ms; its lane is due after the quarantine */
    leaseMs: c.LEASE_MS,
    quarantineMs: c.QUARANTINE_MS,
    /** a draining fleet completes its leases within this, ms */
    drainMs: c.FETCH_DEADLINE_MS + SETTLE_MS,
    archiveDir: c.ARCHIVE_DIR || undefined,
    /** whether and how the fleet keeps pages */
    pageSink: c.PAGE_SINK,
    /** the store for pages with PAGE_SINK=s3 */
    store: `s3://${c.S3_BUCKET}`,
    port: c.PORT,
  }
}

/** Lines to print before anything is sent: the User-Agent, and allowed addresses that the address guard would otherwise refuse. */
export function whatIsOpened({ agents, allowAddresses }: CliSettings): string[] {
  const { default: agent } = agents
  const opened = allowAddresses === '' ? [] : [`opened: DECORUM_ALLOW_ADDRESSES=${allowAddresses}`]
  if (agent.hasContact) return [`User-Agent: ${agent.userAgent}`, ...opened]
  const only = allowAddresses === '' ? 'none is given' : allowAddresses
  return [
    `no contact given: only addresses of DECORUM_ALLOW_ADDRESSES are visited (${only}); ` +
      'set DECORUM_CONTACT=https://… or an e-mail address to visit others',
  ]
}
