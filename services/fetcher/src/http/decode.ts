/** Content codings, one at a time, with bounds on what comes out: a few kilobytes can hold gigabytes. */
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
import { openTurns } from '../sink/turns.ts'

/** The body is not what its Content-Encoding says, or it is coded in a way that we did not ask for. */
export class DecodingError extends Error {
  override readonly name = 'DecodingError'
  readonly code = 'ERR_DECODING'
}

export type Coding = 'identity' | 'gzip' | 'deflate' | 'br' | 'zstd'

/** @param value  Content-Encoding as received; null: given twice, differently. @throws DecodingError for all that decode does not read */
export function codingOf(value: string | undefined | null): Coding {
  const name = value?.trim().toLowerCase() ?? (value === null ? 'several codings' : '')
  if (name === '' || name === 'identity') return 'identity'
  if (name === 'gzip' || name === 'x-gzip') return 'gzip'
  if (name === 'deflate' || name === 'br' || name === 'zstd') return name
  throw new DecodingError(`the content coding '${name.slice(0, 64)}' is not one that was asked for`)
}

/**
 * Decoders at a time in this process, whoever asks: a brotli window takes 16 MiB, zstd 8 MiB, zlib 32 KiB, so that all
 * of them together stay below 128 MiB whatever strangers send. Small bodies do not wait for large ones, and rules for no page.
 */
export const unpacking = { rules: openTurns(4), smallPages: openTurns(2), largePages: openTurns(2) }

/** `cut`: there was more: beyond maxBytes, or beyond the allowed relation to what came over the wire. */
export type Decoded = { octets: Buffer; cut: false | 'length' | 'ratio' }

/**
 * @param source    the body as on the wire
 * @param maxBytes  octets that come out at most
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
  const { bytes, cut } = await unpacking.rules(() =>
    unpack(source, coding, maxBytes, complete, (chunk) => void out.push(chunk)),
  )
  const octets = Buffer.concat(out)
  return { octets: bytes > maxBytes ? octets.subarray(0, maxBytes) : octets, cut }
}

/**
 * The same piece by piece; the next is made when `take` is done with the last. Called in turn (`unpacking`).
 * @returns the octets that came out, at most one piece beyond `maxBytes`
 * @throws  DecodingError; what `source` and `take` throw
 */
export async function unpack(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  coding: Coding,
  maxBytes: number,
  complete: boolean,
  reserve: (chunk: Uint8Array) => void | Promise<void>,
): Promise<{ bytes: number; cut: Decoded['cut'] }> {
  let bytes = 0
  let wire = 0
  /** what went wrong before the decoder, or behind it: nothing that the body says */
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
        const taking = reserve(chunk)
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
  if (first.done) return source // no octets at all: nothing to decode, as for a 204
  const whole = (async function* () {
    yield first.value
    yield* source
  })()
  const decoder = decoderFor(coding, first.value)
  pipeline(Readable.from(whole), decoder, () => {}) // errors arrive through the iteration of the decoder
  return decoder
}

function decoderFor(coding: Exclude<Coding, 'identity'>, first: Uint8Array): Transform {
  switch (coding) {
    case 'gzip':
      return createGunzip()
    case 'deflate':
      return isZlib(first) ? createInflate() : createInflateRaw() // some servers send the bare stream
    case 'br':
      return createBrotliDecompress()
    case 'zstd':
      // RFC 9659: a window of at most 8 MiB; the library would accept 128 MiB per answer.
      return createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } })
    default:
      return coding satisfies never
  }
}

const isZlib = ([first = 0, second = 0]: Uint8Array): boolean =>
  (first & 15) === 8 && ((first << 8) | second) % 31 === 0
