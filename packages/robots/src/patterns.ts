/** Patterns in the form in which they are compared with a path (RFC 9309 §2.2.2). */
import { DOLLAR, hexValue, PERCENT, PLAIN, QUERY, SLASH, STAR } from './octets.ts'
import { putEncoded, putPercent } from './path.ts'
import type { Reading } from './readings.ts'
import { ALLOW, entriesOf, kindOf, type RobotsFile } from './robots-file.ts'

/** As in RobotsFile: the pattern of rule r is octets [marks[2r], marks[2r+2]). ASCII and LITERAL_STAR only. */
export type Patterns = Pick<RobotsFile, 'octets' | 'marks'>

/**
 * All patterns of a file, normalised. Most files need nothing and are used as they are.
 * Octets outside ASCII become %XX and hexadecimal digits upper case. Under 'unreserved' so does each octet that no URL holds (PLAIN), while
 * encoded unreserved octets are decoded, and %2A and %24 are the literal characters. Where `slashIsMeant`, a disallow without a slash gets
 * one; an allow does not, since nothing opens on a guess (docs/decisions/0030-written-otherwise.md).
 */
export function normalised(file: RobotsFile, { encoding, slashIsMeant }: Reading): Patterns {
  if (!file.encoded) return file
  const source = file.octets
  const entries = entriesOf(file)
  const octets = new Uint8Array(source.length * 3 + 2 * entries)
  const marks = file.marks.slice()
  let used = 0
  for (let rule = 0; rule < entries; rule++) {
    let at = marks[2 * rule] as number
    const end = marks[2 * rule + 2] as number
    marks[2 * rule] = used
    if (kindOf(file, rule) > ALLOW) continue
    if (slashIsMeant && kindOf(file, rule) !== ALLOW && lacksSlash(source, at, end)) octets[used++] = SLASH
    for (; at < end; at++) {
      const octet = source[at] as number
      const high = octet === PERCENT && at + 2 < end ? hexValue(source[at + 1]) : -1
      const low = high < 0 ? -1 : hexValue(source[at + 2])
      if (octet >= 0x80) used = putPercent(octets, used, octet)
      else if (low < 0)
        if (encoding === 'as-written' || PLAIN[octet] === 1 || (octet === PERCENT && mayBegin(source, at + 1, end)))
          octets[used++] = octet
        else used = putPercent(octets, used, octet)
      else {
        at += 2
        if (encoding === 'unreserved') {
          used = putEncoded(octets, used, high * 16 + low)
          // A literal dollar at the end is no end anchor; a star behind it changes nothing but that.
          if (octets[used - 1] === DOLLAR && at === end - 1) octets[used++] = STAR
        } else used = putPercent(octets, used, high * 16 + low)
      }
    }
  }
  marks[2 * entries] = used
  return { octets: octets.slice(0, used), marks }
}

/** A pattern that begins with neither '/' nor '*'; not one that begins with an end anchor. */
export function lacksSlash(octets: Uint8Array, at: number, end: number): boolean {
  const first = octets[at]
  return at < end && first !== SLASH && first !== STAR && first !== DOLLAR
}

/** May a percent sign before `at`, which encodes nothing, begin an encoded octet of a URL? `/*%` is found in `/%20`. */
function mayBegin(octets: Uint8Array, at: number, end: number): boolean {
  return at === end || octets[at] === STAR || hexValue(octets[at]) >= 0
}

/** Octets that the URL standard encodes in path and query, and back-slashes and others that it does so in the path alone. */
const NOWHERE = '"<>\x7f'
const NOT_IN_PATH = '\\^`{}'

/**
 * Is there no URL that the pattern could match as it is written, because of an octet that the URL standard always encodes? Octets
 * outside ASCII do not count: every parser encodes these.
 */
export function holdsNoUrl(octets: Uint8Array, at: number, end: number): boolean {
  let inPath = true
  let inQuery = false
  for (; at < end; at++) {
    const octet = octets[at] as number
    if (octet === QUERY) inQuery = true
    if (octet === QUERY || octet === STAR) inPath = false
    const sign = String.fromCharCode(octet)
    if (octet <= 32 || NOWHERE.includes(sign) || (inPath && NOT_IN_PATH.includes(sign)) || (inQuery && sign === "'"))
      return true
  }
  return false
}
