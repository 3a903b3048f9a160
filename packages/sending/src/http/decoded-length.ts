/** Measures the length of a page without its content coding. Decoded bytes are not kept; a page that takes too long gets no length. */

import { abortAfter, type Clock, codingsOf, type Tolerated } from '@decorum/protocol'
import { DECODED_MAX_BYTES, DECODED_WITHIN_MS } from '../limits.ts'
import type { Answer, Headers } from './answer.ts'
import { unpack, unpacking } from './decode.ts'

/** Whether Content-Encoding is set, even to an unknown word: `decodedLength` then reads the body, so it must be kept. */
export const isCoded = (headers: Headers): boolean => codingsOf(headers).length > 0

export type DecodedLength = {
  /**
   * decoded bytes of the body; for a cut body, of the part that arrived. A body without a coding has its length on the wire.
   * Absent: it does not decode, its coding is unknown, or it grew beyond the limits of decode.ts
   */
  bytes?: number
  tolerated: Tolerated[]
  /** the body arrived complete, but its coding has no end */
  isCut?: true
}

/** @param take  called with each decoded piece of a body that has a coding */
export function decodedLength(
  clock: Clock,
  { headers, body, truncated }: Answer,
  take?: (piece: Uint8Array) => void,
): DecodedLength | Promise<DecodedLength> {
  const codings = codingsOf(headers)
  if (codings.length === 0) return { bytes: body.bytes, tolerated: [] }
  const late = abortAfter(clock, DECODED_WITHIN_MS)
  const inTime = (piece: Uint8Array): void => {
    late.throwIfAborted()
    take?.(piece)
  }
  const inTurn = body.inMemory() === undefined ? unpacking.largePages : unpacking.smallPages
  return inTurn(() => unpack(body.read(), codings, DECODED_MAX_BYTES, truncated === '', inTime), late).then(
    ({ bytes, cut, tolerated }): DecodedLength => {
      if (cut === 'coding') return { bytes, tolerated, isCut: true }
      return cut === false ? { bytes, tolerated } : { tolerated }
    },
    () => ({ tolerated: [] }),
  )
}
