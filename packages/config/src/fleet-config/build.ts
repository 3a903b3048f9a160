/** Identifies this build: its version, and the commit that it was made from. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Build = { version: string /** 12 digits, or `unknown` */; commit: string }

/** Enough digits to distinguish commits, and as many as git abbreviates to in large repositories. */
const DIGITS = 12

/**
 * The build of all packages and services, which are released together. Packing writes the commit into the manifest of this package; in a
 * checkout git is asked once, when a process starts: uncommitted changes and a later checkout are not seen.
 */
export function readBuild(folder = fileURLToPath(new URL('../..', import.meta.url))): Build {
  const { version, commit = '' } = JSON.parse(readFileSync(resolve(folder, 'package.json'), 'utf8')) as Partial<Build>
  const found = commit === '' ? commitOf(resolve(folder, '../..')) : commit
  return { version: version ?? '', commit: /^[0-9a-f]{12,64}$/.test(found) ? found.slice(0, DIGITS) : 'unknown' }
}

/** HEAD of the checkout whose root this is; '': it is none, or there is no git. */
function commitOf(root: string): string {
  const args = ['-c', 'safe.directory=*', '-C', root, 'rev-parse', 'HEAD'] // also in a checkout of another user
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(root) } // not in one that contains this folder
  try {
    return execFileSync('git', args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return ''
  }
}
