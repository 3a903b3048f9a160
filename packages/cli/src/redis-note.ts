/** What an embedded Redis leaves in its data folder, so that whoever comes later finds it: its port. */
import { readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { folderOfRedis } from './redis-process.ts'

const NAME = 'redis.json'

/** Notes which server runs on `dir`; never seen half written. */
export async function writeNote(dir: string, redis: { port: number; pid: number }): Promise<void> {
  const draft = join(dir, `${NAME}.${process.pid}`)
  await writeFile(draft, JSON.stringify({ port: redis.port, pid: redis.pid }))
  await rename(draft, join(dir, NAME))
}

export async function removeNote(dir: string): Promise<void> {
  await rm(join(dir, NAME), { force: true })
}

/**
 * The URL of the embedded Redis that runs on a data folder now; undefined when none does. The server is asked: an old
 * note may name a port where somebody else's Redis has come to listen.
 */
export async function redisRunningOn(dir: string): Promise<string | undefined> {
  try {
    const { port } = JSON.parse(await readFile(join(dir, NAME), 'utf8')) as { port: number }
    return (await folderOfRedis(port)) === (await realpath(dir)) ? `redis://127.0.0.1:${port}` : undefined
  } catch {
    return undefined // no folder, no note, or none that is ours
  }
}
