/** Lines of a file or of standard input, as candidates. */
import { createReadStream, openSync } from 'node:fs'
import { access, constants, readFile, stat } from 'node:fs/promises'
import { Socket } from 'node:net'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { MAX_URL_CHARS } from '@decorum/protocol'
import { messageOf, UsageError } from './exit.ts'
import { LINE_END, ListError, textOfList } from './list-text.ts'

export type Line = {
  /** 1-based, comments and blank lines counted, as editors do */
  number: number
  /**
   * without surrounding blanks, and without a comment or second column; an overlong line is cut one character above the limit, so that it
   * is refused
   */
  text: string
}

/**
 * Opens the file named on the command line; '-' is standard input. A file is first read to its end, so that a file that is no list is
 * refused before anything is done; for input that can be read only once, linesOf reports the error when it reaches the line.
 * @throws UsageError when it cannot be read, is not text, or has no lines
 */
export async function openInput(file: string): Promise<Readable> {
  if (file === '-') return process.stdin
  try {
    await access(file, constants.R_OK)
    const found = await stat(file)
    if (found.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
    if (found.isFIFO()) return openPipe(file)
    if (found.isFile() && !OF_ONE_PROCESS.test(resolve(file))) await readThrough(file)
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(`${file} cannot be read: ${reason(error)}`)
  }
  return createReadStream(file)
}

/** The whole file; '-' is standard input. @throws UsageError when it cannot be read */
export const bytesOf = (file: string): Promise<Uint8Array> =>
  (file === '-' ? buffer(process.stdin) : readFile(file)).catch((error: unknown) => {
    throw new UsageError(`${nameOf(file)} cannot be read: ${reason(error)}`)
  })

/** Names of descriptors that this process has open: /dev/stdin, and /dev/fd/63 as the shell writes for `<(…)`. They can be read only once. */
export const OF_ONE_PROCESS = /^\/(dev|proc)\//

async function readThrough(file: string): Promise<void> {
  try {
    const { done } = await linesOf(createReadStream(file)).next()
    if (done) throw emptyList(file)
    for await (const _ of textOfList(createReadStream(file))) continue
  } catch (error) {
    throw error instanceof ListError ? new UsageError(`${file}: ${error.message}`) : error
  }
}

export const nameOf = (file: string): string => (file === '-' ? 'standard input' : file)
export const emptyList = (file: string): UsageError =>
  new UsageError(`${nameOf(file)}: the list is empty, no line of it names anything`)

/** A named pipe without a writer: opened as a file it would block a thread, and with it this process, until somebody writes. */
function openPipe(file: string): Readable {
  return new Socket({ fd: openSync(file, constants.O_RDONLY | constants.O_NONBLOCK), readable: true, writable: false })
}

function reason(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'permission denied'
  if (code === 'EISDIR') return 'it is a folder, and a file is needed'
  return messageOf(error)
}

/**
 * Yields the lines with content; blank ones and those that begin with # are counted and skipped. Accepts any line ending. Memory use
 * does not depend on the length of a line.
 * @param most  longest line that is kept whole, in characters; default: the longest URL
 * @throws ListError when it is not text
 */
export async function* linesOf(input: AsyncIterable<Uint8Array | string>, most = MAX_URL_CHARS): AsyncGenerator<Line> {
  let number = 1
  let rest = ''
  for await (const piece of textOfList(input)) {
    const text = rest + piece
    let from = 0
    for (const { 0: end, index } of text.matchAll(LINE_END)) {
      if (end === '\r' && index === text.length - 1) break // its LF may be in the next chunk
      const line = read(number++, text.slice(from, index), most)
      if (line) yield line
      from = index + end.length
    }
    rest = text.slice(from)
    // Leading blanks do not count towards the limit; beyond the limit only the line end matters.
    if (rest.length > most * 2) rest = rest.trimStart().slice(0, most * 2) + (rest.endsWith('\r') ? '\r' : '')
  }
  for (const last of rest.split(LINE_END)) {
    const line = read(number++, last, most)
    if (line) yield line
  }
}

function read(number: number, raw: string, most: number): Line | undefined {
  const text = urlIn(raw.trim().slice(0, most + 1))
  return text === '' || text.startsWith('#') ? undefined : { number, text }
}

/**
 * `URL # why`: a # behind a blank begins a comment. A fragment is not sent anyway, and the blank before it would become %20
 * (docs/decisions/0033-octets-become-text.md). A tab begins another column, which the URL parser would join to the URL. A candidate
 * in JSON is kept unchanged.
 */
function urlIn(line: string): string {
  const at = line.startsWith('{') ? -1 : line.search(/\t|\s#/)
  return at < 0 ? line : line.slice(0, at).trimEnd()
}
