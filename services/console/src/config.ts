/** The settings of the console, read once from its environment. The settings themselves are in @decorum/config. */
import {
  agentsOf,
  entriesOf,
  inheritedCrawls,
  isLoopback,
  readSettings,
  type SettingsOf,
  schemaOf,
  storeSettings,
  wrongSettings,
} from '@decorum/config'

import type { Account, Login } from './access/sessions.ts'

const Settings = schemaOf('console')

/** How long a login lasts: a working day. */
const SESSION_MS = 43_200_000

/** Times of HTTP, ms. */
export type Times = {
  /** interval of comments in a stream without outcomes */
  heartbeatMs: number
  /** a request whose body has not arrived within this time is aborted */
  requestDeadlineMs: number
}

/** Proxies cut streams that are silent for 30 to 60 s; the largest body arrives within a minute over 2 Mbit/s. */
export const TIMES: Times = { heartbeatMs: 15_000, requestDeadlineMs: 60_000 }

export type ConsoleConfig = ReturnType<typeof readConfig>

/** @throws SettingsError naming each wrong variable and what is expected. */
export function readConfig(env: Record<string, string | undefined>) {
  const c = readSettings(Settings, env)
  if (!isLoopback(c.HOST) && c.CONSOLE_PASSWORD === undefined) {
    throw wrongSettings(`CONSOLE_PASSWORD: is needed when the console listens beyond loopback (HOST=${c.HOST})`)
  }
  return {
    redisUrl: c.REDIS_URL,
    partitions: c.DECORUM_PARTITIONS,
    agents: agentsOf(c),
    /** the contact of the crawler's operator; '' when it is not set */
    contact: c.DECORUM_CONTACT ?? '',
    outcomesLimit: c.OUTCOMES_LIMIT,
    leaseMs: c.LEASE_MS,
    quarantineMs: c.QUARANTINE_MS,
    ...TIMES,
    host: c.HOST,
    port: c.PORT,
    logLevel: c.LOG_LEVEL,
    content: {
      archiveDir: c.ARCHIVE_DIR,
      crawls: inheritedCrawls(env),
      contentToken: c.CONTENT_TOKEN,
      store: c.S3_ENDPOINT === '' || c.S3_ACCESS_KEY_ID === undefined ? undefined : storeSettings(c),
    },
    /** proxies whose X-Forwarded-For is trusted */
    trustedProxies: entriesOf(c.CONSOLE_TRUSTED_PROXIES),
    /** undefined: no password is needed, and only loopback names are answered */
    login: loginOf(c),
  }
}

/** @throws SettingsError when two logins cannot be distinguished */
function loginOf(c: SettingsOf<'console'>): Login | undefined {
  if (c.CONSOLE_PASSWORD === undefined) {
    if (c.CONSOLE_READ_PASSWORD === undefined) return undefined
    throw wrongSettings('CONSOLE_READ_PASSWORD: works only together with CONSOLE_PASSWORD, which is not set')
  }
  const accounts: Account[] = [{ user: 'decorum', password: c.CONSOLE_PASSWORD, role: 'operate' }]
  if (c.CONSOLE_READ_PASSWORD !== undefined) {
    accounts.push({ user: 'reader', password: c.CONSOLE_READ_PASSWORD, role: 'read' })
  }
  return { accounts, sessionMs: SESSION_MS }
}
