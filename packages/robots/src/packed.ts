/**
 * A robots.txt in another form than UTF-8 text, known by its first octets: gzip that no Content-Encoding names, and UTF-16. The grammar of
 * RFC 9309 is read from what is inside, since the site plainly means it; google/robotstxt reads the octets as they are
 * (docs/decisions/0030-written-otherwise.md).
 */
import { gunzip } from './inflate.ts'
import { ROBOTS_MAX_BYTES } from './limits.ts'
import { GZIP, UTF_16 } from './notes.ts'
import { NUL } from './octets.ts'

/** The warning about the form of these octets; undefined: they are as they should be. */
export function formOf(octets: Uint8Array): typeof GZIP | typeof UTF_16 | undefined {
  if (octets[0] === 0x1f && octets[1] === 0x8b) return GZIP
  return isLittle(octets) === undefined ? undefined : UTF_16
}

export interface Plain {
  /** UTF-8 */
  readonly octets: Uint8Array
  /** its end is missing */
  readonly cut: boolean
}

/**
 * What is inside, at most so many octets of it.
 * @param cut  the octets were cut by their reader; gzip shows by itself whether it is whole
 */
export function plainOf(octets: Uint8Array, most: number, cut: boolean): Plain {
  if (formOf(octets) !== GZIP) return { octets: textIn(octets), cut }
  const { octets: inside, whole } = gunzip(octets, most)
  return { octets: textIn(inside), cut: !whole }
}

/**
 * Is this gzip that does not unpack to its end? Half a robots.txt may lack the rule that forbids, so such an answer has failed. Not of a
 * file over the limit, whose rest does not count.
 */
export function isCutShort(octets: Uint8Array): boolean {
  return octets.length <= ROBOTS_MAX_BYTES && formOf(octets) === GZIP && !gunzip(octets, ROBOTS_MAX_BYTES + 1).whole
}

/** The file as people read it: UTF-8, whatever its form. */
export function plainText(octets: Uint8Array): Uint8Array {
  return plainOf(octets, ROBOTS_MAX_BYTES, false).octets
}

/** UTF-8 of UTF-16; other octets as they are. */
function textIn(octets: Uint8Array): Uint8Array {
  const little = isLittle(octets)
  if (little === undefined) return octets
  return new TextEncoder().encode(new TextDecoder(little ? 'utf-16le' : 'utf-16be').decode(octets))
}

/** Is this UTF-16 with its lower octet first? By its mark, or by every other octet of the first few characters; undefined: neither. */
function isLittle(octets: Uint8Array): boolean | undefined {
  const [a, b] = octets
  if ((a === 0xff && b === 0xfe) || isEveryOther(octets, 1)) return true
  return (a === 0xfe && b === 0xff) || isEveryOther(octets, 0) ? false : undefined
}

const FIRST_CHARACTERS = 4

/** Are these characters of ASCII, each with a NUL at `nul` of its two octets? */
function isEveryOther(octets: Uint8Array, nul: 0 | 1): boolean {
  for (let at = 0; at < 2 * FIRST_CHARACTERS; at += 2) {
    const octet = octets[at + 1 - nul]
    if (octets[at + nul] !== NUL || octet === undefined || octet === NUL || octet > 0x7f) return false
  }
  return true
}
