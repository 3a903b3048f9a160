/** Patterns in the form that is compared with a path (RFC 9309 §2.2.2). */
import { DOLLAR, hexValue, PERCENT, PLAIN, QUERY, SLASH, STAR } from './bytes.ts'
import { putEncoded, putPercent } from './path.ts'
import type { Reading } from './readings.ts'
import { ALLOW, entriesOf, kindOf, type RobotsFile } from './robots-file.ts'

/** As in RobotsFile: the pattern of rule r is bytes [marks[2r], marks[2r+2]). Only ASCII and LITERAL_STAR. */
export type Patterns = Pick<RobotsFile, 'bytes' | 'marks'>

/**
 * All patterns of a file, normalised. Most files need no change and are used unchanged. Bytes outside ASCII become %XX, and hexadecimal
 * digits upper case. Under 'unreserved' each byte that no URL contains (PLAIN) is encoded too, encoded unreserved characters are decoded,
 * and %2A and %24 are the literal characters. With `slashIsMeant`, a disallow without a slash gets one; an allow does not, since nothing is
 * opened by a guess (docs/decisions/0030-written-otherwise.md).
 */
export function normalised(file: RobotsFile, { encoding, slashIsMeant }: Reading): Patterns {
  if (!file.encoded) return file
  const source = file.bytes
  const entries = entriesOf(file)
  const bytes = new Uint8Array(source.length * 3 + 2 * entries)
  const marks = file.marks.slice()
  let used = 0
  for (let rule = 0; rule < entries; rule++) {
    let at = marks[2 * rule] as number
    const end = marks[2 * rule + 2] as number
    marks[2 * rule] = used
    if (kindOf(file, rule) > ALLOW) continue
    if (slashIsMeant && kindOf(file, rule) !== ALLOW && lacksSlash(source, at, end)) bytes[used++] = SLASH
    for (; at < end; at++) {
      const byte = source[at] as number
      const high = byte === PERCENT && at + 2 < end ? hexValue(source[at + 1]) : -1
      const low = high < 0 ? -1 : hexValue(source[at + 2])
      if (byte >= 0x80) used = putPercent(bytes, used, byte)
      else if (low < 0)
        if (encoding === 'as-written' || PLAIN[byte] === 1 || (byte === PERCENT && mayBegin(source, at + 1, end)))
          bytes[used++] = byte
        else used = putPercent(bytes, used, byte)
      else {
        at += 2
        if (encoding === 'unreserved') {
          used = putEncoded(bytes, used, high * 16 + low)
          // A literal dollar at the end must not become an end anchor; a star behind it prevents that, and changes nothing else.
          if (bytes[used - 1] === DOLLAR && at === end - 1) bytes[used++] = STAR
        } else used = putPercent(bytes, used, high * 16 + low)
      }
    }
  }
  marks[2 * entries] = used
  return { bytes: bytes.slice(0, used), marks }
}

/** Whether a pattern begins with neither '/' nor '*' nor an end anchor. */
export function lacksSlash(bytes: Uint8Array, at: number, end: number): boolean {
  const first = bytes[at]
  return at < end && first !== SLASH && first !== STAR && first !== DOLLAR
}

/** Whether a percent sign before `at`, which encodes nothing, may begin an encoded byte of a URL: `/*%` is found in `/%20`. */
function mayBegin(bytes: Uint8Array, at: number, end: number): boolean {
  return at === end || bytes[at] === STAR || hexValue(bytes[at]) >= 0
}

/** Characters that the URL standard encodes in path and query; and those, such as back-slashes, that it encodes only in the path. */
const NOWHERE = '"<>\x7f'
const NOT_IN_PATH = '\\^`{}'

/**
 * Whether no URL can match the pattern as written, because of a character that the URL standard always encodes. Characters outside ASCII do
 * not count: every parser encodes these.
 */
export function holdsNoUrl(bytes: Uint8Array, at: number, end: number): boolean {
  let inPath = true
  let inQuery = false
  for (; at < end; at++) {
    const byte = bytes[at] as number
    if (byte === QUERY) inQuery = true
    if (byte === QUERY || byte === STAR) inPath = false
    const sign = String.fromCharCode(byte)
    if (byte <= 32 || NOWHERE.includes(sign) || (inPath && NOT_IN_PATH.includes(sign)) || (inQuery && sign === "'"))
      return true
  }
  return false
}
