/** Identifies this build: its version, and the commit that it was made from. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Build = { version: string /** 12 digits, or `unknown` */; commit: string }

/** Enough digits to distinguish commits, and as many as git abbreviates to in large repositories. */
const DIGITS = 12

/**
 * The build of all packages and services, which are released together. Packing writes the commit into the manifest of this package; in a
 * checkout it is read from the files of git once, when a process starts: uncommitted changes and a later checkout are not seen.
 */
export function readBuild(folder = fileURLToPath(new URL('../..', import.meta.url))): Build {
  const { version, commit = '' } = JSON.parse(readFileSync(resolve(folder, 'package.json'), 'utf8')) as Partial<Build>
  const found = commit === '' ? commitOf(resolve(folder, '../..')) : commit
  return { version: version ?? '', commit: /^[0-9a-f]{12,64}$/.test(found) ? found.slice(0, DIGITS) : 'unknown' }
}

/** HEAD of a checkout, or of a work tree beside one; '': there is none. */
function commitOf(root: string): string {
  const readOr = (otherwise: string, ...path: string[]): string => {
    try {
      return readFileSync(resolve(root, ...path), 'utf8').trim()
    } catch {
      return otherwise
    }
  }
  const elsewhere = /^gitdir: (.*)$/.exec(readOr('', '.git'))?.[1]
  const own = resolve(root, elsewhere ?? '.git')
  const head = readOr('', own, 'HEAD')
  const ref = /^ref: (refs\/.*)$/.exec(head)?.[1]
  if (ref === undefined) return head
  const common = resolve(own, readOr('.', own, 'commondir'))
  const packed = readOr('', common, 'packed-refs').split('\n')
  return readOr(packed.find((line) => line.endsWith(` ${ref}`))?.split(' ')[0] ?? '', common, ref)
}
