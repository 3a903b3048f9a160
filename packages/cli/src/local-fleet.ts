/** Redis and the fleet on it, for `up` and `crawl`: started in order, drained and stopped in order. */
import { randomBytes } from 'node:crypto'
import { canUpgradeAlone, upgrade } from '@decorum/ledger/move'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { defined } from '@decorum/runtime/defined'
import { decidedEnv } from './agreed-settings.ts'
import { type CrawlNote, crawlsFolder, removeCrawlNote, writeCrawlNote } from './crawl-note.ts'
import type { EarlyFleet } from './early-fleet.ts'
import type { RoleEvent } from './fleet.ts'
import { messageOf, UsageError } from './exit.ts'
import { dataFolder, ensureRedis, type Meeting, openMeetingPlace, privateFolder } from './local-redis/index.ts'
import type { Print } from './say.ts'
import { type CliSettings, readCliSettings } from './settings.ts'
import { withRedis } from './with-redis.ts'

export type LocalFleetOptions = {
  settings: CliSettings
  /** environment of the roles; REDIS_URL is set here */
  env: NodeJS.ProcessEnv
  /** data folder of an embedded Redis */
  dataDir: string
  /** the fleet goes on with the work of an earlier one, by its settings where `env` leaves them out */
  resumed?: boolean
  /** when a fleet of this user already runs: use its Redis, or refuse to start */
  whenTaken: 'join' | 'refuse'
  /** a note for all fetchers on this Redis, also those of other commands, where to keep the crawl's pages; absent: none is written */
  crawl?: CrawlNote
  /** a fleet that has not begun */
  fleet: EarlyFleet
  onEvent: (event: RoleEvent) => void
  /** receives the messages about Redis */
  print: Print
}

export type LocalFleet = Awaited<ReturnType<typeof openLocalFleet>>

/** @throws any error that keeps Redis, the ledger or a role from starting; everything already started is stopped first */
export async function openLocalFleet(options: LocalFleetOptions) {
  const { dataDir, whenTaken, crawl, resumed = false } = options
  const log = (line: string) => options.print('redis', line)
  const meeting = await meetingOf(options.env, options.settings, whenTaken, log)
  const redis = await ensureRedis({ url: options.settings.redisUrl ?? '', dataDir, log, ...defined({ meeting }) })
  let ledger: LedgerWithViews | undefined
  try {
    const settings = readCliSettings(await decidedEnv(options.env, redis, resumed))
    await upgradeAlone(redis.url, log)
    ledger = await openLedgerWithViews({ ...settings, redis: redis.url, onNotice: log })
    for (const warning of ledger.warnings) log(`Redis: ${warning}`)
    if (meeting !== undefined && crawl !== undefined) await writeCrawlNote(meeting.place, crawl)
    const env = {
      ...options.env,
      // Every user of this machine can reach a fetcher's port, but only those who can read its folder may read pages.
      CONTENT_TOKEN: options.env.CONTENT_TOKEN || randomBytes(24).toString('hex'),
      REDIS_URL: redis.url,
      DECORUM_CRAWLS: meeting === undefined ? '' : crawlsFolder(meeting.place),
    }
    const opened = ledger
    const fleet = await options.fleet.begin(env, options.onEvent)
    let draining: Promise<boolean> | undefined
    /** Stops new requests, completes leases in flight, ends the role processes. May be called twice. @returns whether all drained */
    const drain = () => {
      draining ??= fleet.stop(settings.drainMs)
      return draining
    }
    return {
      redis,
      /** The settings that the fleet has agreed on. */
      settings,
      ledger,
      /** After `fleet.kill()`, `close()` only has to stop Redis. */
      fleet,
      drain,
      /** Removes the crawl's note when the crawl is over, so that fetchers of other commands close its files. */
      async finish() {
        if (meeting !== undefined && crawl !== undefined)
          await removeCrawlNote(meeting.place, crawl, await redis.isShared())
      },
      /** Drains, then releases Redis: an embedded one is stopped with its data on disk, unless another command still uses it. */
      async close() {
        // Only after every lease has been completed may the next start skip the startup hold.
        if ((await drain()) && !(await redis.isShared())) await opened.announceRestart().catch(() => undefined)
        await opened.close()
        await redis.stop()
      },
    }
  } catch (error) {
    await ledger?.close()
    await redis.stop()
    throw error
  }
}

/** Upgrades the data of an earlier version without confirmation if no process uses it. */
const upgradeAlone = (url: string, log: (line: string) => void): Promise<void> =>
  withRedis(async (link) => {
    if (!(await canUpgradeAlone(link))) return
    const { from, to, closedMs } = await upgrade({ redis: link })
    log(`the ledger was of an earlier version: layout ${from} became ${to} in ${closedMs / 1_000} s`)
  }, url)

/**
 * Makes the folder for the data of a fleet, before anything is started.
 * @throws UsageError that says how to name another one
 */
export const makeDataFolder = (folder: string): Promise<void> =>
  privateFolder(folder).catch((error: unknown) => {
    throw new UsageError(
      `no data can be kept in ${folder} (${messageOf(error)}): name one that you can write to by XDG_DATA_HOME, for 'up' also by --data`,
    )
  })

/** @returns undefined if REDIS_URL is given, or if this user can have no shared folder: other fleets are then not noticed */
async function meetingOf(
  env: NodeJS.ProcessEnv,
  settings: CliSettings,
  whenTaken: 'join' | 'refuse',
  log: (line: string) => void,
): Promise<Meeting | undefined> {
  if (settings.redisUrl !== undefined) return undefined
  const folder = dataFolder(env)
  const place = await openMeetingPlace(folder)
  if (place !== undefined) return { place, whenTaken }
  log(`${folder} cannot be used: another fleet on this machine would not be noticed, and would be a second visitor`)
  return undefined
}
