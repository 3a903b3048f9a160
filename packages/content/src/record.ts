/**
 * One `response` record: its two heads, and the body as received, piece by piece. A small record is unpacked in one call
 * (measured: a fifth of the time), a large one as a stream, so memory use stays that of single pieces.
 */
import { pipeline, Readable } from 'node:stream'
import { createGunzip, gunzipSync } from 'node:zlib'
import { trimmedPart } from '@decorum/protocol/headers'
import type { Pieces } from './coding/byte-input.ts'
import { ContentError } from './errors.ts'

export type PageRecord = {
  url: string
  status: number
  /** as received, in order, with their case; bytes as Latin-1 */
  headers: [string, string][]
  /** why the fetcher stopped reading: `length`, `time`, `disconnect`; '': the body is whole */
  truncated: string
  body: AsyncIterable<Uint8Array> | readonly Uint8Array[]
  /** ends the reading of a body that is streamed */
  close?(): void
}

/** Limit for each of the two heads: the fetcher reads at most 256 KiB of an answer's head, and may write longer field names. */
const HEAD_MAX_BYTES = 512 * 1024
/** Largest record unpacked in one call; larger ones are streamed. */
const AT_ONCE_MAX_BYTES = 1024 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')

/** @returns undefined when the record is too large for one call. @throws ContentError `damaged` */
export function readSmall(member: Uint8Array): PageRecord | undefined {
  let bytes: Buffer
  try {
    bytes = gunzipSync(member, { maxOutputLength: AT_ONCE_MAX_BYTES })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw damaged((error as Error).message, error)
  }
  const heads = headsIn(bytes)
  if (heads === undefined) throw damaged('it has no head')
  const body = bytes.subarray(heads.bodyAt, heads.bodyAt + heads.bodyBytes)
  if (body.length !== heads.bodyBytes) throw damaged('it ends inside the body')
  return { ...heads.about, body: body.length === 0 ? [] : [body] }
}

/** @throws ContentError `damaged`, also while the body is read; any error of `member` */
export async function readLarge(member: Pieces): Promise<PageRecord & { close(): void }> {
  let elsewhere: { error: unknown } | undefined
  const source = (async function* () {
    try {
      yield* member
    } catch (error) {
      elsewhere = { error }
      throw error
    }
  })()
  const gunzip = createGunzip()
  pipeline(Readable.from(source, { objectMode: false }), gunzip, () => undefined) // errors are thrown by the iteration
  const chunks = gunzip[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const next = async (): Promise<Buffer | undefined> => {
    try {
      const { done, value } = await chunks.next()
      return done ? undefined : value
    } catch (error) {
      if (elsewhere !== undefined) throw elsewhere.error
      throw damaged((error as Error).message, error)
    }
  }
  const close = (): void => void gunzip.destroy()
  try {
    let start: Buffer = Buffer.alloc(0)
    let heads = headsIn(start)
    while (heads === undefined) {
      if (start.length > 2 * HEAD_MAX_BYTES) throw damaged('its head does not end')
      const more = await next()
      if (more === undefined) throw damaged('it has no head')
      start = Buffer.concat([start, more])
      heads = headsIn(start)
    }
    const { about, bodyAt, bodyBytes } = heads
    return { ...about, body: bodyOf(start.subarray(bodyAt), bodyBytes, next, close), close }
  } catch (error) {
    close()
    throw error
  }
}

/** Reads to the end of the member, whose check sum comes last; a record that continues long after the body was not written by a fetcher. */
async function* bodyOf(
  first: Buffer,
  bytes: number,
  next: () => Promise<Buffer | undefined>,
  close: () => void,
): AsyncGenerator<Uint8Array> {
  let left = bytes
  try {
    for (let chunk: Buffer | undefined = first; chunk !== undefined; chunk = await next()) {
      const part = chunk.subarray(0, left)
      left -= part.length
      if (part.length > 0) yield part
      if (left === 0 && chunk.length - part.length > HEAD_END.length) throw damaged('it does not end behind the body')
    }
    if (left > 0) throw damaged('it ends inside the body')
  } finally {
    close()
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

/** Position behind the blank line. */
function endOfHead(bytes: Buffer, from: number): number | undefined {
  const at = bytes.indexOf(HEAD_END, from)
  if (at - from > HEAD_MAX_BYTES || (at < 0 && bytes.length - from > HEAD_MAX_BYTES))
    throw damaged('its head does not end')
  return at < 0 ? undefined : at + HEAD_END.length
}

/** The lines after the first one. */
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
