/** The Redis of a fleet that runs already: what REDIS_URL names, else the one that `decorum up` has started. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandError } from './exit.ts'
import { folderOfRedis } from './redis-process.ts'
import { type CliSettings, dataFolder } from './settings.ts'

/** @throws CommandError when none is named and none runs */
export async function runningRedis(settings: CliSettings, env: NodeJS.ProcessEnv): Promise<string> {
  if (settings.redisUrl !== undefined) return settings.redisUrl
  const folder = join(dataFolder(env), 'redis')
  const port = await notedPort(folder)
  if (port !== undefined && (await folderOfRedis(port)) !== undefined) return `redis://127.0.0.1:${port}`
  throw new CommandError("no fleet is running here: set REDIS_URL to its Redis, or start one with 'decorum up'")
}

/** The note that an embedded Redis leaves in its folder (redis-guardian.ts). */
async function notedPort(folder: string): Promise<number | undefined> {
  try {
    const note: unknown = JSON.parse(await readFile(join(folder, 'redis.json'), 'utf8'))
    return typeof note === 'object' && note !== null && 'port' in note ? Number(note.port) : undefined
  } catch {
    return undefined
  }
}
