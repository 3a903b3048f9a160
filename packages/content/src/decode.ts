/** Decodes the body of a kept page within a limit: a few kilobytes can decode to gigabytes. */
import { gunzipSync } from 'node:zlib'
import { type Pieces, unpacked } from './coding/unpack.ts'
import { ContentError } from './errors.ts'
import type { PageRecord } from './record.ts'

const AT_ONCE_MAX_BYTES = 1024 * 1024

/**
 * A small gzip body is decoded in one call, which takes a third of a stream's time.
 * @throws ContentError `undecodable`, `too-large` with the first byte beyond `maxBytes`; what `body` throws; all while the result is read
 */
export function decoded({ body, truncated }: PageRecord, codings: string[], maxBytes: number): Pieces {
  if (!(body instanceof Uint8Array)) return decodedPieces(body, codings, truncated === '', maxBytes)
  if (codings.join() === 'gzip' && body.length > 0) {
    try {
      return [gunzipSync(body, { maxOutputLength: Math.min(maxBytes, AT_ONCE_MAX_BYTES) })]
    } catch {
      // the stream reports the fault, or decodes more
    }
  }
  return decodedPieces([body], codings, truncated === '', maxBytes)
}

/** @param complete  false: the fetcher stopped reading, so the readable part is all there is */
async function* decodedPieces(
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
    if (bytes > maxBytes)
      throw new ContentError('too-large', `the decoded body has more than ${maxBytes} bytes (option \`maxBytes\`)`)
    yield piece
  }
}
