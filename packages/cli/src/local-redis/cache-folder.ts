/** The cache folder: a fetched Redis and compiled code, kept between runs; both can be made again. */
import { chmod, lstat, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * The first folder that can be written: the user's cache, else one under the system's temporary folder, where only a
 * folder that belongs to this user alone is trusted, because programs in it will be run.
 * @returns undefined when nothing can be written
 */
export async function cacheFolder(): Promise<string | undefined> {
  const uid = process.getuid?.() ?? 0
  const { XDG_CACHE_HOME, HOME } = process.env
  const userCache = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'))
  for (const folder of [userCache && join(userCache, 'decorum'), join(tmpdir(), `decorum-${uid}`)]) {
    if (!folder?.startsWith('/')) continue
    try {
      // Step by step: Node's recursive mkdir never returns where ENOENT has another meaning (below /proc).
      for (const step of [dirname(folder), folder]) {
        await mkdir(step, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error
        })
      }
      const found = await lstat(folder)
      if (!found.isDirectory() || found.uid !== uid) continue
      await chmod(folder, 0o700)
      await rm(await mkdtemp(join(folder, '.try-')), { recursive: true })
      return folder
    } catch {
      // not writable: the next one
    }
  }
  return undefined
}
