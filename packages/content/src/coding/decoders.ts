/**
 * The decoders. Each reads to the end of its data. A missing or wrong trailer, and anything behind it, is ignored, as browsers do
 * (Chromium's GzipSourceStream skips the trailer and all behind it unread). Data that end before their last block count as cut.
 */
import { pipeline, Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import type { Tolerated } from '@decorum/protocol/outcome'
import { ContentError } from '../errors.ts'
import type { ByteInput } from './byte-input.ts'

export type Overlooked = (mark: Tolerated) => void
export type Decoder = (input: ByteInput, overlooked: Overlooked) => AsyncGenerator<Uint8Array>

/** Most members of a gzip body, or frames of a zstd body: each needs its own decoder (about 1 ms), and may be only 20 bytes. */
const MOST_MEMBERS = 200

export const gunzip: Decoder = async function* (input, overlooked) {
  for (let members = 0; ; members++) {
    const head = await gzipHead(input)
    if (head === undefined) {
      if (members === 0) throw undecodable('no gzip begins here')
      return overlooked('coding-trailing-octets')
    }
    if (members === MOST_MEMBERS) throw tooMany()
    await input.skip(head)
    let sum = 0
    for await (const piece of through(input, zlib.createInflateRaw())) {
      sum = zlib.crc32(piece, sum)
      yield piece
    }
    const trailer = await input.peek(8)
    if (trailer.length < 8) return overlooked('coding-no-trailer')
    if (trailer.readUInt32LE() !== sum) overlooked('coding-bad-checksum')
    await input.skip(8)
    if ((await input.peek(1)).length === 0) return
  }
}

/** Some servers send deflate without its zlib wrapper. */
export const inflate: Decoder = async function* (input, overlooked) {
  const isWrapped = isZlib(await input.peek(2))
  if (isWrapped) await input.skip(2)
  let sum = 1
  for await (const piece of through(input, zlib.createInflateRaw())) {
    if (isWrapped) sum = adler32(piece, sum)
    yield piece
  }
  if (isWrapped) {
    const trailer = await input.peek(4)
    if (trailer.length < 4) return overlooked('coding-no-trailer')
    if (trailer.readUInt32BE() !== sum) overlooked('coding-bad-checksum')
    await input.skip(4)
  }
  await seeBehind(input, overlooked)
}

export const unbrotli: Decoder = async function* (input, overlooked) {
  yield* through(input, zlib.createBrotliDecompress())
  await seeBehind(input, overlooked)
}

export const unzstd: Decoder = async function* (input, overlooked) {
  if (typeof zlib.createZstdDecompress !== 'function')
    throw undecodable(`this Node (${process.version}) cannot read zstd: 22.15 and later can`)
  for (let frames = 0; ; frames++) {
    if (frames === MOST_MEMBERS) throw tooMany()
    // RFC 9659: a window of at most 8 MiB; the library would accept 128 MiB
    yield* through(input, zlib.createZstdDecompress({ params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } }))
    if (!isZstd(await input.peek(4))) return seeBehind(input, overlooked)
  }
}

async function seeBehind(input: ByteInput, overlooked: Overlooked): Promise<void> {
  if ((await input.peek(1)).length > 0) overlooked('coding-trailing-octets')
}

export const isGzip = ([first, second]: Uint8Array): boolean => first === 0x1f && second === 0x8b
export const isZlib = ([first = 0, second = 0]: Uint8Array): boolean =>
  (first & 15) === 8 && ((first << 8) | second) % 31 === 0
/** Whether a zstd frame or a skippable frame begins here (RFC 8878 §3.1). */
export const isZstd = ([first = 0, second, third, fourth]: Uint8Array): boolean =>
  (first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd) ||
  ((first & 0xf0) === 0x50 && second === 0x2a && third === 0x4d && fourth === 0x18)

/** File name and comment may have any length; a head longer than this is not accepted as gzip. */
const HEAD_MAX_BYTES = 128 * 1024

/** Length of the head of a gzip member (RFC 1952 §2.3); undefined: no member begins here. @throws Z_BUF_ERROR where it is cut */
async function gzipHead(input: ByteInput): Promise<number | undefined> {
  const start = await input.peek(10)
  if (!isGzip(start)) return undefined
  if (start.length < 10) throw cut()
  const flags = start[3] as number
  if (start[2] !== 8 || (flags & 0xe0) !== 0) return undefined
  let at = 10
  const upTo = async (bytes: number): Promise<Buffer> => {
    const peeked = await input.peek(bytes)
    if (peeked.length < bytes) throw cut()
    return peeked
  }
  if (flags & 4) at += 2 + (await upTo(at + 2)).readUInt16LE(at)
  for (const text of [8, 16]) {
    if (!(flags & text)) continue
    let [end, bytes] = [-1, at + 1_024]
    while (end < 0) {
      const peeked = await input.peek(bytes)
      end = peeked.indexOf(0, at)
      if (end < 0 && peeked.length < bytes) throw cut()
      if (end < 0 && bytes > HEAD_MAX_BYTES) return undefined
      bytes *= 4
    }
    at = end + 1
  }
  if (flags & 2) at += 2
  await upTo(at)
  return at
}

const cut = (): Error => Object.assign(new Error('unexpected end of file'), { code: 'Z_BUF_ERROR' })
export const isCut = (error: unknown): boolean =>
  ['Z_BUF_ERROR', 'ERR_BUFFER_OUT_OF_BOUNDS'].includes((error as NodeJS.ErrnoException).code ?? '')

const undecodable = (message: string): ContentError => new ContentError('undecodable', message)
const tooMany = (): ContentError => undecodable(`the body has more than ${MOST_MEMBERS} packed parts`)

/** Feeds bytes to a decoder until its data end, and returns the bytes behind them to the input. */
async function* through(
  input: ByteInput,
  decoder: Transform & { readonly bytesWritten: number },
): AsyncGenerator<Uint8Array> {
  const fed: Uint8Array[] = []
  let before = 0 // bytes before the first piece of `fed`
  let reading: Promise<unknown> | undefined
  const feeding = async function* (): AsyncGenerator<Uint8Array> {
    for (;;) {
      const next = input.next()
      reading = next
      const piece = await next
      if (piece === undefined) return
      for (; fed[0] !== undefined && before + fed[0].length <= decoder.bytesWritten; fed.shift())
        before += fed[0].length
      fed.push(piece)
      yield piece
    }
  }
  pipeline(Readable.from(feeding(), { highWaterMark: 1 }), decoder, () => undefined) // errors are thrown by the iteration
  try {
    for await (const piece of decoder as AsyncIterable<Uint8Array>) yield piece
  } catch (error) {
    // The iteration ends with the error; output from before it is still in the decoder.
    for (let left: unknown = decoder.read(); left instanceof Uint8Array; left = decoder.read()) yield left
    if (!isBehindFrame(error, decoder.bytesWritten)) throw error
  } finally {
    decoder.destroy()
  }
  await reading?.catch(() => undefined) // a piece that is being read may have to be returned to the input
  const behind: Uint8Array[] = []
  for (const piece of fed) {
    const used = Math.max(0, decoder.bytesWritten - before)
    if (used < piece.length) behind.push(piece.subarray(used))
    before += piece.length
  }
  input.giveBack(behind)
}

/** Whether the error concerns only bytes behind a finished zstd frame: the library fails there on anything but another frame. */
const isBehindFrame = (error: unknown, taken: number): boolean =>
  taken > 0 && (error as NodeJS.ErrnoException).code === 'ZSTD_error_prefix_unknown'

/** RFC 1950 §8.2. The sums stay below 2^32 for 5,552 bytes. */
function adler32(piece: Uint8Array, sum: number): number {
  let [a, b] = [sum & 0xffff, sum >>> 16]
  for (let at = 0; at < piece.length;) {
    for (const end = Math.min(at + 5_552, piece.length); at < end; at++) {
      a += piece[at] as number
      b += a
    }
    a %= 65_521
    b %= 65_521
  }
  return ((b << 16) | a) >>> 0
}
