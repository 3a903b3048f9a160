/** Patterns in the form in which they are compared with a path (RFC 9309 §2.2.2). */
import { DOLLAR, hexValue, PERCENT, STAR } from './octets.ts'
import { putEncoded, putPercent } from './path.ts'
import type { Reading } from './readings.ts'
import { ALLOW, entriesOf, kindOf, type RobotsFile } from './robots-file.ts'

/** As in RobotsFile: the pattern of rule r is octets [marks[2r], marks[2r+2]). ASCII and LITERAL_STAR only. */
export type Patterns = Pick<RobotsFile, 'octets' | 'marks'>

/**
 * All patterns of a file, normalised. Most files need nothing and are used as they are.
 * Octets outside ASCII become %XX and hexadecimal digits upper case; under 'unreserved' encoded unreserved octets are
 * decoded, and %2A and %24 are the literal characters.
 */
export function normalised(file: RobotsFile, encoding: Reading['encoding']): Patterns {
  if (!file.encoded) return file
  const source = file.octets
  const entries = entriesOf(file)
  const octets = new Uint8Array(source.length * 3 + entries)
  const marks = file.marks.slice()
  let used = 0
  for (let rule = 0; rule < entries; rule++) {
    let at = marks[2 * rule] as number
    const end = marks[2 * rule + 2] as number
    marks[2 * rule] = used
    if (kindOf(file, rule) > ALLOW) continue
    for (; at < end; at++) {
      const octet = source[at] as number
      const high = octet === PERCENT && at + 2 < end ? hexValue(source[at + 1]) : -1
      const low = high < 0 ? -1 : hexValue(source[at + 2])
      if (octet >= 0x80) used = putPercent(octets, used, octet)
      else if (low < 0) octets[used++] = octet
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
