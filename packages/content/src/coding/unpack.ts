/**
 * The body without its content codings, piece by piece. Fetchers and readers of kept pages share this code, and it accepts what
 * browsers accept: unknown coding names, codings that were announced and not applied, missing or wrong trailers, bytes behind the
 * end. Each such fault is reported (`Tolerated`). Reasons, and what is refused: docs/decisions/0032-what-header-fields-mean.md.
 */
import { isUtf8 } from 'node:buffer'
import * as zlib from 'node:zlib'
import { ContentError } from '../errors.ts'
import { ByteInput, type Pieces } from './byte-input.ts'
import {
  type Decoder,
  gunzip,
  inflate,
  isCut,
  isGzip,
  isZlib,
  isZstd,
  type Overlooked,
  unbrotli,
  unzstd,
} from './decoders.ts'
import { isReadable, SAMPLE_BYTES } from './readable.ts'

export { ContentError } from '../errors.ts'
export type { Pieces }

const { BROTLI_OPERATION_FLUSH, Z_SYNC_FLUSH } = zlib.constants

/** Most codings on top of each other. More are an attack or a mistake. */
const MOST_CODINGS = 3

type UnpackOptions = {
  /** false: the body is known to be cut, so a missing end is no fault */
  complete: boolean
  /** most bytes between two codings: the output of one that is the input of the next */
  mostBetween: number
  /** called for each tolerated fault; `coding-cut`: a complete body ended before its coding did. An exception ends the reading */
  overlooked: Overlooked
}

/**
 * @param codings  in the order in which they were applied, as codingsOf of @decorum/protocol reads them
 * @throws ContentError `undecodable`, `too-large` by `mostBetween`; what `source` throws
 */
export function unpacked(source: Pieces, codings: readonly string[], options: UnpackOptions): Pieces {
  const known = codings.filter((coding) => DECODERS.has(coding))
  if (known.length > MOST_CODINGS)
    throw new ContentError('undecodable', `${known.length} content codings on top of each other`)
  let pieces = source
  for (const [below, coding] of known.toReversed().entries())
    pieces = layer(pieces, coding, below < known.length - 1 ? options.mostBetween : Number.POSITIVE_INFINITY, options)
  return known.length === codings.length ? pieces : readable(pieces, codings, options)
}

async function* layer(
  source: Pieces,
  coding: string,
  most: number,
  { complete, overlooked }: UnpackOptions,
): AsyncGenerator<Uint8Array> {
  const input = new ByteInput(source)
  const see: Overlooked = (mark) => {
    if (complete || (mark !== 'coding-no-trailer' && mark !== 'coding-cut')) overlooked(mark)
  }
  let bytes = 0
  try {
    if ((await input.peek(1)).length === 0) return // an empty body, as of a 204, has no coding
    const decoder = await decoderFor(coding, input, see)
    for await (const piece of decoder(input, see)) {
      bytes += piece.length
      if (bytes > most) throw new ContentError('too-large', `content coding '${coding}': more than ${most} bytes`)
      yield piece
    }
  } catch (error) {
    if (input.failure !== undefined) throw input.failure.error
    if (isCut(error)) see('coding-cut')
    else if (error instanceof ContentError) throw error
    else
      throw new ContentError(
        'undecodable',
        `the body is not what its content coding '${coding}' says: ${(error as Error).message}`,
        error,
      )
  } finally {
    await input.close()
  }
}

const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ['gzip', gunzip],
  ['deflate', inflate],
  ['br', unbrotli],
  ['zstd', unzstd],
])

/** The first bytes outweigh the header: servers confuse gzip and deflate, and announce either for plain text. */
async function decoderFor(coding: string, input: ByteInput, overlooked: Overlooked): Promise<Decoder> {
  const named = DECODERS.get(coding) as Decoder
  const start = await input.peek(4)
  if ((coding === 'gzip' && isGzip(start)) || (coding === 'zstd' && isZstd(start))) return named
  let found: Decoder | undefined
  if (coding === 'deflate' && isGzip(start)) found = gunzip
  else if (await isPlain(coding, input)) found = plain
  else if (coding === 'gzip' && isZlib(start)) found = inflate
  if (found === undefined) return named
  overlooked('coding-misnamed')
  return found
}

/**
 * Whether the body is not compressed at all. deflate and brotli have no magic number, and a few bytes of either may look like text. Such
 * a body is plain if it cannot be decoded, or if it is very short, valid UTF-8, and not a complete stream.
 */
async function isPlain(coding: string, input: ByteInput): Promise<boolean> {
  const sample = await input.peek(SAMPLE_BYTES)
  if (!isReadable(sample)) return false
  if (coding === 'gzip' || coding === 'zstd') return true
  try {
    decodeStart(coding, sample, coding === 'br' ? BROTLI_OPERATION_FLUSH : Z_SYNC_FLUSH)
    return sample.length < SHORT_BYTES && isUtf8(sample) && !isEnded(coding, sample)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE'
  }
}
const SHORT_BYTES = 64

/** Decodes brotli or deflate; more than 64 KiB of output throw ERR_BUFFER_TOO_LARGE. @param finishFlush  of zlib, for a cut body */
function decodeStart(coding: string, body: Buffer, finishFlush?: number): void {
  const options = { maxOutputLength: 64 * 1024, ...(finishFlush === undefined ? {} : { finishFlush }) }
  if (coding === 'br') zlib.brotliDecompressSync(body, options)
  else zlib.inflateRawSync(body.subarray(isZlib(body) ? 2 : 0), options)
}

function isEnded(coding: string, body: Buffer): boolean {
  try {
    decodeStart(coding, body)
    return true
  } catch {
    return false
  }
}

const plain: Decoder = (input) => input[Symbol.asyncIterator]()

/** Unknown coding names are ignored if the body is readable without them. */
async function* readable(
  source: Pieces,
  codings: readonly string[],
  { overlooked }: UnpackOptions,
): AsyncGenerator<Uint8Array> {
  const input = new ByteInput(source)
  try {
    if (!isReadable(await input.peek(SAMPLE_BYTES))) {
      const word = codings.find((coding) => !DECODERS.has(coding)) ?? ''
      throw new ContentError('undecodable', `the content coding '${word.slice(0, 64)}' is not known`)
    }
    overlooked('coding-unknown')
    yield* input
  } finally {
    await input.close()
  }
}
