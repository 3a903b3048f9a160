/**
 * Names that at most one process of this machine holds at a time. The kernel frees a name however its holder ends,
 * so no stale lock is ever left. Linux only (an abstract socket address); elsewhere every name counts as free.
 */
import { createHash } from 'node:crypto'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export const canHoldNames = process.platform === 'linux'

/** @returns a function that frees the name, or undefined while another process holds it */
export function holdName(purpose: string, path: string): Promise<(() => Promise<void>) | undefined> {
  if (!canHoldNames) return Promise.resolve(async () => {})
  const name = createHash('sha256').update(path).digest('hex')
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined))
    server.listen(`\0decorum-${purpose}-${name}`, () => {
      server.unref()
      resolve(() => new Promise((closed) => server.close(() => closed())))
    })
  })
}

const LOOK_EVERY_MS = 50

/** The same, waiting for the holder to free it. @returns undefined when the holder keeps it for longer than `patienceMs` */
export async function awaitName(
  purpose: string,
  path: string,
  patienceMs: number,
): Promise<(() => Promise<void>) | undefined> {
  for (const until = performance.now() + patienceMs; ; ) {
    const release = await holdName(purpose, path)
    if (release !== undefined || performance.now() > until) return release
    await sleep(LOOK_EVERY_MS)
  }
}

/** A Redis may be starting or stopping meanwhile, with a large file. */
export const LOCK_PATIENCE_MS = 60_000

/** The lock of a meeting place (meeting-place.ts): under it a fleet is found, started or ended. */
export const lockPlace = (place: string): Promise<(() => Promise<void>) | undefined> =>
  awaitName('start', place, LOCK_PATIENCE_MS)
