/** Decodes the body of a kept page within a limit: a few kilobytes can decode to gigabytes. */
import * as zlib from 'node:zlib'
import { type Pieces, unpacked } from './coding/unpack.ts'
import { ContentError } from './errors.ts'

/**
 * @param complete  false: the fetcher stopped reading, so the readable part is all there is
 * @throws ContentError `undecodable`, `too-large` with the first byte beyond `maxBytes`; what `source` throws
 */
export async function* decoded(
  source: Pieces,
  codings: string[],
  complete: boolean,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  const overlooked = (mark: string): void => {
    if (mark === 'coding-cut') throw new ContentError('undecodable', 'the body ends before its content coding does')
  }
  let bytes = 0
  for await (const piece of unpacked(source, codings, { complete, mostBetween: maxBytes, overlooked })) {
    bytes += piece.length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    yield piece
  }
}

/** Decodes a body in memory in one call; undefined: it needs a stream. */
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
    return undefined // the stream reports the fault, or decodes more
  }
}
const AT_ONCE_MAX_BYTES = 1024 * 1024
const EMPTY = new Uint8Array()

const tooLarge = (maxBytes: number): ContentError =>
  new ContentError('too-large', `the decoded body has more than ${maxBytes} bytes (option \`maxBytes\`)`)
