/** Lines of a file or of standard input, as candidates. */
import { createReadStream, open as openFile } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { MAX_URL_CHARS } from '@decorum/protocol'
import { messageOf, UsageError } from './exit.ts'

export type Line = {
  /** 1-based, comments and blank lines counted, as editors do */
  number: number
  /** without surrounding blanks; one that is too long is cut behind the first character too many, which is enough to refuse it */
  text: string
}

/**
 * Opens what was named on the command line; '-' is standard input.
 * @throws UsageError when it cannot be read
 */
export async function openInput(file: string): Promise<Readable> {
  if (file === '-') return process.stdin
  try {
    await access(file, constants.R_OK)
    const found = await stat(file)
    if (found.isDirectory()) throw new Error('it is a directory')
    if (found.isFIFO()) return await openPipe(file)
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${reason(error)}`)
  }
  return createReadStream(file)
}

/** A named pipe that nobody writes to yet: opened as a file it would hold a thread, and with it this process, until somebody does. */
async function openPipe(file: string): Promise<Readable> {
  const open = promisify(openFile)
  return new Socket({
    fd: await open(file, constants.O_RDONLY | constants.O_NONBLOCK),
    readable: true,
    writable: false,
  })
}

function reason(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'permission denied'
  return messageOf(error)
}

/** LF, CRLF, or CR alone, as old Macs and some spreadsheets write it. */
const LINE_END = /\r\n|\n|\r/g

/**
 * The lines that say something: blank ones and those that begin with # are counted and skipped. Any line ending;
 * octets that are not UTF-8 become U+FFFD. Memory is bounded however long a line is.
 * @param most  longest line that is wanted whole, in characters: a URL, unless lines may be candidates
 */
export async function* linesOf(input: AsyncIterable<Uint8Array | string>, most = MAX_URL_CHARS): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8') // drops a byte order mark
  let number = 1
  let rest = ''
  for await (const chunk of input) {
    const text = rest + (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }))
    let from = 0
    for (const { 0: end, index } of text.matchAll(LINE_END)) {
      if (end === '\r' && index === text.length - 1) break // its LF may be in the next chunk
      const line = read(number++, text.slice(from, index), most)
      if (line) yield line
      from = index + end.length
    }
    rest = text.slice(from)
    // A blank at the front would count against the line; behind the cap nothing is looked at but its end.
    if (rest.length > most * 2) rest = rest.trimStart().slice(0, most * 2) + (rest.endsWith('\r') ? '\r' : '')
  }
  for (const last of (rest + decoder.decode()).split(LINE_END)) {
    const line = read(number++, last, most)
    if (line) yield line
  }
}

function read(number: number, raw: string, most: number): Line | undefined {
  const text = raw.trim().slice(0, most + 1)
  return text === '' || text.startsWith('#') ? undefined : { number, text }
}
