/** The cache folder: a fetched Redis and compiled code, kept between runs; both can be made again. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateFolder, safeFolder } from './make-folder.ts'

/**
 * The first folder that can be written: the user's cache, else one under the system's temporary folder, where only a
 * folder that belongs to this user alone is trusted, because programs in it will be run.
 * @returns undefined when neither can be written
 */
export async function cacheFolder(): Promise<string | undefined> {
  const { XDG_CACHE_HOME, HOME } = process.env
  const userCache = XDG_CACHE_HOME || (HOME && join(HOME, '.cache'))
  for (const folder of [
    userCache && join(userCache, 'decorum'),
    join(tmpdir(), `decorum-${process.getuid?.() ?? 0}`),
  ]) {
    if (!folder?.startsWith('/')) continue
    try {
      await privateFolder(folder)
      await safeFolder(folder) // another user may have put a link there meanwhile
      await rm(await mkdtemp(join(folder, '.try-')), { recursive: true })
      return folder
    } catch {
      // not usable: try the next folder
    }
  }
  return undefined
}
