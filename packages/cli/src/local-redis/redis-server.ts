/** A Redis for the commands: the one that REDIS_URL names, else an embedded one that runs as long as it is used. */
import { mkdtemp, readdir, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fleetAt } from '@decorum/client/fleet-here'
import { announceNew, linkTo } from '@decorum/ledger'
import { withoutLogin } from '@decorum/protocol'
import { defined } from '@decorum/runtime/defined'
import { CommandError, messageOf } from '../exit.ts'
import { withRedis } from '../with-redis.ts'
import { folderTaken, keepRedis } from './keep-redis.ts'
import { privateFolder } from './make-folder.ts'
import { underLock, writeFleet } from './meeting-place.ts'
import { findRedis } from './redis-binary.ts'
import type { RunningRedis } from './running-redis.ts'

export type EnsureRedisOptions = {
  /** REDIS_URL as the settings give it; absent or empty: an embedded Redis. */
  url?: string
  /** Data folder of the embedded Redis, made if absent and kept; without one a temporary folder, removed at the end. */
  dataDir?: string
  /** Where other commands find this Redis; absent: it is not shared, such as a Redis in a temporary folder. */
  meeting?: Meeting
  /** Receives a line for people at each download or restart. */
  log: (line: string) => void
}

export type Meeting = {
  /** see `openMeetingPlace` */
  place: string
  /** when a fleet of this user runs already: use its Redis, or refuse to start */
  whenTaken: 'join' | 'refuse'
}

/**
 * A Redis that answers: the given URL; else the one of the fleet that runs for this user; else a server from PATH, from the
 * cache folder, from the distribution's package (see `findRedis`), listening on loopback only, with a password.
 * @throws  CommandError when no Redis can be started · LedgerUnavailableError when the given one does not answer
 */
export async function ensureRedis(options: EnsureRedisOptions): Promise<RunningRedis> {
  const { url, meeting, log } = options
  if (url) {
    await withRedis(async () => undefined, url)
    return { url, place: withoutLogin(url), kind: 'given', isShared: async () => true, stop: async () => {} }
  }
  const binary = await findRedis(log)
  const start = async (): Promise<RunningRedis & { dir: string }> => {
    const temporary = options.dataDir === undefined
    const dir = await dataFolder(options.dataDir)
    const isNew = (await readdir(dir)).length === 0
    const redis = await keepRedis({ binary, dir, temporary, ...defined({ place: meeting?.place }) }, log)
    if (isNew) await announceNewLedger(redis)
    return redis
  }
  if (meeting === undefined) return start()
  const { place, whenTaken } = meeting
  return underLock(place, async () => {
    const running = await fleetAt(place)
    if (running === undefined) {
      const redis = await start()
      await writeFleet(place, { dir: redis.dir })
      return redis
    }
    if (whenTaken === 'refuse') throw folderTaken(running.dir, withoutLogin(running.url))
    return keepRedis({ binary, dir: running.dir, temporary: false, place }, log, running)
  })
}

/** The folder is new, so no process can have a lease from an earlier ledger there, and no startup hold is needed. */
async function announceNewLedger({ url }: RunningRedis): Promise<void> {
  const link = linkTo(url, { away: 'wait' })
  link.on('error', () => {}) // the guardian reports the end of Redis
  await announceNew(link, 'unknown').finally(() => link.disconnect())
}

async function dataFolder(kept: string | undefined): Promise<string> {
  try {
    if (kept === undefined) return await realpath(await mkdtemp(join(tmpdir(), 'decorum-redis-')))
    await privateFolder(resolve(kept))
    return await realpath(kept)
  } catch (error) {
    throw new CommandError(`the data folder of the embedded Redis cannot be made: ${messageOf(error)}`)
  }
}
