/** A folder and the ones above it. */
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes what is missing of an absolute path. Step by step: Node's recursive mkdir never returns where ENOENT has another
 * meaning, below /proc for one.
 * @throws what the file system says
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  const missing: string[] = []
  for (let at = path; !(await exists(at)) && at !== dirname(at); at = dirname(at)) missing.unshift(at)
  for (const step of missing) {
    await mkdir(step, { mode }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error // somebody else has made it meanwhile
    })
  }
  if (!(await stat(path)).isDirectory()) throw new Error(`${path} is not a folder`)
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
