/** Decodes a list written by a person, or says why it is not text. The encoding is never guessed: a wrong guess would give other URLs. */
import { UsageError } from './exit.ts'

/** The list cannot be read as text; the message names the line. */
export class ListError extends UsageError {}

/**
 * Decodes as UTF-16 if a byte order mark says so, otherwise as UTF-8.
 * @throws ListError with the number of the line
 */
export async function* textOfList(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  let decode: ((bytes?: Uint8Array) => string) | undefined
  for await (const bytes of wholeMarks(input)) {
    decode ??= decoderOf(bytes)
    yield decode(bytes)
  }
  if (decode !== undefined) yield decode()
}

/** Number of first bytes that decide the encoding: the length of a byte order mark of UTF-16. */
const MARK_BYTES = 2

/** The same bytes in pieces that are no shorter than a byte order mark; the last may be. */
async function* wholeMarks(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array> {
  let piece: Buffer = Buffer.alloc(0)
  for await (const chunk of input) {
    piece = Buffer.concat([piece, Buffer.from(chunk as Uint8Array)])
    if (piece.length < MARK_BYTES) continue
    yield piece
    piece = Buffer.alloc(0)
  }
  yield piece
}

const NO_TEXT = 'this is no list of URLs, or one in UTF-16 without a byte order mark'

/** @returns a function that decodes the next piece; called without a piece, it checks that the last character was complete */
function decoderOf([first, second]: Uint8Array): (bytes?: Uint8Array) => string {
  if (first === 0x1f && second === 0x8b) throw new ListError('the list is packed with gzip: unpack it first')
  const isLittle = first === 0xff && second === 0xfe
  const isBig = first === 0xfe && second === 0xff
  const encoding = isLittle ? 'utf-16le' : isBig ? 'utf-16be' : 'utf-8'
  const strict = new TextDecoder(encoding, { fatal: true })
  const lenient = new TextDecoder(encoding) // shows where `strict` fails
  const lines = new LineCount()
  return (bytes) => {
    const options = { stream: bytes !== undefined }
    const text = lenient.decode(bytes, options)
    const nul = text.indexOf('\0')
    try {
      strict.decode(bytes, options)
    } catch {
      const what = nul >= 0 ? NO_TEXT : 'convert the list, for example with iconv -f WINDOWS-1252 -t UTF-8'
      const wanted = encoding === 'utf-8' ? `UTF-8: ${what}` : 'UTF-16, as the byte order mark says'
      throw new ListError(`line ${lines.at(text.slice(0, text.indexOf('\ufffd')))} is not in ${wanted}`)
    }
    if (nul >= 0) throw new ListError(`line ${lines.at(text.slice(0, nul))} holds a NUL: ${NO_TEXT}`)
    lines.add(text)
    return text
  }
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
