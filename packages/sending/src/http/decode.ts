/** Decodes content codings, with limits on what comes out: a few kilobytes can decode to gigabytes. */
import { ContentError, type Pieces, unpacked } from '@decorum/content/coding'
import type { Tolerated } from '@decorum/protocol'
import { MAX_RATIO, RATIO_FREE_BYTES } from '../limits.ts'
import { openTurns } from './turns.ts'

/**
 * Decoders at a time in this process. A window takes 16 MiB in brotli, 8 MiB in zstd and 32 KiB in zlib, and a body has three codings at
 * most, so all decoders together stay below 384 MiB whatever is received. Small bodies do not wait for large ones, and rules wait for no
 * page.
 */
export const unpacking = { rules: openTurns(4), smallPages: openTurns(2), largePages: openTurns(2) }

export type Unpacked = {
  /** `length`, `ratio`: there was more, beyond `maxBytes` or the allowed ratio to the bytes on the wire · `coding`: it ended before its coding did */
  cut: false | 'length' | 'ratio' | 'coding'
  tolerated: Tolerated[]
}

/** A body in memory, decoded. @param maxBytes  bytes that come out at most. @throws as `unpack` does */
export async function decode(
  source: Pieces,
  codings: readonly string[],
  maxBytes: number,
  complete = true,
): Promise<Unpacked & { bytes: Buffer }> {
  const out: Uint8Array[] = []
  const unpacked = await unpacking.rules(() =>
    unpack(source, codings, maxBytes, complete, (chunk) => void out.push(chunk)),
  )
  const bytes = Buffer.concat(out)
  return { ...unpacked, bytes: unpacked.bytes > maxBytes ? bytes.subarray(0, maxBytes) : bytes }
}

/**
 * The same piece by piece: the next piece is decoded when `take` has returned. To be called in turn (`unpacking`).
 * @param source    the body as on the wire
 * @param complete  false: the body is known to be cut, so an abrupt end is no fault
 * @returns the number of bytes that came out, at most one piece beyond `maxBytes`
 * @throws  ContentError `undecodable`; what `source` and `take` throw
 */
export async function unpack(
  source: Pieces,
  codings: readonly string[],
  maxBytes: number,
  complete: boolean,
  take: (chunk: Uint8Array) => void | Promise<void>,
): Promise<Unpacked & { bytes: number }> {
  const tolerated = new Set<Tolerated>()
  let bytes = 0
  let wire = 0
  const ended = (cut: Unpacked['cut']) => ({ bytes, cut, tolerated: [...tolerated] })
  const counted = (async function* () {
    for await (const chunk of source) {
      wire += chunk.length
      yield chunk
    }
  })()
  const overlooked = (mark: Tolerated): void => void tolerated.add(mark)
  try {
    for await (const chunk of unpacked(counted, codings, { complete, mostBetween: maxBytes, overlooked })) {
      const taking = take(chunk)
      if (taking !== undefined) await taking
      bytes += chunk.length
      if (bytes > maxBytes) return ended('length')
      if (bytes > RATIO_FREE_BYTES && bytes > wire * MAX_RATIO) return ended('ratio')
    }
  } catch (error) {
    if (error instanceof ContentError && error.code === 'too-large') return ended('length')
    throw error
  }
  return ended(tolerated.has('coding-cut') ? 'coding' : false)
}
