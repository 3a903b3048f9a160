/** The Redis of a fleet that runs already: what REDIS_URL names, else that of the fleet that runs for this user. */
import { CommandError } from './exit.ts'
import { fleetAt } from './meeting-place.ts'
import { type CliSettings, dataFolder } from './settings.ts'

/** @returns its URL, which may hold a password; undefined when none is named and none runs */
export async function redisOfFleet(
  { redisUrl }: Pick<CliSettings, 'redisUrl'>,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  return redisUrl ?? (await fleetAt(dataFolder(env)))?.url
}

/** @throws CommandError when none is named and none runs */
export async function runningRedis(settings: CliSettings, env: NodeJS.ProcessEnv): Promise<string> {
  const url = await redisOfFleet(settings, env)
  if (url !== undefined) return url
  throw new CommandError("no fleet is running here: set REDIS_URL to its Redis, or start one with 'decorum up'")
}
