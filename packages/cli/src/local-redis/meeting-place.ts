/**
 * The meeting place of one user's commands: a private folder that records which fleet runs for this user, and a lock under which
 * a fleet is found or started. Two fleets of one user would be two crawlers to every site.
 */
import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { FLEET_FILE, type FleetNote, replaceFile } from '@decorum/client/fleet-here'
import { CommandError } from '../exit.ts'
import { LOCK_PATIENCE_MS, lockPlace } from './kernel-name.ts'
import { privateFolder } from './make-folder.ts'

/** Makes the folder if it is absent. @returns its real path; undefined when this user cannot make or use it */
export async function openMeetingPlace(folder: string): Promise<string | undefined> {
  try {
    await privateFolder(folder)
    await mkdir(join(folder, 'crawls'), { recursive: true, mode: 0o700 })
    return await realpath(folder)
  } catch {
    return undefined
  }
}

/** @throws CommandError when another process does not release the lock */
export async function underLock<T>(place: string, work: () => Promise<T>): Promise<T> {
  const release = await lockPlace(place)
  if (release === undefined)
    throw new CommandError(
      `another start has been at work in ${place} for ${LOCK_PATIENCE_MS / 1_000} s: try again later`,
    )
  try {
    return await work()
  } finally {
    await release()
  }
}

/** To be called under the lock. */
export const writeFleet = (place: string, note: FleetNote): Promise<void> => replaceFile(join(place, FLEET_FILE), note)
