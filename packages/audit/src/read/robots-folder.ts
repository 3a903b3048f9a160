/** Reads bodies of rules from a folder, for logs without bodies. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RobotsByOrigin } from '../record.ts'
import { UnreadableLogError, unreadable } from './lines.ts'

/**
 * `HOST.txt`, `HOST_PORT.txt`, `https_HOST.txt`, `https_HOST_PORT.txt`, the most specific first; `robots.txt` for all
 * other origins.
 * @throws UnreadableLogError when the folder cannot be read
 */
export async function readRobotsFolder(folder: string): Promise<RobotsByOrigin> {
  const bodies = new Map<string, Uint8Array>()
  try {
    for (const name of await readdir(folder))
      if (name.endsWith('.txt')) bodies.set(name, await readFile(join(folder, name)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTDIR') throw unreadable(folder, error)
    throw new UnreadableLogError(
      `${folder} is a file: name the folder that holds it, where it is called robots.txt, or HOST.txt for one host`,
    )
  }
  if (bodies.size === 0) throw new UnreadableLogError(`no robots.txt or HOST.txt in folder '${folder}'`)
  return {
    get: (origin) => {
      const { protocol, hostname, port } = new URL(origin)
      const host = port === '' ? hostname : `${hostname}_${port}`
      return bodies.get(`${protocol.slice(0, -1)}_${host}.txt`) ?? bodies.get(`${host}.txt`) ?? bodies.get('robots.txt')
    },
  }
}
