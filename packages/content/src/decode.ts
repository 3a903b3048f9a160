/** The body without its content codings, piece by piece and bounded: a few kilobytes can hold gigabytes. */
import { pipeline, Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import { ContentError } from './errors.ts'

type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/** Codings on top of each other. More are an attack or a mistake. */
const MOST_CODINGS = 3

/** @returns names in the order in which they were applied. @throws ContentError `undecodable` */
export function codingsOf(header: string | null): string[] {
  const names = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  if (names.length > MOST_CODINGS) throw undecodable(`${names.length} content codings on top of each other`)
  for (const name of names)
    if (!decoders.has(name)) throw undecodable(`the content coding '${name.slice(0, 64)}' is not known`)
  return names
}

/**
 * @param complete  false: the fetcher stopped reading, so what can be read of it is all there is
 * @throws ContentError `undecodable`, `too-large` with the first byte beyond `maxBytes`; what `source` throws
 */
export async function* decoded(
  source: Pieces,
  codings: string[],
  complete: boolean,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let pieces: Pieces = source
  for (const coding of codings.toReversed()) pieces = through(pieces, coding, complete)
  let bytes = 0
  for await (const piece of pieces) {
    bytes += piece.length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    yield piece
  }
}

/** In one call, for a body that is in memory; undefined: it takes a stream. */
export function decodedAtOnce(
  body: readonly Uint8Array[],
  codings: string[],
  maxBytes: number,
): Uint8Array | undefined {
  const [only = EMPTY, ...more] = body
  if (more.length > 0 || codings.length > 1) return undefined
  const [coding] = codings
  if (coding === undefined || only.length === 0) {
    if (only.length > maxBytes) throw tooLarge(maxBytes)
    return only
  }
  if (coding !== 'gzip') return undefined
  try {
    return zlib.gunzipSync(only, { maxOutputLength: Math.min(maxBytes, AT_ONCE_MAX_BYTES) })
  } catch {
    return undefined // the stream says what is wrong, or unpacks more
  }
}
const AT_ONCE_MAX_BYTES = 1024 * 1024
const EMPTY = new Uint8Array()

async function* through(source: Pieces, coding: string, complete: boolean): AsyncGenerator<Uint8Array> {
  let elsewhere: { error: unknown } | undefined
  let decoder: Transform | undefined
  const iterator = (async function* () {
    try {
      yield* source
    } catch (error) {
      elsewhere = { error }
      throw error
    }
  })()
  const first = await iterator.next()
  if (first.done) return // no bytes at all: nothing to decode
  const whole = (async function* () {
    yield first.value
    yield* iterator
  })()
  try {
    decoder = (decoders.get(coding) as Decoder)(first.value)
    pipeline(Readable.from(whole, { objectMode: false }), decoder, () => undefined) // errors arrive through the iteration
    for await (const chunk of decoder as AsyncIterable<Uint8Array>) yield chunk
  } catch (error) {
    if (elsewhere !== undefined) throw elsewhere.error
    if (error instanceof ContentError) throw error
    if (!complete && isAbruptEnd(error)) return
    throw undecodable(`the body is not what its content coding '${coding}' says: ${(error as Error).message}`, error)
  } finally {
    decoder?.destroy()
  }
}

const isAbruptEnd = (error: unknown): boolean =>
  ['Z_BUF_ERROR', 'ERR_BUFFER_OUT_OF_BOUNDS'].includes((error as NodeJS.ErrnoException).code ?? '')

type Decoder = (first: Uint8Array) => Transform
const decoders: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', () => zlib.createGunzip()],
  ['x-gzip', () => zlib.createGunzip()],
  // some servers send the bare stream
  ['deflate', (first) => (isZlib(first) ? zlib.createInflate() : zlib.createInflateRaw())],
  ['br', () => zlib.createBrotliDecompress()],
  ['zstd', zstd],
])

function zstd(): Transform {
  if (typeof zlib.createZstdDecompress !== 'function')
    throw undecodable(`this Node (${process.version}) cannot read zstd: 22.15 and later can`)
  // RFC 9659: a window of at most 8 MiB; the library would accept 128 MiB
  return zlib.createZstdDecompress({ params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } })
}
const isZlib = ([first = 0, second = 0]: Uint8Array): boolean =>
  (first & 15) === 8 && ((first << 8) | second) % 31 === 0

const undecodable = (message: string, cause?: unknown): ContentError => new ContentError('undecodable', message, cause)
const tooLarge = (maxBytes: number): ContentError =>
  new ContentError('too-large', `the decoded body has more than ${maxBytes} bytes (option \`maxBytes\`)`)
