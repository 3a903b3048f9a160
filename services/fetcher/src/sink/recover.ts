/**
 * Finishes files whose writer was killed: anything after the last complete record is cut off, and the index is made from the
 * records. Every step can be repeated, also by another process at the same time.
 */
import { readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { thisHost } from '@decorum/content/reference'
import { HOUR } from '@decorum/protocol'
import { entryOf, indexLine } from './index-lines.ts'
import { completeMembers } from './members.ts'

/** A writer starts a new file after an hour, so an `.open` file without a write for two hours belongs to a killed writer. */
export const ABANDONED_MS = 2 * HOUR
const NAME = /^(decorum-\d{17}-\d{5}-([a-z0-9.-]+)-(\d+))\.(warc\.gz|cdxj)(\.open)?$/

export type WriterFile = {
  name: string
  bytes: number
  isOpen: boolean
  /** own: written by this process since its start; gone: by a process that has ended; at work: by another one that is running */
  writer: 'own' | 'gone' | 'at work'
}

/**
 * The files of WARC writers in a folder, sorted by name.
 * @param former  names that existed before this process began to write, with any process id
 */
export async function writerFiles(folder: string, former: ReadonlySet<string>): Promise<WriterFile[]> {
  const files: WriterFile[] = []
  let now: number | undefined
  for (const name of (await readdir(folder)).sort()) {
    const [, , host, id, , open] = NAME.exec(name) ?? []
    if (host === undefined) continue
    const { size, mtimeMs } = await stat(join(folder, name)).catch(() => ({
      size: 0,
      mtimeMs: Number.POSITIVE_INFINITY,
    }))
    const pid = Number(id)
    const isOwn = host === thisHost() && pid === process.pid && !former.has(name)
    const isGone = host === thisHost() && (pid === process.pid || !isRunning(pid))
    now ??= isOwn || isGone ? undefined : await timeOf(folder)
    const writer = isOwn ? 'own' : isGone || mtimeMs + ABANDONED_MS < (now ?? 0) ? 'gone' : 'at work'
    files.push({ name, bytes: size, isOpen: open !== undefined, writer })
  }
  return files
}

/** Now, by the clock that dates this folder's files: another machine's if the folder is shared. */
async function timeOf(folder: string): Promise<number> {
  const name = join(folder, `.time-${thisHost()}-${process.pid}`)
  try {
    await writeFile(name, '')
    return (await stat(name)).mtimeMs
  } finally {
    await rm(name, { force: true })
  }
}

/** Finishes the WARC files that no writer has open any more. @returns their new names */
export async function recoverAbandoned(folder: string, former: ReadonlySet<string>): Promise<string[]> {
  const finished: string[] = []
  for (const { name, isOpen, writer } of await writerFiles(folder, former))
    if (isOpen && writer === 'gone' && name.endsWith('.warc.gz.open')) finished.push(await finish(folder, name))
  return finished
}

/** @param name  ends in `.warc.gz.open` */
export async function finish(folder: string, name: string): Promise<string> {
  const finished = name.slice(0, -'.open'.length)
  const index = finished.replace(/\.warc\.gz$/, '.cdxj')
  try {
    const lines: string[] = []
    let bytes = 0
    for await (const member of completeMembers(join(folder, name))) {
      const { offset, length } = member
      const entry = entryOf(member)
      if (entry !== undefined) lines.push(indexLine(entry, { file: finished, offset, length }))
      bytes = offset + length
    }
    await truncate(join(folder, name), bytes)
    // The renamed file must be complete, because other processes may move it away at once
    await writeFile(join(folder, `${index}.open`), lines.sort().join(''))
    await rename(join(folder, `${index}.open`), join(folder, index))
    await rename(join(folder, name), join(folder, finished))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error // another process was faster
  }
  return finished
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
