/** The files of one writer: appended to, indexed, rotated by size and age, and named so that readers know which are done. */
import { type FileHandle, mkdir, open, rename, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { type ArchiveRef, HOUR } from '@decorum/protocol'
import type { IndexEntry } from './archive.ts'
import { surt } from './surt.ts'

export type WarcFiles = {
  /** Appends records that belong together; the first is the one that the reference names. */
  append(records: Uint8Array[], index: IndexEntry): Promise<ArchiveRef>
  close(): Promise<void>
}

/** What tools for archives expect of one file: about 1 GB, and not older than an hour when it is complete. */
const MAX_BYTES = 1_000_000_000
const MAX_AGE_MS = HOUR

type Current = { file: FileHandle; name: string; bytes: number; openedAt: number; index: string[] }

export async function openWarcFiles(
  folder: string,
  header: (file: string) => Promise<Uint8Array>,
  { maxBytes = MAX_BYTES, maxAgeMs = MAX_AGE_MS }: { maxBytes?: number; maxAgeMs?: number } = {},
): Promise<WarcFiles> {
  await mkdir(folder, { recursive: true })
  let serial = 0
  let current: Current | undefined
  let last: Promise<unknown> = Promise.resolve()
  let closed = false

  const begin = async (): Promise<Current> => {
    const stamp = new Date().toISOString().replace(/\D/g, '').slice(0, 17)
    const name = `decorum-${stamp}-${String(serial++).padStart(5, '0')}-${hostname()}-${process.pid}.warc.gz`
    const file = await open(join(folder, `${name}.open`), 'wx')
    const next: Current = { file, name, bytes: 0, openedAt: performance.now(), index: [] }
    await write(next, await header(name))
    return next
  }
  const end = async (done: Current): Promise<void> => {
    current = undefined
    await done.file.sync()
    await done.file.close()
    await writeFile(join(folder, `${done.name.replace(/\.warc\.gz$/, '')}.cdxj`), done.index.sort().join(''))
    await rename(join(folder, `${done.name}.open`), join(folder, done.name))
  }
  const append = async (records: Uint8Array[], entry: IndexEntry): Promise<ArchiveRef> => {
    if (closed) throw new Error('the archive is closed')
    if (current !== undefined && (current.bytes >= maxBytes || performance.now() - current.openedAt >= maxAgeMs))
      await end(current)
    current ??= await begin()
    const offset = current.bytes
    try {
      await write(current, records.length === 1 ? (records[0] ?? Buffer.alloc(0)) : Buffer.concat(records))
    } catch (error) {
      await current.file.truncate(offset).catch(() => {}) // half a record would hide those behind it
      throw error
    }
    const ref = { file: basename(current.name), offset, length: records[0]?.length ?? 0 }
    current.index.push(line(entry, ref))
    return ref
  }

  return {
    append(records, entry) {
      const turn = last.then(() => append(records, entry))
      last = turn.catch(() => {})
      return turn
    },
    async close() {
      closed = true
      await last
      if (current !== undefined) await end(current)
    },
  }
}

async function write(to: Current, octets: Uint8Array): Promise<void> {
  for (let rest = octets; rest.length > 0; ) {
    const { bytesWritten } = await to.file.write(rest, 0, rest.length, to.bytes + (octets.length - rest.length))
    rest = rest.subarray(bytesWritten)
  }
  to.bytes += octets.length
}

/** One line of CDXJ: SURT key, 14-digit time, JSON. Sorted when the file is complete. */
function line({ url, date, mime, status, digest }: IndexEntry, { file, offset, length }: ArchiveRef): string {
  const fields = {
    url,
    mime,
    status: String(status),
    digest,
    length: String(length),
    offset: String(offset),
    filename: file,
  }
  return `${surt(url)} ${date.replace(/\D/g, '').slice(0, 14)} ${JSON.stringify(fields)}\n`
}
