/** Decodes a list written by a person, or says why it is not text. The encoding is never guessed: a wrong one makes other URLs. */
import { isUtf8 } from 'node:buffer'
import { UsageError } from './exit.ts'

/** The list cannot be read as text; the message names the line. */
export class ListError extends UsageError {}

/**
 * Decodes as UTF-16 if a byte order mark says so, otherwise as UTF-8.
 * @throws ListError with the number of the line
 */
export async function* textOfList(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const lines = new LineCount()
  let decoder: ListDecoder | undefined
  let start: Buffer = Buffer.alloc(0)
  for await (const chunk of input) {
    let text = chunk as string
    if (typeof chunk !== 'string') {
      if (decoder === undefined) {
        start = start.length === 0 ? Buffer.from(chunk) : Buffer.concat([start, chunk])
        if (start.length < MARK_BYTES) continue
        decoder = decoderOf(start, lines)
        text = decoder.decode(start)
      } else text = decoder.decode(chunk)
    }
    yield checked(text, lines)
  }
  if (decoder === undefined && start.length > 0) {
    decoder = decoderOf(start, lines)
    yield checked(decoder.decode(start), lines)
  }
  yield checked(decoder?.end() ?? '', lines)
}
/** Length of the longest byte order mark. */
const MARK_BYTES = 3

type ListDecoder = { decode(bytes: Uint8Array): string; end(): string }

function decoderOf(start: Uint8Array, lines: LineCount): ListDecoder {
  const [first, second] = start
  if (first === 0x1f && second === 0x8b) throw new ListError('the list is packed with gzip: unpack it first')
  if (first === 0xff && second === 0xfe) return utf16('utf-16le', lines)
  if (first === 0xfe && second === 0xff) return utf16('utf-16be', lines)
  return utf8(lines)
}

function utf16(name: string, lines: LineCount): ListDecoder {
  const decoder = new TextDecoder(name, { fatal: true })
  const decode = (bytes?: Uint8Array): string => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      throw new ListError(`line ${lines.at('')} or a later one is not in UTF-16, as the byte order mark says`)
    }
  }
  return { decode, end: () => decode() }
}

/** Pieces end anywhere: an incomplete character is kept for the next piece. */
function utf8(lines: LineCount): ListDecoder {
  let kept: Uint8Array = new Uint8Array()
  let isStart = true
  const read = (bytes: Buffer): string => {
    const text = bytes.toString('utf8')
    if (!isUtf8(bytes)) {
      const line = lines.at(text.slice(0, text.indexOf('\ufffd')))
      const what = text.includes('\0') ? NO_TEXT : 'convert the list, for example with iconv -f WINDOWS-1252 -t UTF-8'
      throw new ListError(`line ${line} is not in UTF-8: ${what}`)
    }
    const isMarked = isStart && text.startsWith('\ufeff')
    isStart &&= text === ''
    return isMarked ? text.slice(1) : text
  }
  return {
    decode(bytes) {
      const all =
        kept.length === 0 ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) : Buffer.concat([kept, bytes])
      const whole = all.length - begunAtEnd(all)
      kept = Buffer.from(all.subarray(whole)) // a copy: the stream may reuse its memory
      return read(all.subarray(0, whole))
    },
    end: () => read(Buffer.from(kept)),
  }
}

/** Length of an incomplete character at the end, bytes. */
function begunAtEnd(bytes: Uint8Array): number {
  for (let back = 1; back <= 3; back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}

const NO_TEXT = 'this is no list of URLs, or one in UTF-16 without a byte order mark'

function checked(text: string, lines: LineCount): string {
  const nul = text.indexOf('\0')
  if (nul >= 0) throw new ListError(`line ${lines.at(text.slice(0, nul))} holds a NUL: ${NO_TEXT}`)
  lines.add(text)
  return text
}

/** LF, CRLF, or CR alone, as old Macs and some spreadsheets write it. */
export const LINE_END = /\r\n|\n|\r/g

/** The line number, from 1, that the text read so far has reached. */
class LineCount {
  #ends = 0
  #endedInCr = false

  add(text: string): void {
    this.#ends = this.at(text) - 1
    if (text !== '') this.#endedInCr = text.endsWith('\r')
  }

  at(more: string): number {
    const isSplit = this.#endedInCr && more.startsWith('\n')
    return this.#ends + (more.match(LINE_END)?.length ?? 0) - (isSplit ? 1 : 0) + 1
  }
}
