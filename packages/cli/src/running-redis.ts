/** The Redis of a fleet that runs already: what REDIS_URL names, else the one that `decorum up` has started. */
import { join } from 'node:path'
import { CommandError } from './exit.ts'
import { redisRunningOn } from './redis-note.ts'
import { type CliSettings, dataFolder } from './settings.ts'

/** @throws CommandError when none is named and none runs */
export async function runningRedis(settings: CliSettings, env: NodeJS.ProcessEnv): Promise<string> {
  const url = settings.redisUrl ?? (await redisRunningOn(join(dataFolder(env), 'redis')))
  if (url !== undefined) return url
  throw new CommandError("no fleet is running here: set REDIS_URL to its Redis, or start one with 'decorum up'")
}
