/**
 * A robots.txt that is not UTF-8 text, recognized by its first bytes: gzip without Content-Encoding, and UTF-16. The grammar of RFC 9309
 * parses the unpacked content, since that is clearly intended; google/robotstxt parses the bytes unchanged
 * (docs/decisions/0030-written-otherwise.md).
 */

import { NUL } from './bytes.ts'
import { gunzip } from './inflate.ts'
import { ROBOTS_MAX_BYTES } from './limits.ts'
import { GZIP, UTF_16 } from './notes.ts'

/** The number of the warning about the form of these bytes; undefined: UTF-8 text. */
export function formOf(bytes: Uint8Array): typeof GZIP | typeof UTF_16 | undefined {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return GZIP
  return isLittle(bytes) === undefined ? undefined : UTF_16
}

export interface Plain {
  /** UTF-8 */
  readonly bytes: Uint8Array
  /** whether its end is missing */
  readonly cut: boolean
}

/**
 * The unpacked content, up to a number of bytes.
 * @param cut  the bytes were cut by their reader; for gzip, the data itself shows whether it is whole
 */
export function plainOf(bytes: Uint8Array, most: number, cut: boolean): Plain {
  if (formOf(bytes) !== GZIP) return { bytes: textIn(bytes), cut }
  const { bytes: inside, whole } = gunzip(bytes, most)
  return { bytes: textIn(inside), cut: !whole }
}

/**
 * Whether this is incomplete gzip. Half a robots.txt may lack the rule that forbids, so such an answer has failed. A file over the limit
 * does not count as incomplete, because its rest is ignored.
 */
export function isCutShort(bytes: Uint8Array): boolean {
  return bytes.length <= ROBOTS_MAX_BYTES && formOf(bytes) === GZIP && !gunzip(bytes, ROBOTS_MAX_BYTES + 1).whole
}

/** The file as people read it: UTF-8, whatever its form. */
export function plainText(bytes: Uint8Array): Uint8Array {
  return plainOf(bytes, ROBOTS_MAX_BYTES, false).bytes
}

/** UTF-16 converted to UTF-8; other bytes unchanged. */
function textIn(bytes: Uint8Array): Uint8Array {
  const little = isLittle(bytes)
  if (little === undefined) return bytes
  return new TextEncoder().encode(new TextDecoder(little ? 'utf-16le' : 'utf-16be').decode(bytes))
}

/**
 * Whether this is UTF-16 with the low byte first: by its mark, or by NULs in every other byte of the first few characters; undefined: not
 * UTF-16.
 */
function isLittle(bytes: Uint8Array): boolean | undefined {
  const [a, b] = bytes
  if ((a === 0xff && b === 0xfe) || isEveryOther(bytes, 1)) return true
  return (a === 0xfe && b === 0xff) || isEveryOther(bytes, 0) ? false : undefined
}

const FIRST_CHARACTERS = 4

/** Whether the first characters are ASCII in UTF-16: in each byte pair, the byte at `nul` is NUL. */
function isEveryOther(bytes: Uint8Array, nul: 0 | 1): boolean {
  for (let at = 0; at < 2 * FIRST_CHARACTERS; at += 2) {
    const byte = bytes[at + 1 - nul]
    if (bytes[at + nul] !== NUL || byte === undefined || byte === NUL || byte > 0x7f) return false
  }
  return true
}
