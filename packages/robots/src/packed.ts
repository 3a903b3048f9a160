/**
 * A robots.txt that is not UTF-8 text, recognized by its first bytes: gzip without Content-Encoding, and UTF-16. The grammar of RFC 9309
 * parses the unpacked content, since that is clearly intended; google/robotstxt parses the bytes unchanged
 * (docs/decisions/0030-written-otherwise.md).
 */
import { gunzip } from './inflate.ts'
import { ROBOTS_MAX_BYTES } from './limits.ts'
import { GZIP, UTF_16 } from './notes.ts'
import { NUL } from './octets.ts'

/** The warning about the form of these bytes; undefined: UTF-8 text. */
export function formOf(octets: Uint8Array): typeof GZIP | typeof UTF_16 | undefined {
  if (octets[0] === 0x1f && octets[1] === 0x8b) return GZIP
  return isLittle(octets) === undefined ? undefined : UTF_16
}

export interface Plain {
  /** UTF-8 */
  readonly octets: Uint8Array
  /** whether its end is missing */
  readonly cut: boolean
}

/**
 * The unpacked content, up to a number of bytes.
 * @param cut  the bytes were cut by their reader; for gzip, the data itself shows whether it is whole
 */
export function plainOf(octets: Uint8Array, most: number, cut: boolean): Plain {
  if (formOf(octets) !== GZIP) return { octets: textIn(octets), cut }
  const { octets: inside, whole } = gunzip(octets, most)
  return { octets: textIn(inside), cut: !whole }
}

/**
 * Whether this is incomplete gzip. Half a robots.txt may lack the rule that forbids, so such an answer has failed. A file over the limit
 * does not count as incomplete, because its rest is ignored.
 */
export function isCutShort(octets: Uint8Array): boolean {
  return octets.length <= ROBOTS_MAX_BYTES && formOf(octets) === GZIP && !gunzip(octets, ROBOTS_MAX_BYTES + 1).whole
}

/** The file as people read it: UTF-8, whatever its form. */
export function plainText(octets: Uint8Array): Uint8Array {
  return plainOf(octets, ROBOTS_MAX_BYTES, false).octets
}

/** UTF-16 converted to UTF-8; other bytes unchanged. */
function textIn(octets: Uint8Array): Uint8Array {
  const little = isLittle(octets)
  if (little === undefined) return octets
  return new TextEncoder().encode(new TextDecoder(little ? 'utf-16le' : 'utf-16be').decode(octets))
}

/**
 * Whether this is UTF-16 with the low byte first: by its mark, or by NULs in every other byte of the first few characters; undefined: not
 * UTF-16.
 */
function isLittle(octets: Uint8Array): boolean | undefined {
  const [a, b] = octets
  if ((a === 0xff && b === 0xfe) || isEveryOther(octets, 1)) return true
  return (a === 0xfe && b === 0xff) || isEveryOther(octets, 0) ? false : undefined
}

const FIRST_CHARACTERS = 4

/** Whether these are ASCII characters, each with a NUL at `nul` of its two bytes. */
function isEveryOther(octets: Uint8Array, nul: 0 | 1): boolean {
  for (let at = 0; at < 2 * FIRST_CHARACTERS; at += 2) {
    const octet = octets[at + 1 - nul]
    if (octets[at + nul] !== NUL || octet === undefined || octet === NUL || octet > 0x7f) return false
  }
  return true
}
