/** Reads a site's statements about a page for its outcome. */

import type { Agent } from '@decorum/config'
import { HEAD_BYTES, isHtml, pageStatements } from '@decorum/content/said'
import type { PageStatements } from '@decorum/protocol'
import { type Headers, isCoded } from '@decorum/sending/bodies'

/** Number of bytes to keep from the start of a body for its statements; 0: it is not HTML, or is read while it is decoded. */
export const startBytesFor = (headers: Headers): number =>
  isHtml(headers) !== false && !isCoded(headers) ? HEAD_BYTES : 0

/** Receives the decoded start of one body. */
export class DecodedStart {
  readonly #pieces: Uint8Array[] = []
  #room: number

  constructor(headers: Headers) {
    this.#room = isHtml(headers) === false ? 0 : HEAD_BYTES
  }

  take(chunk: Uint8Array): void {
    if (this.#room <= 0) return
    const piece = Buffer.from(chunk.subarray(0, this.#room)) // a copy: a decoder may reuse its memory
    this.#pieces.push(piece)
    this.#room -= piece.length
  }

  pieces(): readonly Uint8Array[] {
    return this.#pieces
  }
}

/** The product tokens of each agent, in lower case. */
const tokens = new WeakMap<Agent, readonly string[]>()

/** @param start  first bytes of the body, without its content coding; if they are in memory, call this before the digest is made */
export function statementsOf(
  url: string,
  headers: Headers,
  agent: Agent,
  start: readonly Uint8Array[],
): PageStatements | undefined {
  let names = tokens.get(agent)
  if (names === undefined) {
    names = [agent.name, ...agent.fallbacks].map((name) => name.toLowerCase())
    tokens.set(agent, names)
  }
  return pageStatements(url, headers, names, start)
}
