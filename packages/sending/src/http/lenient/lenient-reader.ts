/**
 * The second reader: reads answers over HTTP/1.1 that llhttp refuses and that Chromium and curl accept. It receives bytes in pieces of any
 * size, passes on heads and bodies, and refuses ambiguous answers. Pure: no socket, no clock. Its time is proportional to the bytes.
 *
 *   status ──▶ fields ─┬─▶ chunk-size ──▶ chunk-data ──▶ chunk-end ──▶ chunk-size …
 *     ▲           │    │        └─▶ trailers ──▶ over
 *     └── 1xx ────┘    ├─▶ length ──▶ over
 *                      ├─▶ until-close ──▶ (end of the connection)
 *                      └─▶ over
 */
import type { Tolerated } from '@decorum/protocol'
import { BETWEEN_CHUNKS_MAX_BYTES, HEADERS_MAX_BYTES } from '../../limits.ts'
import type { Headers } from '../answer.ts'
import {
  hasControl,
  isToken,
  type Mark,
  RefusedAnswerError,
  readFields,
  readStatusLine,
  type StatusLine,
  withoutLineEnd,
} from './fields.ts'
import { type FramedHead, type Framing, framingOf } from './framing.ts'

export type LenientHead = StatusLine & { headers: Headers }

export type LenientSink = {
  /** a 1xx answer was skipped; may throw a RefusedAnswerError, which ends the reading */
  interim(): void
  head(head: LenientHead): void
  /** @param piece  a view of the bytes passed to `write`: at most one piece per call */
  data(piece: Buffer): void
}

export type LenientStart = {
  /** the part that another reader has processed: the head, and at least one byte of the body up to the end of a chunk */
  after?: { head: FramedHead; bytes: number } | undefined
  isHead: boolean
  /** the first answer of its connection, so bytes before its status line cannot belong to a previous answer */
  isFirst: boolean
}

type State =
  | 'status'
  | 'fields'
  | 'chunk-size'
  | 'chunk-data'
  | 'chunk-end'
  | 'trailers'
  | 'length'
  | 'until-close'
  | 'over'

const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20]
/** A status line starts with `http` behind at most four other bytes, as in Chromium (HttpUtil::LocateStartOfStatusLine). */
const START_BYTES = 8

export class LenientReader {
  readonly tolerated = new Set<Tolerated>()
  #state: State = 'status'
  /** the part of an incomplete line that has arrived */
  #line = ''
  /** the last byte of `#line`, which would be slow to look up there */
  #last = ''
  /** bytes so far of the heads, of the line behind a chunk, or of the trailers */
  #bytes = 0
  #statusLine: StatusLine | undefined
  /** the lines of the head that have arrived, and whether the incomplete line is empty so far */
  #fields = ''
  #isEmptyLine = true
  /** remaining bytes of the chunk or of the body */
  #left = 0
  /** where the body lies in the bytes of this call */
  #bodyFrom = 0
  #bodyTo = 0
  readonly #start: LenientStart
  readonly #sink: LenientSink
  readonly #mark: Mark = (fault) => void this.tolerated.add(fault)

  /** @throws RefusedAnswerError */
  constructor(start: LenientStart, sink: LenientSink) {
    this.#start = start
    this.#sink = sink
    const { after } = start
    if (after === undefined) return
    this.#begin(framingOf(after.head, start.isHead, this.#mark), after.bytes)
    if (this.#state === 'chunk-size') this.#state = 'chunk-end'
  }

  /** Whether the answer is complete; bytes behind it are ignored. */
  get isOver(): boolean {
    return this.#state === 'over'
  }

  /** Whether the body ends with the connection. */
  get endsWithConnection(): boolean {
    return this.#state === 'until-close'
  }

  /**
   * @param input  owned by the reader from now on, which moves all chunk data together in it, so that tiny chunks become one piece, and
   * copies the bytes that it needs after the call. @throws RefusedAnswerError
   */
  write(input: Buffer): void {
    this.#bodyFrom = this.#bodyTo = 0
    for (let at = 0; at < input.length && this.#state !== 'over';) at = this.#readSome(input, at)
    if (this.#bodyTo > this.#bodyFrom) this.#sink.data(input.subarray(this.#bodyFrom, this.#bodyTo))
  }

  /** @returns the position from which to continue */
  #readSome(input: Buffer, from: number): number {
    if (DATA.has(this.#state)) return this.#readData(input, from)
    if (this.#state === 'fields') return this.#readFields(input, from)
    return (this.#line === '' ? this.#readFast(input, from) : undefined) ?? this.#readLine(input, from)
  }

  #readData(input: Buffer, from: number): number {
    const isCounted = this.#state !== 'until-close'
    const to = isCounted ? Math.min(input.length, from + this.#left) : input.length
    if (isCounted) {
      this.#left -= to - from
      if (this.#left === 0) this.#state = this.#state === 'length' ? 'over' : 'chunk-end'
    }
    if (this.#bodyTo === this.#bodyFrom) this.#bodyFrom = this.#bodyTo = from
    if (this.#bodyTo === from) this.#bodyTo = to
    else if (to - from < TINY_BYTES) for (let i = from; i < to; i++) input[this.#bodyTo++] = input[i] as number
    else {
      input.copyWithin(this.#bodyTo, from, to)
      this.#bodyTo += to - from
    }
    return to
  }

  /** Lines are parsed once the head is complete, so a line without end costs no more than its bytes. */
  #readFields(input: Buffer, from: number): number {
    for (let at = from; ;) {
      const lf = input.indexOf(LF, at)
      const to = lf < 0 ? input.length : lf
      for (let i = at; i < to && this.#isEmptyLine; i++) this.#isEmptyLine = input[i] === CR
      const isOver = lf >= 0 && this.#isEmptyLine
      if (lf < 0 || isOver) {
        const end = isOver ? lf + 1 : to
        this.#count(end - from)
        this.#fields += input.toString('latin1', from, end)
        if (isOver) this.#headIsOver()
        return end
      }
      this.#isEmptyLine = true
      at = lf + 1
    }
  }

  /** Reads lines that a flood would repeat: empty ones before the status line, chunk sizes, chunk ends. @returns undefined: another line */
  #readFast(input: Buffer, from: number): number | undefined {
    let at = from
    if (this.#state === 'status') {
      while (input[at] === CR || input[at] === LF) at++
      if (at === from) return undefined
      this.#count(at - from)
      this.#mark('before-status')
      return at
    }
    if (this.#state === 'trailers') return undefined
    let size = 0
    if (this.#state === 'chunk-size') {
      for (let digit = hexOf(input[at]); digit >= 0 && at - from < CHUNK_SIZE_DIGITS; digit = hexOf(input[++at]))
        size = size * 16 + digit
      if (at === from) return undefined
      while (input[at] === SPACE) at++
    }
    if (input[at] !== CR || input[at + 1] !== LF) return undefined
    if (this.#state === 'chunk-end') this.#state = 'chunk-size'
    else {
      if (input[at - 1] === SPACE) this.#mark('chunk-size-blanks')
      this.#beginChunk(size)
    }
    return at + 2
  }

  #beginChunk(size: number): void {
    this.#bytes = 0
    this.#left = size
    this.#state = size === 0 ? 'trailers' : 'chunk-data'
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    const most = this.#state === 'status' || this.#state === 'fields' ? HEADERS_MAX_BYTES : BETWEEN_CHUNKS_MAX_BYTES
    if (this.#bytes > most) throw new RefusedAnswerError(`more than ${most} bytes of a head, or between chunks`)
  }

  #readLine(input: Buffer, from: number): number {
    const lf = input.indexOf(LF, from)
    const to = lf < 0 ? input.length : lf
    this.#count(to - from + 1)
    const piece = input.toString('latin1', from, to)
    if (lf < 0) {
      if (this.#state === 'status') this.#refuseEarly(piece)
      this.#line += piece
      return to
    }
    const line = this.#line + piece
    this.#line = this.#last = ''
    this.#take(withoutLineEnd(line, this.#mark))
    return to + 1
  }

  #take(line: string): void {
    if (this.#state === 'status') this.#takeStatus(line)
    else if (this.#state === 'chunk-size') this.#takeChunkSize(line)
    else if (this.#state === 'trailers') this.#takeTrailer(line)
    else this.#takeChunkEnd(line)
  }

  /** Refuses text that is no HTTP answer without waiting for the end of its line, which may never come. */
  #refuseEarly(piece: string): void {
    if (this.#line.length < START_BYTES) {
      const start = (this.#line + piece).slice(0, START_BYTES)
      if (start.length === START_BYTES && !/http/i.test(start)) throw new RefusedAnswerError('no status line')
    }
    if (/\r[^\r]/.test(this.#last + piece)) throw new RefusedAnswerError('a bare CR in the status line')
    this.#last = piece.slice(-1)
  }

  #takeStatus(line: string): void {
    const at = line.slice(0, START_BYTES).search(/http/i)
    if (at < 0) throw new RefusedAnswerError('no status line')
    if (at > 0 && !this.#start.isFirst) throw new RefusedAnswerError('bytes before the status line of a later answer')
    if (at > 0) this.#mark('before-status')
    this.#statusLine = readStatusLine(line.slice(at), this.#mark)
    this.#state = 'fields'
  }

  #headIsOver(): void {
    const statusLine = this.#statusLine as StatusLine
    const headers = readFields(this.#fields, this.#mark)
    this.#fields = ''
    if (statusLine.status < 200) {
      if (statusLine.status === 101) throw new RefusedAnswerError('a change of protocol that nobody asked for')
      if (statusLine.status === 100) this.#mark('unasked-continue')
      this.#state = 'status'
      this.#sink.interim()
      return
    }
    const head = { ...statusLine, headers }
    this.#bytes = 0
    this.#begin(framingOf(head, this.#start.isHead, this.#mark), 0)
    this.#sink.head(head)
  }

  /** @param bytes  number of body bytes that another reader has read */
  #begin(framing: Framing, bytes: number): void {
    if (framing.kind === 'chunks') this.#state = 'chunk-size'
    else if (framing.kind === 'until-close') this.#state = 'until-close'
    else {
      this.#left = framing.kind === 'length' ? Math.max(0, framing.bytes - bytes) : 0
      this.#state = this.#left > 0 ? 'length' : 'over'
    }
  }

  #takeChunkSize(line: string): void {
    const [, digits, blanks, extension] = /^([0-9a-f]+)([ \t]*)(;.*)?$/is.exec(line) ?? []
    const size = digits?.replace(/^0+(?=.)/, '')
    if (size === undefined) throw new RefusedAnswerError('a chunk without a size')
    if (size.length > CHUNK_SIZE_DIGITS) throw new RefusedAnswerError('a chunk of more than 2^52 bytes')
    if (blanks !== '') this.#mark('chunk-size-blanks')
    if (extension !== undefined && isOddExtension(extension)) this.#mark('chunk-extension')
    this.#beginChunk(Number.parseInt(size, 16))
  }

  #takeChunkEnd(line: string): void {
    if (line !== '') throw new RefusedAnswerError('a chunk is longer than its size')
    this.#state = 'chunk-size'
  }

  /** Trailers are not kept: the fetcher needs none of them. */
  #takeTrailer(line: string): void {
    if (line === '') this.#state = 'over'
    else if (!isToken(line.slice(0, Math.max(0, line.indexOf(':'))))) this.#mark('not-a-header')
  }
}

const DATA = new Set<State>(['chunk-data', 'length', 'until-close'])
/** Fewer bytes are copied faster by a loop than by `copyWithin`. */
const TINY_BYTES = 32
/** 2^52 − 1; the cap of a body is far smaller. */
const CHUNK_SIZE_DIGITS = 13

/** @returns −1 for a byte that is no hexadecimal digit */
function hexOf(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

/**
 * Whether the chunk extension is malformed: no token behind a semicolon, or a control byte (RFC 9112 §7.1.1). Chromium and curl ignore
 * extensions.
 */
function isOddExtension(extension: string): boolean {
  const bare = extension.replace(/"[^"]*"/g, '""')
  return /;[ \t]*(?:[^ \t!#$%&'*+.^_`|~0-9A-Za-z-]|$)/.test(bare) || hasControl(bare)
}
