/** The files of one writer: appended to, indexed, rotated by size and age, and named so that readers know which are complete. */
import { type FileHandle, mkdir, open, readdir, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Bucket, thisHost, writeReference } from '@decorum/content/reference'
import { type ArchiveRef, HOUR, MINUTE, systemClock } from '@decorum/protocol'
import { type IndexEntry, indexLine } from './index-lines.ts'
import { recoverAbandoned } from './recover.ts'

/** When a file is finished: archive tools expect files of about 1 GB, and readers should wait at most an hour. */
const MAX_BYTES = 1_000_000_000
const MAX_AGE_MS = HOUR

/** Most bytes written in one call when many pages arrive together. */
const MAX_WRITE_BYTES = 8 * 1024 * 1024

type Current = { file: FileHandle; name: string; bytes: number; openedAt: number; index: string[] }
type Waiting = {
  records: Uint8Array[]
  bytes: number
  entry: IndexEntry
  done: (ref: ArchiveRef) => void
  failed: (error: unknown) => void
}

export type WarcFilesOptions = {
  /** limits of one file in size and age; then the next one is started */
  maxBytes?: number
  maxAgeMs?: number
  /** the address at which other machines reach this archive; '': its references name the folder */
  contentUrl?: string
  /** the store for finished files, under the same names */
  store?: Bucket
}

export async function openWarcFiles(
  folder: string,
  header: (file: string) => Uint8Array | Promise<Uint8Array>,
  { maxBytes = MAX_BYTES, maxAgeMs = MAX_AGE_MS, contentUrl = '', store }: WarcFilesOptions = {},
) {
  await mkdir(folder, { recursive: true })
  let serial = 0
  let current: Current | undefined
  const waiting: Waiting[] = []
  let writing: Promise<void> | undefined
  let closed = false
  const ending = new Set<Promise<void>>()
  const former = new Set(await readdir(folder))
  // Finishes files of killed writers; with a store, the spool does so. A file that cannot be finished keeps its `.open` and its records.
  if (store === undefined)
    ending.add(
      recoverAbandoned(folder, former).then(
        () => undefined,
        () => undefined,
      ),
    )

  const start = async (): Promise<Current> => {
    const stamp = new Date(systemClock.machine()).toISOString().replace(/\D/g, '').slice(0, 17)
    const name = `decorum-${stamp}-${String(serial++).padStart(5, '0')}-${thisHost()}-${process.pid}.warc.gz`
    const chunk = await header(name)
    const file = await open(join(folder, `${name}.open`), 'wx')
    const next: Current = { file, name, bytes: 0, openedAt: systemClock.monotonic(), index: [] }
    try {
      await write(next, chunk)
    } catch (error) {
      await file.close()
      throw error
    }
    return next
  }
  const end = async (done: Current): Promise<void> => {
    await done.file.sync()
    await done.file.close()
    await writeFile(join(folder, `${done.name.replace(/\.warc\.gz$/, '')}.cdxj`), done.index.sort().join(''), {
      flag: 'wx',
    })
    await rename(join(folder, `${done.name}.open`), join(folder, done.name))
  }
  /** Not awaited, because syncing a gigabyte takes seconds. A file that cannot be completed keeps its `.open` and its records. */
  const rotate = (isDue: boolean): void => {
    if (current === undefined || !isDue) return
    const ended = end(current).catch(() => {})
    current = undefined
    ending.add(ended)
    void ended.finally(() => ending.delete(ended))
  }
  const isFull = (): boolean => current !== undefined && current.bytes >= maxBytes
  const isOld = (): boolean => current !== undefined && systemClock.monotonic() - current.openedAt >= maxAgeMs
  const ageing = systemClock
    .interval(() => rotate(writing === undefined && isOld()), Math.min(maxAgeMs, MINUTE))
    .unref()

  const place = contentUrl === '' ? resolve(folder) : contentUrl
  const referable = (at: ArchiveRef): ArchiveRef => ({
    ...at,
    ref: writeReference(place, { name: at.file, ...at }, store),
  })

  const drain = async (): Promise<void> => {
    while (waiting.length > 0) {
      rotate(isFull() || isOld())
      try {
        current ??= await start()
      } catch (error) {
        for (const { failed } of waiting.splice(0)) failed(error)
        break
      }
      const batch: Waiting[] = []
      let room = Math.min(MAX_WRITE_BYTES, maxBytes - (current?.bytes ?? 0))
      do {
        const next = waiting.shift()
        if (next === undefined) break
        batch.push(next)
        room -= next.bytes
      } while (room > 0)
      try {
        const refs = await writeBatch(current, batch)
        for (const [at, { done }] of batch.entries()) done(referable(refs[at] as ArchiveRef))
      } catch (error) {
        for (const { failed } of batch) failed(error)
      }
    }
    writing = undefined
  }

  return {
    /**
     * Appends records that belong together. The reference names the first one.
     * @param signal  when it aborts before writing has started, nothing is written
     */
    append(records: Uint8Array[], entry: IndexEntry, signal: AbortSignal): Promise<ArchiveRef> {
      if (closed) return Promise.reject(new Error('the archive is closed'))
      if (signal.aborted) return Promise.reject(signal.reason as Error)
      return new Promise((done, failed) => {
        const mine: Waiting = { records, bytes: sum(records), entry, done, failed }
        waiting.push(mine)
        const giveUp = (): void => {
          const at = waiting.indexOf(mine)
          if (at < 0) return // it is being written
          waiting.splice(at, 1)
          failed(signal.reason as Error)
        }
        signal.addEventListener('abort', giveUp, { once: true })
        writing ??= drain()
      })
    },
    async close(): Promise<void> {
      closed = true
      systemClock.cancel(ageing)
      await writing
      rotate(true)
      await Promise.all(ending)
    },
  }
}

async function writeBatch(to: Current, batch: Waiting[]): Promise<ArchiveRef[]> {
  const start = to.bytes
  try {
    const pieces = batch.flatMap(({ records }) => records)
    // One call for many small records. Large ones are not copied again.
    for (const chunk of sum(pieces) <= MAX_WRITE_BYTES ? [Buffer.concat(pieces)] : pieces) await write(to, chunk)
  } catch (error) {
    to.bytes = start
    await to.file.truncate(start).catch(() => {}) // half a record would hide the records behind it
    throw error
  }
  let offset = start
  return batch.map(({ records, bytes, entry }) => {
    const ref = { file: to.name, offset, length: records[0]?.length ?? 0 }
    to.index.push(indexLine(entry, ref))
    offset += bytes
    return ref
  })
}

const sum = (pieces: Uint8Array[]): number => pieces.reduce((bytes, { length }) => bytes + length, 0)

async function write(to: Current, chunk: Uint8Array): Promise<void> {
  for (let rest = chunk; rest.length > 0;) {
    const { bytesWritten } = await to.file.write(rest, 0, rest.length, to.bytes + (chunk.length - rest.length))
    rest = rest.subarray(bytesWritten)
  }
  to.bytes += chunk.length
}
