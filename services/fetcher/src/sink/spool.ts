/**
 * Uploads files of WARC records to a store. A file stays in the folder until the store has it as a whole; then it is removed. Its name is
 * unique and is also that of its object, so an upload that is repeated after a kill writes the same object again: nothing is lost or
 * duplicated.
 */
import { createHash } from 'node:crypto'
import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Bucket, ObjectStore } from '@decorum/content/server'
import { abortAfter, SECOND, systemClock, type Timer } from '@decorum/protocol'
import { recoverAbandoned, writerFiles } from './recover.ts'

export type SpoolOptions = {
  folder: string
  store: ObjectStore
  bucket: Bucket
  /** size limit of the folder; above it `room` waits */
  maxBytes: number
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
  /** time between two checks of the folder, ms */
  checkEveryMs?: number
}

const CHECK_EVERY_MS = SECOND
const FIRST_RETRY_MS = SECOND
const LAST_RETRY_MS = 60 * SECOND
/** An upload that takes longer is restarted: 64 MB at 128 KB/s take this long. */
const UPLOAD_WITHIN_MS = 500 * SECOND

/** Call this before the process writes into the folder: files already there belong to earlier processes, whatever their process id. */
export async function openSpool(options: SpoolOptions) {
  const { folder, store, bucket, maxBytes, log, checkEveryMs = CHECK_EVERY_MS } = options
  const closing = new AbortController()
  const former = new Set(await readdir(folder))
  let bytes = 0
  let waiting: { promise: Promise<void>; resolve: () => void } | undefined
  let retryMs = FIRST_RETRY_MS
  let timer: Timer | undefined

  /** Complete files that this process or an ended one wrote; other processes upload their own files. */
  const listComplete = async (): Promise<string[]> => {
    await recoverAbandoned(folder, former)
    const files = await writerFiles(folder, former)
    const complete = files.filter(({ isOpen, writer }) => !isOpen && writer !== 'at work').map(({ name }) => name)
    bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    if (bytes <= maxBytes) {
      waiting?.resolve()
      waiting = undefined
    }
    return complete
  }

  const upload = async (name: string, signal: AbortSignal): Promise<void> => {
    const path = join(folder, name)
    const place = { bucket: bucket.bucket, key: bucket.prefix + name }
    const within = AbortSignal.any([signal, abortAfter(systemClock, UPLOAD_WITHIN_MS)])
    // Held open: another fetcher on this folder may upload the same file and remove it meanwhile, which is no fault of the store
    const file = await open(path)
    try {
      const { size } = await file.stat()
      if ((await store.size(place, within)) !== size) {
        const read = () => file.createReadStream({ start: 0, autoClose: false })
        const hash = createHash('sha256')
        await pipeline(read(), hash)
        await store.put(place, () => Readable.toWeb(read()) as ReadableStream, size, hash.digest('hex'), within)
        const stored = await store.size(place, within)
        if (stored !== size) throw new Error(`${stored ?? 'no'} bytes of ${size} are in the store`)
      }
    } finally {
      await file.close()
    }
    await rm(path, { force: true })
  }

  const round = async (signal: AbortSignal): Promise<void> => {
    let problem: Error | undefined
    for (const name of await listComplete()) {
      if (signal.aborted) return
      try {
        await upload(name, signal)
        retryMs = FIRST_RETRY_MS
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue // another process was faster
        problem = error as Error
        break // the store is unreachable, or full: other files would fail as well
      }
    }
    if (problem !== undefined && !signal.aborted) throw problem
    await listComplete()
  }

  let running: Promise<void> | undefined
  const next = (afterMs: number): void => {
    if (closing.signal.aborted) return
    timer = systemClock.timeout(() => {
      running = round(closing.signal).then(
        () => next(checkEveryMs),
        (error: unknown) => {
          log.warn({ err: error, folder, bytes, retryMs }, 'storing a file of pages failed; it will be retried')
          next(retryMs)
          retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)
        },
      )
    }, afterMs)
  }
  next(0)

  return {
    /** Counts bytes that this process wrote since the last check of the folder, which an upload can delay for minutes. */
    wrote(more: number): void {
      bytes += more
    },
    /** undefined: there is room. Otherwise it resolves when there is room again, or when the spool is closed */
    room(): Promise<void> | undefined {
      if (bytes <= maxBytes || closing.signal.aborted) return undefined
      if (waiting === undefined) {
        log.warn(
          { folder, bytes, maxBytes },
          'no more pages are fetched until the store has taken some: ARCHIVE_MAX_BYTES',
        )
        waiting = Promise.withResolvers<void>()
      }
      return waiting.promise
    },
    /** Uploads complete files once more, within this time. The rest is uploaded after the next start. */
    async close(withinMs: number): Promise<void> {
      systemClock.cancel(timer)
      closing.abort()
      waiting?.resolve()
      await running
      if (withinMs > 0) await round(abortAfter(systemClock, withinMs)).catch(() => undefined)
    },
  }
}
