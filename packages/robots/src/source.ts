/** Copies the source of a file to bytes that can be read past their end, cut at the limit. */

import { LF } from './bytes.ts'
import { ROBOTS_MAX_BYTES } from './limits.ts'
import { type Grammar, isLineEnd } from './line.ts'
import { formOf, plainOf } from './packed.ts'

/** The accepted types of a robots.txt: bytes in any of their forms, or text, which counts as its UTF-8. */
export type RobotsSource = string | ArrayBuffer | ArrayBufferView

const encoder = /* @__PURE__ */ new TextEncoder()

/** Reused by every parse. A line end follows the source, so that no inner loop needs to check for the end. */
let input = /* @__PURE__ */ new Uint8Array(0)
let words = /* @__PURE__ */ new Int32Array(0)

export interface Loaded {
  readonly bytes: Uint8Array
  /** The same, four at a time. */
  readonly words: Int32Array
  readonly length: number
  /** Whether there were more than ROBOTS_MAX_BYTES, before or after unpacking. */
  readonly cut: boolean
  /** If the source is not UTF-8 text: the number of the warning about it, and its bytes, which the other grammar parses differently. */
  readonly form: number | undefined
  readonly packed: Uint8Array | undefined
}

/** Copies the source. The line at the limit is dropped: half of `Disallow: /shop` must not become `Disallow: /`. */
export function load(source: RobotsSource, truncated: boolean, grammar: Grammar): Loaded {
  let length = 0
  let form: number | undefined
  let packed: Uint8Array | undefined
  if (typeof source === 'string') {
    // One character more than the limit is enough of a text: each gives at least one byte, so the limit is still exceeded.
    const text = source.length > ROBOTS_MAX_BYTES ? source.slice(0, ROBOTS_MAX_BYTES + 1) : source
    reserve(text.length * 3)
    length = encoder.encodeInto(text, input).written
  } else {
    let bytes = bytesOfSource(source)
    form = formOf(bytes)
    if (form !== undefined) {
      packed = bytes.slice(0, ROBOTS_MAX_BYTES + 1)
      if (grammar !== 'google') {
        const plain = plainOf(packed, ROBOTS_MAX_BYTES + 1, truncated || bytes.length > ROBOTS_MAX_BYTES)
        bytes = plain.bytes
        truncated = plain.cut
      }
    }
    length = Math.min(bytes.length, ROBOTS_MAX_BYTES + 1)
    reserve(length)
    input.set(length < bytes.length ? bytes.subarray(0, length) : bytes)
  }
  const cut = length > ROBOTS_MAX_BYTES || (packed?.length ?? 0) > ROBOTS_MAX_BYTES
  if (length > ROBOTS_MAX_BYTES && isLineEnd(input[ROBOTS_MAX_BYTES])) length = ROBOTS_MAX_BYTES
  else if (cut || truncated) {
    length = Math.min(length, ROBOTS_MAX_BYTES)
    while (length > 0 && !isLineEnd(input[length - 1])) length--
  }
  input[length] = LF
  return { bytes: input, words, length, cut, form, packed }
}

function bytesOfSource(source: Exclude<RobotsSource, string>): Uint8Array {
  if (source instanceof Uint8Array) return source
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
  const tag = Object.prototype.toString.call(source)
  if (tag === '[object ArrayBuffer]' || tag === '[object SharedArrayBuffer]') return new Uint8Array(source)
  throw new TypeError('source: neither text nor bytes (string, ArrayBuffer, typed array, DataView)')
}

/** Makes room for this many bytes, but never for more than the limit and one character. */
function reserve(bytes: number): void {
  const room = (Math.min(bytes, ROBOTS_MAX_BYTES + 4) + 32) & ~3
  if (input.length >= room) return
  input = new Uint8Array(room)
  words = new Int32Array(input.buffer)
}
