/** Which fleet runs for this user: read by commands and frontiers, without what starts one. */
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type RunningHere, redisRunningOn } from './redis-note.ts'

/** In the meeting place; names the data folder of a fleet's Redis. */
export const FLEET_FILE = 'fleet.json'
export type FleetNote = { dir: string }

/** Where an embedded Redis keeps its data unless told otherwise: one place per user, so one fleet knows every site. */
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
