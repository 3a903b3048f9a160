/**
 * Where the commands of one user meet: a private folder that says which fleet runs for that user, and a lock under which
 * one is found or started. Two fleets of one user would be two crawlers to every site.
 */
import { mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LOCK_PATIENCE_MS, lockPlace } from './kernel-name.ts'
import { privateFolder } from './make-folder.ts'
import { EmbeddedRedisError } from './redis-errors.ts'
import { type RunningHere, redisRunningOn } from './redis-note.ts'

/** Names the data folder of a fleet's Redis. */
export type FleetNote = { dir: string }

const NAME = 'fleet.json'

/** Makes the folder if need be. @returns its real path; undefined when this user can have none there */
export async function openMeetingPlace(folder: string): Promise<string | undefined> {
  try {
    await privateFolder(folder)
    await mkdir(join(folder, 'crawls'), { recursive: true, mode: 0o700 })
    return await realpath(folder)
  } catch {
    return undefined
  }
}

/** @throws EmbeddedRedisError when another process does not release the lock */
export async function underLock<T>(place: string, work: () => Promise<T>): Promise<T> {
  const release = await lockPlace(place)
  if (release === undefined)
    throw new EmbeddedRedisError(
      `another start has been at work in ${place} for ${LOCK_PATIENCE_MS / 1_000} s: try again later`,
    )
  try {
    return await work()
  } finally {
    await release()
  }
}

/** The fleet that runs for this user now; undefined when none does, or the folder is not there. */
export async function fleetAt(place: string): Promise<RunningHere | undefined> {
  try {
    const { dir } = JSON.parse(await readFile(join(place, NAME), 'utf8')) as FleetNote
    return await redisRunningOn(dir)
  } catch {
    return undefined
  }
}

/** To be called under the lock. */
export async function writeFleet(place: string, note: FleetNote): Promise<void> {
  const draft = join(place, `${NAME}.${process.pid}`)
  await rm(draft, { force: true })
  await writeFile(draft, JSON.stringify(note), { mode: 0o600, flag: 'wx' })
  await rename(draft, join(place, NAME))
}
