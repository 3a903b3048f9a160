/** What the site says about the page of an answer, for its outcome. */

import type { Agent } from '@decorum/config'
import { HEAD_BYTES, isHtml, readSaid } from '@decorum/content/said'
import type { PageSays } from '@decorum/protocol'
import { type Answer, type Headers, isCoded, isPlain } from '@decorum/sending/bodies'

/** How much of the start of a body on the wire is kept to be read here. A body with a content coding is read while it
 * is decoded, and not at all when its coding is unknown. */
export const startBytesFor = (headers: Headers): number => (isHtml(headers) && isPlain(headers) ? HEAD_BYTES : 0)

/** Takes the decoded start of one body. */
export class DecodedStart {
  readonly #pieces: Uint8Array[] = []
  #room: number

  constructor(headers: Headers) {
    this.#room = isHtml(headers) ? HEAD_BYTES : 0
  }

  take(chunk: Uint8Array): void {
    if (this.#room <= 0) return
    const piece = Buffer.from(chunk.subarray(0, this.#room)) // a copy: a decoder may use its memory again
    this.#pieces.push(piece)
    this.#room -= piece.length
  }

  pieces(): readonly Uint8Array[] {
    return this.#pieces
  }
}

/** To be called before the digest of the body is made: reading its start later could need a copy of it. */
export function saysOf(
  url: string,
  { headers, body }: Answer,
  agent: Agent,
  decoded: DecodedStart,
): PageSays | undefined {
  const names = [agent.name, ...agent.fallbacks].map((name) => name.toLowerCase())
  return readSaid(url, headers, names, isCoded(headers) ? decoded.pieces() : body.start())
}
