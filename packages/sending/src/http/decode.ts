/** Decodes content codings, with limits on the output: a few kilobytes can decode to gigabytes. */
import { ContentError, type Pieces, unpacked } from '@decorum/content/coding'
import type { Tolerated } from '@decorum/protocol'
import { MAX_RATIO, RATIO_FREE_BYTES } from '../limits.ts'
import { openTurns } from './turns.ts'

/**
 * Most decoders at a time in this process. A window takes 16 MiB in brotli, 8 MiB in zstd and 32 KiB in zlib, and a body has at most
 * three codings, so all decoders together stay below 384 MiB for any input. Small bodies do not wait for large ones, and rules do
 * not wait for pages.
 */
export const unpacking = { rules: openTurns(4), smallPages: openTurns(2), largePages: openTurns(2) }

export type Unpacked = {
  /** `length`, `ratio`: the output was cut at `maxBytes` or at the allowed ratio to the bytes on the wire · `coding`: the body ended before its coding did */
  cut: false | 'length' | 'ratio' | 'coding'
  tolerated: Tolerated[]
}

/** Decodes a body in memory. @param maxBytes  most bytes of output. @throws as `unpack` does */
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
 * Decodes piece by piece: the next piece is decoded when `take` has returned. Call it under the limit `unpacking`.
 * @param source    the body as on the wire
 * @param complete  false: the body is known to be cut, so an abrupt end is no fault
 * @returns the number of decoded bytes, at most one piece more than `maxBytes`
 * @throws  ContentError `undecodable`; errors of `source` and `take`
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
