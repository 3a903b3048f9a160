/** Makes folders with their parents, and checks who else may use them. */
import { chmod, lstat, mkdir, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes the missing folders of an absolute path, one by one: Node's recursive mkdir never returns where ENOENT has another
 * meaning, such as below /proc.
 * @throws the error of the file system, or an Error when the path is not a folder
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  const missing: string[] = []
  for (let at = path; !(await exists(at)) && at !== dirname(at); at = dirname(at)) missing.unshift(at)
  for (const step of missing) {
    await mkdir(step, { mode }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error // EEXIST: another process has made it
    })
  }
  if (!(await stat(path)).isDirectory()) throw new Error(`${path} is not a folder`)
}

/**
 * Makes a folder that only its owner may open; an existing folder gets these permissions.
 * @throws the error of the file system, or an Error when the folder belongs to another user
 */
export async function privateFolder(path: string): Promise<void> {
  await makeFolder(path, 0o700)
  const { uid, mode } = await stat(path)
  const own = process.getuid?.() ?? uid
  if (uid !== own) throw new Error(`${path} belongs to another user`)
  if ((mode & 0o077) !== 0) await chmod(path, 0o700)
}

/**
 * The real path of a folder for results; `path` unchanged if it does not exist yet. In a place that others can write to,
 * another user may have put a link or a folder under this name.
 * @throws Error when the folder, or the link that leads to it, belongs to another user, or when everybody may write to it
 */
export async function safeFolder(path: string): Promise<string> {
  if (!(await exists(path))) return path
  const [link, folder] = await Promise.all([lstat(path), stat(path)])
  const own = process.getuid?.() ?? link.uid
  if (link.uid !== own) throw new Error('it belongs to another user')
  if (folder.uid !== own) throw new Error('it leads to a folder of another user')
  if (folder.isDirectory() && (folder.mode & 0o002) !== 0) throw new Error('everybody may write to it')
  return realpath(path)
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
