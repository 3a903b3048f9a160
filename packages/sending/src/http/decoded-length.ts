/** The length of a page without its content coding. Nothing decoded is kept, and a page that takes long has no such length. */

import { abortAfter, type Clock, codingsOf, type Tolerated } from '@decorum/protocol'
import { DECODED_MAX_BYTES, DECODED_WITHIN_MS } from '../limits.ts'
import type { Answer, Headers } from './answer.ts'
import { unpack, unpacking } from './decode.ts'

/** Whether the body has a content coding, or a word that may be none: `decodedLength` reads it, so it has to be kept. */
export const isCoded = (headers: Headers): boolean => codingsOf(headers).length > 0

export type DecodedLength = {
  /**
   * bytes of the body after its content coding; of a cut body, of the part that came. A body without a coding is as long as on the wire.
   * Absent: it does not decode, its coding is unknown, or it grew beyond the limits of decode.ts
   */
  bytes?: number
  tolerated: Tolerated[]
  /** the coding of a body that came as a whole has no end */
  isCut?: true
}

/** @param take  told each piece of a body that has a coding */
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
