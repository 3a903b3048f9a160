/**
 * Keeps an archive within ARCHIVE_MAX_BYTES: the oldest complete files are removed first, but none that an unacknowledged outcome
 * names.
 *
 * The outcomes that name a file need not be looked up. The stream of outcomes is in the order of time and loses an entry when every group
 * has acknowledged it, so no stored outcome names a file that was last written well before the oldest entry. Both instants are of Redis's
 * clock (last-writes.ts). While readers lag, or without any reader, the folder grows beyond its bound, and a warning is logged.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { MINUTE, systemClock } from '@decorum/protocol'
import { type Kept, lastWrites } from './last-writes.ts'
import { ABANDONED_MS } from './recover.ts'

export type RetentionOptions = {
  folder: string
  maxBytes: number
  /** instant of the oldest stored outcome, ms since 1970 UTC; undefined: none is stored. Rejects when that is not known */
  oldestOutcome: () => Promise<number | undefined>
  /** Redis's clock, ms since 1970 UTC; 0 before Redis has answered */
  now: () => number
  /** the longest time from the last byte of a page to its outcome: a lease, ms */
  leaseMs: number
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
}

/** The clocks of the masters of a cluster may differ by this much. */
const CLOCKS_MS = MINUTE
const CHECK_EVERY_MS = MINUTE
const COMPLETE = '.warc.gz'

/** @returns a function that stops the checks */
export function keepWithin(options: RetentionOptions): () => Promise<void> {
  let checking: Promise<void> | undefined
  const check = (): void => {
    checking ??= removeOldest(options)
      .then(
        () => undefined,
        (error: unknown) => options.log.warn({ err: error }, 'the folder of pages could not be looked through'),
      )
      .finally(() => {
        checking = undefined
      })
  }
  const timer = systemClock.interval(check, CHECK_EVERY_MS).unref()
  check()
  return async () => {
    systemClock.cancel(timer)
    await checking
  }
}

/** @returns names of the files that were removed, without their indexes */
export async function removeOldest(options: RetentionOptions): Promise<string[]> {
  const { folder, maxBytes, oldestOutcome, now, leaseMs, log } = options
  const time = now()
  if (time === 0) return []
  const kept = await lastWrites(folder, await filesIn(folder), time)
  let bytes = kept.reduce((sum, file) => sum + file.bytes, 0)
  if (bytes <= maxBytes) return []
  const needed = (await oldestOutcome()) ?? time
  const removable = kept
    .filter((file) => isComplete(file, time) && file.quietSince + leaseMs + CLOCKS_MS < needed)
    .sort((a, b) => a.quietSince - b.quietSince || (a.name < b.name ? -1 : 1)) // names begin with the start time of the file
  const removed: string[] = []
  for (const file of removable) {
    if (bytes <= maxBytes) break
    const index = file.name.replace(/\.warc\.gz(\.open)?$/, '.cdxj')
    for (const name of [file.name, index]) await rm(join(folder, name), { force: true }) // another process may be faster
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

const isComplete = ({ name, quietSince }: Kept, time: number): boolean =>
  name.endsWith(COMPLETE) || (name.endsWith(`${COMPLETE}.open`) && quietSince + ABANDONED_MS < time)

const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => /\.(warc\.gz|warc\.gz\.open|cdxj)$/.test(name)).sort()
