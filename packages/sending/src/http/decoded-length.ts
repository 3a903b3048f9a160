/** The length of a page without its content coding. Nothing decoded is kept, and a page that takes long has no such length. */

import { single } from '@decorum/protocol'
import { DECODED_MAX_BYTES, DECODED_WITHIN_MS } from '../limits.ts'
import type { Answer, Headers } from './answer.ts'
import { type Coding, codingOf, unpack, unpacking } from './decode.ts'

/** undefined: a coding that decode.ts does not read. */
function coding(headers: Headers): Coding | undefined {
  try {
    return codingOf(single(headers, 'content-encoding'))
  } catch {
    return undefined
  }
}

/** Whether `decodedLength` will read the body, so that it has to be kept. */
export function isCoded(headers: Headers): boolean {
  const name = coding(headers)
  return name !== undefined && name !== 'identity'
}

/** Whether the body is on the wire as it is meant: neither packed, nor in a coding that is not read here. */
export const isPlain = (headers: Headers): boolean => coding(headers) === 'identity'

/**
 * Bytes of the body after its content coding; of a cut body, of the part that came. A body without a coding is as long as on
 * the wire. undefined: it does not decode, its coding is unknown, or it grew beyond the limits of decode.ts.
 * @param take  told each piece of a body that has a coding
 */
export function decodedLength(
  { headers, body, truncated }: Answer,
  take?: (piece: Uint8Array) => void,
): number | Promise<number | undefined> | undefined {
  const name = coding(headers)
  if (name === undefined) return undefined
  if (name === 'identity') return body.bytes
  const late = AbortSignal.timeout(DECODED_WITHIN_MS)
  const inTime = (piece: Uint8Array): void => {
    late.throwIfAborted()
    take?.(piece)
  }
  const inTurn = body.inMemory() === undefined ? unpacking.largePages : unpacking.smallPages
  return inTurn(() => unpack(body.read(), name, DECODED_MAX_BYTES, truncated === false, inTime), late).then(
    ({ bytes, cut }) => (cut === false ? bytes : undefined),
    () => undefined,
  )
}
