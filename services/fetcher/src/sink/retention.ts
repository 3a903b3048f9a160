/**
 * The bound of an archive (ARCHIVE_MAX_BYTES): the oldest complete files are removed first, but none that an unacknowledged
 * outcome names.
 *
 * Which outcomes name a file need not be known. The stream of outcomes is in the order of time and loses an entry when every
 * group has acknowledged it, so no stored outcome names a file that was last written well before the oldest entry. While readers
 * lag, or while there is no reader at all, the folder grows beyond its bound, and a warning is logged.
 */
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MINUTE } from '@decorum/protocol'
import { ABANDONED_MS } from './recover.ts'

export type RetentionOptions = {
  folder: string
  maxBytes: number
  /** instant of the oldest stored outcome, ms since 1970 UTC; undefined: none is stored. Rejects when that is not known */
  oldestOutcome: () => Promise<number | undefined>
  /** the longest time from the last byte of a page to its outcome: a lease, ms */
  leaseMs: number
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
}

type Kept = { name: string; bytes: number; writtenAt: number }

/** The clocks of this machine and of Redis may differ by this much. */
const CLOCKS_MS = MINUTE
const LOOK_EVERY_MS = MINUTE
const COMPLETE = '.warc.gz'

/** @returns what stops it */
export function keepWithin(options: RetentionOptions): () => Promise<void> {
  let looking: Promise<void> | undefined
  const look = (): void => {
    looking ??= removeOldest(options)
      .then(
        () => undefined,
        (error: unknown) => options.log.warn({ err: error }, 'the folder of pages could not be looked through'),
      )
      .finally(() => {
        looking = undefined
      })
  }
  const timer = setInterval(look, LOOK_EVERY_MS).unref()
  look()
  return async () => {
    clearInterval(timer)
    await looking
  }
}

/** @returns names of the files that were removed, without their indexes */
export async function removeOldest(options: RetentionOptions): Promise<string[]> {
  const { folder, maxBytes, oldestOutcome, leaseMs, log } = options
  const kept = await filesIn(folder)
  let bytes = kept.reduce((sum, file) => sum + file.bytes, 0)
  if (bytes <= maxBytes) return []
  const needed = (await oldestOutcome()) ?? Date.now()
  const removable = kept
    .filter((file) => isComplete(file) && file.writtenAt + leaseMs + CLOCKS_MS < needed)
    .sort((a, b) => a.writtenAt - b.writtenAt)
  const removed: string[] = []
  for (const file of removable) {
    if (bytes <= maxBytes) break
    const index = file.name.replace(/\.warc\.gz(\.open)?$/, '.cdxj')
    for (const name of [file.name, index]) await rm(join(folder, name), { force: true }) // another process may be first
    bytes -= file.bytes + (kept.find(({ name }) => name === index)?.bytes ?? 0)
    removed.push(file.name)
  }
  if (removed.length > 0) log.info({ folder, removed }, 'the oldest pages were removed: ARCHIVE_MAX_BYTES')
  if (bytes > maxBytes)
    log.warn(
      { folder, bytes, maxBytes },
      'pages take more than ARCHIVE_MAX_BYTES: their outcomes are not acknowledged yet',
    )
  return removed
}

const isComplete = ({ name, writtenAt }: Kept): boolean =>
  name.endsWith(COMPLETE) || (name.endsWith(`${COMPLETE}.open`) && writtenAt + ABANDONED_MS < Date.now())

async function filesIn(folder: string): Promise<Kept[]> {
  const names = (await readdir(folder)).filter((name) => /\.(warc\.gz|warc\.gz\.open|cdxj)$/.test(name))
  const found = names.map(async (name): Promise<Kept[]> => {
    const { size, mtimeMs } = await stat(join(folder, name)).catch(() => ({ size: 0, mtimeMs: 0 }))
    return mtimeMs === 0 ? [] : [{ name, bytes: size, writtenAt: mtimeMs }]
  })
  return (await Promise.all(found)).flat()
}
