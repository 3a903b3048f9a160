/**
 * The file redis.json in the data folder of an embedded Redis, by which other commands find it: its port and its password, readable by its
 * owner alone.
 */
import { readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { folderOfRedis } from './redis-line.ts'

const NAME = 'redis.json'

export type RunningHere = {
  dir: string
  port: number
  password: string
  /** with the password: for connections, not for people */
  url: string
}

/** Notes which server runs on `dir`. */
export async function writeNote(dir: string, redis: { port: number; pid: number; password: string }): Promise<void> {
  const { port, pid, password } = redis
  await replaceFile(join(dir, NAME), { port, pid, password })
}

/** Writes a file of JSON, readable by its owner alone, and as a whole: no reader finds a partial file. */
export async function replaceFile(path: string, content: object): Promise<void> {
  const draft = `${path}.${process.pid}`
  await rm(draft, { force: true })
  await writeFile(draft, JSON.stringify(content), { mode: 0o600, flag: 'wx' })
  await rename(draft, path)
}

export async function removeNote(dir: string): Promise<void> {
  await rm(join(dir, NAME), { force: true })
}

/**
 * The embedded Redis that runs on a data folder now; undefined when none does. The server must report that folder, because another program
 * may by now listen on the port that an old note names.
 */
export async function redisRunningOn(folder: string): Promise<RunningHere | undefined> {
  try {
    const dir = await realpath(folder)
    const { port, password } = JSON.parse(await readFile(join(dir, NAME), 'utf8')) as RunningHere
    if ((await folderOfRedis({ port, password })) !== dir) return undefined
    return { dir, port, password, url: redisUrl(port, password) }
  } catch {
    return undefined // no folder, no note, or none that can be read
  }
}

export const redisUrl = (port: number, password: string): string => `redis://:${password}@127.0.0.1:${port}`
