/**
 * One `response` record: its two heads, and the body as received, piece by piece. A small record is unpacked in one call
 * (measured: a fifth of the time), a large one as a stream, so memory use stays that of single pieces.
 */
import { pipeline } from 'node:stream'
import { createGunzip, gunzipSync } from 'node:zlib'
import { trimmedPart } from '@decorum/protocol/headers'
import { ByteInput, gathered, type Pieces } from './coding/byte-input.ts'
import { ContentError } from './errors.ts'

export type PageRecord = {
  url: string
  status: number
  /** as received, in order, with their case; bytes as Latin-1 */
  headers: [string, string][]
  /** why the fetcher stopped reading: `length`, `time`, `disconnect`; '': the body is whole */
  truncated: string
  body: AsyncIterable<Uint8Array> | Uint8Array
  /** ends the reading of a body that is streamed */
  close?(): Promise<void>
}

/** Limit for each of the two heads: the fetcher reads at most 256 KiB of an answer's head, and may write longer field names. */
const HEAD_MAX_BYTES = 512 * 1024
/** Members up to this size are unpacked in one call unless they hold more than AT_ONCE_MAX_BYTES. */
const SMALL_BYTES = 256 * 1024
const AT_ONCE_MAX_BYTES = 1024 * 1024
/** Number of bytes read first; most heads end within them. */
const FIRST_BYTES = 4 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * @param length  of the gzip member
 * @throws ContentError `damaged`, also while the body is read; any error of `member`
 */
export async function readRecord(member: Pieces, length: number): Promise<PageRecord> {
  const packed = length > SMALL_BYTES ? undefined : await gathered(member)
  const atOnce = packed && unpackedAtOnce(packed)
  const input = new ByteInput(atOnce ? [atOnce] : unpacked(packed ? [packed] : member))
  try {
    const { about, bodyAt, bodyBytes } = await headsOf(input)
    await input.skip(bodyAt)
    const body = bodyOf(input, bodyBytes)
    return atOnce ? { ...about, body: await gathered(body) } : { ...about, body, close: () => input.close() }
  } catch (error) {
    await input.close()
    throw error
  }
}

/** @returns undefined when the record is too large for one call */
function unpackedAtOnce(packed: Uint8Array): Uint8Array | undefined {
  try {
    return gunzipSync(packed, { maxOutputLength: AT_ONCE_MAX_BYTES })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw damaged((error as Error).message, error)
  }
}

async function* unpacked(member: Pieces): AsyncGenerator<Uint8Array> {
  const packed = new ByteInput(member)
  try {
    yield* pipeline(packed, createGunzip(), () => undefined) // errors are thrown by the iteration
  } catch (error) {
    throw packed.failure === undefined ? damaged((error as Error).message, error) : packed.failure.error
  }
}

/** Reads to the end of the member, whose check sum comes last; a record that continues long after the body was not written by a fetcher. */
async function* bodyOf(input: ByteInput, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes
  for await (const piece of input) {
    const part = piece.subarray(0, left)
    left -= part.length
    if (part.length > 0) yield part
    if (left === 0 && piece.length - part.length > HEAD_END.length) throw damaged('it does not end behind the body')
  }
  if (left > 0) throw damaged('it ends inside the body')
}

async function headsOf(input: ByteInput): Promise<Heads> {
  for (let bytes = FIRST_BYTES; ; bytes *= 2) {
    const start = await input.peek(bytes)
    const heads = headsIn(start)
    if (heads !== undefined) return heads
    if (start.length < bytes) throw damaged('it has no head')
  }
}

type Heads = { about: Omit<PageRecord, 'body'>; bodyAt: number; bodyBytes: number }

/** @returns undefined when the bytes end before the heads do */
function headsIn(bytes: Buffer): Heads | undefined {
  if (bytes.length >= 5 && bytes.toString('latin1', 0, 5) !== 'WARC/') throw damaged('it is no WARC record')
  const warcEnd = endOfHead(bytes, 0)
  if (warcEnd === undefined) return undefined
  const warc = new Map(fieldsOf(bytes, 0, warcEnd).map(([name, value]) => [name.toLowerCase(), value]))
  if (warc.get('warc-type') !== 'response')
    throw damaged(`it is of type ${String(warc.get('warc-type')).slice(0, 40)}, not response`)
  const httpEnd = endOfHead(bytes, warcEnd)
  if (httpEnd === undefined) return undefined
  const status = /^HTTP\/1\.[01] ([1-9]\d\d)/.exec(bytes.toString('latin1', warcEnd, warcEnd + 16))?.[1]
  if (status === undefined) throw damaged('it holds no HTTP answer')
  const length = /^\d{1,15}$/.exec(warc.get('content-length') ?? '')?.[0]
  const bodyBytes = Number(length) - (httpEnd - warcEnd)
  if (!(bodyBytes >= 0)) throw damaged('its length is wrong')
  return {
    about: {
      url: warc.get('warc-target-uri') ?? '',
      status: Number(status),
      headers: fieldsOf(bytes, warcEnd, httpEnd),
      truncated: warc.get('warc-truncated') ?? '',
    },
    bodyAt: httpEnd,
    bodyBytes,
  }
}

/** Position behind the blank line; undefined: it has not arrived. */
function endOfHead(bytes: Buffer, from: number): number | undefined {
  const at = bytes.indexOf(HEAD_END, from)
  if (at - from > HEAD_MAX_BYTES || (at < 0 && bytes.length - from > HEAD_MAX_BYTES))
    throw damaged('its head does not end')
  return at < 0 ? undefined : at + HEAD_END.length
}

/** The fields of a head: all lines but the first, as names and values. */
function fieldsOf(bytes: Buffer, from: number, to: number): [string, string][] {
  const fields: [string, string][] = []
  for (const line of bytes.toString('latin1', from, to).split('\r\n').slice(1)) {
    const colon = line.indexOf(':')
    if (colon > 0) fields.push([line.slice(0, colon), trimmedPart(line, colon + 1, line.length)])
  }
  return fields
}

const damaged = (why: string, cause?: unknown): ContentError =>
  new ContentError('damaged', `what the reference names is not the whole record of a page: ${why}`, cause)
