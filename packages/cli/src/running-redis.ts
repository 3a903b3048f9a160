/** Finds the Redis of a running fleet: REDIS_URL, else that of this user's running fleet. */
import { dataFolder, fleetAt } from '@decorum/client/fleet-here'
import { crawlsFolder } from './crawl-note.ts'
import { CommandError } from './exit.ts'

/** The URL of that Redis; undefined when REDIS_URL is not set and this user runs no fleet. */
export const knownRedis = async (env: NodeJS.ProcessEnv): Promise<string | undefined> =>
  env.REDIS_URL?.trim() || (await fleetAt(dataFolder(env)))?.url

/** The URL for this process. No other setting is read, so a wrong one does not stop a command. @throws CommandError when no fleet runs */
export async function runningRedis(): Promise<string> {
  const url = await knownRedis(process.env)
  if (url !== undefined) return url
  throw new CommandError("no fleet is running here: set REDIS_URL to its Redis, or start one with 'decorum up'")
}

/**
 * The settings with which a role process joins this user's running fleet and keeps pages where that fleet does; {} when no fleet runs, or
 * REDIS_URL names another Redis.
 */
export async function joinFleet(env: NodeJS.ProcessEnv): Promise<{ REDIS_URL?: string; DECORUM_CRAWLS?: string }> {
  const folder = dataFolder(env)
  const fleet = await fleetAt(folder)
  const isOther = fleet === undefined || ![undefined, '', fleet.url].includes(env.REDIS_URL?.trim())
  return isOther ? {} : { REDIS_URL: fleet.url, DECORUM_CRAWLS: crawlsFolder(folder) }
}
