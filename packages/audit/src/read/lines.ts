/** Reads files, gzip and standard input as lines: as a stream, without loss of bytes (one character per byte). */
import { type FileHandle, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'

/** A log that cannot be read; the message names it. */
export class UnreadableLogError extends Error {
  override readonly name = 'UnreadableLogError'
  readonly code = 'UNREADABLE_LOG'
}

/** The error for a file that could not be opened or read. */
export function unreadable(file: string, error: unknown): UnreadableLogError {
  const { code, message } = error as NodeJS.ErrnoException
  return new UnreadableLogError(`${file} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : message}`)
}

/** `text` has one character per byte; `whole` is false for a last line without a newline. */
export type Line = { text: string; whole: boolean; tooLong: boolean }

/** Longest line of a log: a body of rules in JSON may take 3 MB. */
const MAX_LINE_CHARS = 4_000_000
const CHUNK_BYTES = 1 << 16

/**
 * Passes all lines on, in order, a batch at a time.
 * @param file  a path, or '-' for standard input; gzip is recognized by its first bytes
 * @returns     why the end is missing (a gzip file that was cut); undefined: it is not
 * @throws      UnreadableLogError when it cannot be read at all
 */
export async function readLines(file: string, take: (line: Line) => void): Promise<string | undefined> {
  let rest = ''
  let skipping = false
  const hand = (text: string, whole: boolean): void => {
    const end = text.length - 1
    take({ text: text.charCodeAt(end) === 13 ? text.slice(0, end) : text, whole, tooLong: false })
  }
  let cut: string | undefined
  try {
    for await (const chunk of await bytesOf(file)) {
      const text = chunk.toString('latin1')
      let from = 0
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
        const line = rest === '' ? text.slice(from, at) : rest + text.slice(from, at)
        rest = ''
        from = at + 1
        if (skipping) skipping = false
        else if (line.length > MAX_LINE_CHARS) take({ text: line.slice(0, 200), whole: true, tooLong: true })
        else hand(line, true)
      }
      if (skipping) continue
      rest += text.slice(from)
      if (rest.length <= MAX_LINE_CHARS) continue
      take({ text: rest.slice(0, 200), whole: true, tooLong: true })
      rest = ''
      skipping = true
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'Z_BUF_ERROR') throw unreadable(file, error)
    cut = 'the gzip file ends before its end'
  }
  if (rest !== '') hand(rest, false)
  return cut
}

async function bytesOf(file: string): Promise<AsyncIterable<Buffer>> {
  if (file === '-') return plainOf(process.stdin)
  const handle = await open(file)
  const head = Buffer.alloc(2)
  await handle.read(head, 0, 2, 0).catch(async (error: unknown) => {
    await handle.close()
    throw error
  })
  return isGzip(head) ? unzipped(handle.createReadStream({ start: 0 })) : blocksOf(handle)
}

/** Reuses one buffer: a stream would allocate one for each read. */
async function* blocksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  const block = Buffer.allocUnsafe(CHUNK_BYTES)
  try {
    for (let at = 0; ;) {
      const { bytesRead } = await handle.read(block, 0, CHUNK_BYTES, at)
      if (bytesRead === 0) return
      at += bytesRead
      yield block.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}

const isGzip = (head: Uint8Array): boolean => head[0] === 0x1f && head[1] === 0x8b

function unzipped(from: Readable): Readable {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
  from.once('error', (error) => gunzip.destroy(error))
  return from.pipe(gunzip)
}

/** Standard input may be gzip too, which its first chunk shows. */
async function plainOf(stream: Readable): Promise<Readable> {
  const first = await new Promise<Buffer | null>((resolve, reject) => {
    stream.once('error', reject)
    stream.once('end', () => resolve(null))
    stream.once('readable', () => resolve(stream.read() as Buffer | null))
  })
  if (first !== null) stream.unshift(first)
  return first !== null && isGzip(first) ? unzipped(stream) : stream
}

/** The texts of some lines, by number from 1, for a report that shows them; none for '-', which cannot be read twice. */
export async function linesAt(file: string, numbers: ReadonlySet<number>): Promise<Map<number, string>> {
  const found = new Map<number, string>()
  if (file === '-' || file === '' || numbers.size === 0) return found
  let number = 0
  await readLines(file, ({ text }) => {
    if (numbers.has(++number)) found.set(number, textOf(text))
  })
  return found
}

const strict = new TextDecoder('utf-8', { fatal: true })

/** Bytes as text: UTF-8 if valid, else Latin-1. */
export function textOf(bytes: string): string {
  if (!/[\x80-\xff]/.test(bytes)) return bytes
  try {
    return strict.decode(Buffer.from(bytes, 'latin1'))
  } catch {
    return bytes
  }
}

/** The path of a request as text: UTF-8 if valid, else with bytes beyond ASCII percent-encoded, so that none is lost. */
export function pathOf(bytes: string): string {
  if (!/[^\x21-\x7e]/.test(bytes)) return bytes
  try {
    return /[\u0100-\uffff]/.test(bytes) ? bytes : strict.decode(Buffer.from(bytes, 'latin1'))
  } catch {
    return bytes.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)
  }
}
