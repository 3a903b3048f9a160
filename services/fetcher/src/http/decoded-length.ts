/** How long a page is without its content coding: nothing of it is kept, and one that takes long goes without. */

import { DECODED_MAX_BYTES, DECODED_WITHIN_MS } from '../limits.ts'
import { type Coding, codingOf, unpack, unpacking } from './decode.ts'
import type { Answer } from './exchange.ts'
import { single } from './read-answer.ts'

type Headers = Answer['headers']

/** undefined: coded in a way that nobody here reads. */
function coding(headers: Headers): Coding | undefined {
  try {
    return codingOf(single(headers, 'content-encoding'))
  } catch {
    return undefined
  }
}

/** The body has to be kept for `decodedLength`. */
export function isCoded(headers: Headers): boolean {
  const name = coding(headers)
  return name !== undefined && name !== 'identity'
}

/**
 * Octets of the body after its content coding, of what came of it when it was cut. A body without a coding is as long as
 * on the wire. undefined: it does not decode, nobody here reads its coding, or it grew beyond what is unpacked.
 */
export function decodedLength({ headers, body, truncated }: Answer): number | Promise<number | undefined> | undefined {
  const name = coding(headers)
  if (name === undefined) return undefined
  if (name === 'identity') return body.bytes
  const late = AbortSignal.timeout(DECODED_WITHIN_MS)
  const inTime = (): void => late.throwIfAborted()
  const inTurn = body.inMemory() === undefined ? unpacking.largePages : unpacking.smallPages
  return inTurn(() => unpack(body.read(), name, DECODED_MAX_BYTES, truncated === false, inTime), late).then(
    ({ bytes, cut }) => (cut === false ? bytes : undefined),
    () => undefined,
  )
}
