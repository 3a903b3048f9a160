/** Decodes one content coding, with limits on what comes out: a few kilobytes can decode to gigabytes. */
import { pipeline, Readable, type Transform } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import { MAX_RATIO, RATIO_FREE_BYTES } from '../limits.ts'
import { openTurns } from './turns.ts'

/** The body is not what its Content-Encoding says, or its coding is not one that was asked for. */
export class DecodingError extends Error {
  override readonly name = 'DecodingError'
  readonly code = 'ERR_DECODING'
}

export type Coding = 'identity' | 'gzip' | 'deflate' | 'br' | 'zstd'

/** @param value  Content-Encoding as received; null: given twice with different values. @throws DecodingError for a coding that is not read */
export function codingOf(value: string | undefined | null): Coding {
  const name = value?.trim().toLowerCase() ?? (value === null ? 'several codings' : '')
  if (name === '' || name === 'identity') return 'identity'
  if (name === 'gzip' || name === 'x-gzip') return 'gzip'
  if (name === 'deflate' || name === 'br' || name === 'zstd') return name
  throw new DecodingError(`the content coding '${name.slice(0, 64)}' is not one that was asked for`)
}

/**
 * Decoders at a time in this process. A window takes 16 MiB in brotli, 8 MiB in zstd and 32 KiB in zlib, so all decoders
 * together stay below 128 MiB whatever is received. Small bodies do not wait for large ones, and rules wait for no page.
 */
export const unpacking = { rules: openTurns(4), smallPages: openTurns(2), largePages: openTurns(2) }

/** `cut`: there was more, beyond `maxBytes` or beyond the allowed ratio to the bytes on the wire. */
export type Decoded = { bytes: Buffer; cut: false | 'length' | 'ratio' }

/**
 * @param source    the body as on the wire
 * @param maxBytes  bytes that come out at most
 * @param complete  false: the body is known to be cut, so an abrupt end is no error
 * @throws          DecodingError; what `source` throws
 */
export async function decode(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  coding: Coding,
  maxBytes: number,
  complete = true,
): Promise<Decoded> {
  const out: Uint8Array[] = []
  const { bytes: length, cut } = await unpacking.rules(() =>
    unpack(source, coding, maxBytes, complete, (chunk) => void out.push(chunk)),
  )
  const bytes = Buffer.concat(out)
  return { bytes: length > maxBytes ? bytes.subarray(0, maxBytes) : bytes, cut }
}

/**
 * The same piece by piece: the next piece is decoded when `take` has returned. To be called in turn (`unpacking`).
 * @returns the number of bytes that came out, at most one piece beyond `maxBytes`
 * @throws  DecodingError; what `source` and `take` throw
 */
export async function unpack(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  coding: Coding,
  maxBytes: number,
  complete: boolean,
  take: (chunk: Uint8Array) => void | Promise<void>,
): Promise<{ bytes: number; cut: Decoded['cut'] }> {
  let bytes = 0
  let wire = 0
  /** an error before or after the decoder, which says nothing about the body */
  let elsewhere: { error: unknown } | undefined
  const counted = (async function* () {
    try {
      for await (const chunk of source) {
        wire += chunk.length
        yield chunk
      }
    } catch (error) {
      elsewhere = { error }
      throw error
    }
  })()
  try {
    for await (const chunk of await through(counted, coding)) {
      try {
        const taking = take(chunk)
        if (taking !== undefined) await taking
      } catch (error) {
        elsewhere = { error }
        throw error
      }
      bytes += chunk.length
      if (bytes > maxBytes) return { bytes, cut: 'length' }
      if (bytes > RATIO_FREE_BYTES && bytes > wire * MAX_RATIO) return { bytes, cut: 'ratio' }
    }
  } catch (error) {
    if (elsewhere !== undefined) throw elsewhere.error
    if (complete || !isAbruptEnd(error))
      throw new DecodingError(`${coding}: ${(error as Error).message}`, { cause: error })
  }
  return { bytes, cut: false }
}

const isAbruptEnd = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === 'Z_BUF_ERROR' || error.code === 'ERR_BUFFER_OUT_OF_BOUNDS')

async function through(source: AsyncGenerator<Uint8Array>, coding: Coding): Promise<AsyncIterable<Uint8Array>> {
  if (coding === 'identity') return source
  const first = await source.next()
  if (first.done) return source // an empty body, as of a 204
  const whole = (async function* () {
    yield first.value
    yield* source
  })()
  const decoder = decoderFor(coding, first.value)
  pipeline(Readable.from(whole), decoder, () => {}) // errors come through the iteration of the decoder
  return decoder
}

function decoderFor(coding: Exclude<Coding, 'identity'>, first: Uint8Array): Transform {
  switch (coding) {
    case 'gzip':
      return createGunzip()
    case 'deflate':
      return isZlib(first) ? createInflate() : createInflateRaw() // some servers send deflate without its zlib wrapper
    case 'br':
      return createBrotliDecompress()
    case 'zstd':
      // RFC 9659: a window of at most 8 MiB. The library would accept 128 MiB per answer.
      return createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } })
    default:
      return coding satisfies never
  }
}

const isZlib = ([first = 0, second = 0]: Uint8Array): boolean =>
  (first & 15) === 8 && ((first << 8) | second) % 31 === 0
