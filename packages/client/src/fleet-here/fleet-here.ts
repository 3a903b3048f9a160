/** Finds the fleet that runs for this user, for commands and frontiers; the code that starts a fleet is elsewhere (packages/cli). */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type RunningHere, redisRunningOn } from './redis-note.ts'

/** A file in `dataFolder` that names the data folder of the running fleet's Redis. */
export const FLEET_FILE = 'fleet.json'
export type FleetNote = { dir: string }

/** Default data folder of an embedded Redis: one per user, so that one fleet has the records of every site. */
export function dataFolder(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_DATA_HOME || join(homedir(), '.local', 'share'), 'decorum')
}

/** The fleet that runs for this user now; undefined when none does, or the folder is not there. */
export async function fleetAt(place: string): Promise<RunningHere | undefined> {
  try {
    const { dir } = JSON.parse(await readFile(join(place, FLEET_FILE), 'utf8')) as FleetNote
    return await redisRunningOn(dir)
  } catch {
    return undefined
  }
}
