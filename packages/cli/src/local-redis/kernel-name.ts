/**
 * Names that at most one process of this machine holds at a time. The kernel frees a name however its holder ends,
 * so no stale lock is ever left. The names are abstract socket addresses, which only Linux has.
 */
import { createHash, randomBytes } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * @param folder  real path of the folder that the name protects
 * @returns a function that frees the name, or undefined while another process holds it
 */
export function holdName(purpose: string, folder: string): Promise<(() => Promise<void>) | undefined> {
  const name = createHash('sha256')
    .update(`${keyOf(folder)} ${folder}`)
    .digest('hex')
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined))
    server.listen(`\0decorum-${purpose}-${name}`, () => {
      server.unref()
      resolve(() => new Promise((closed) => server.close(() => closed())))
    })
  })
}

const KEY = '.lock-key'

/**
 * Key of a folder's name. Abstract addresses have no owner: any user of the machine who could compute a name could hold it and so block
 * the folder. The name therefore contains a random key from a file in the folder that only the folder's owner can read.
 * @returns '' when the key can be neither read nor written: this user cannot use the folder either
 */
function keyOf(folder: string): string {
  const file = join(folder, KEY)
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // the folder has no key yet
  }
  try {
    writeFileSync(draft, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' })
    try {
      linkSync(draft, file) // only one of several processes succeeds, with a complete file
    } catch {
      // another process was first
    }
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  } finally {
    rmSync(draft, { force: true })
  }
}

const CHECK_EVERY_MS = 50

/** Like `holdName`, but waits for the name. @returns undefined when its holder keeps it for longer than `patienceMs` */
export async function awaitName(
  purpose: string,
  folder: string,
  patienceMs: number,
): Promise<(() => Promise<void>) | undefined> {
  for (const until = performance.now() + patienceMs; ;) {
    const release = await holdName(purpose, folder)
    if (release !== undefined || performance.now() > until) return release
    await sleep(CHECK_EVERY_MS)
  }
}

/** The holder of the lock may be starting or stopping a Redis with a large file. */
export const LOCK_PATIENCE_MS = 60_000

/** The lock of a meeting place (meeting-place.ts): under it a fleet is found, started or ended. */
export const lockPlace = (place: string): Promise<(() => Promise<void>) | undefined> =>
  awaitName('start', place, LOCK_PATIENCE_MS)
