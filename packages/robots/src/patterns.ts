/** Patterns in the form in which they are compared with a path (RFC 9309 §2.2.2). */
import { matchesPattern } from './match.ts'
import { DOLLAR, hexValue, PERCENT, STAR } from './octets.ts'
import { type Path, putEncoded, putPercent } from './path.ts'
import type { Policy } from './policies.ts'
import type { RobotsFile } from './robots-file.ts'

/** Rule r: octets [marks[2r], marks[2r+2]). ASCII and LITERAL_STAR only. */
export interface Patterns {
  readonly octets: Uint8Array
  readonly marks: Int32Array
}

/**
 * All patterns of a file, normalised. Most files need nothing and are used as they are.
 * Octets outside ASCII become %XX and hexadecimal digits upper case; under 'unreserved' encoded unreserved octets are
 * decoded, and %2A and %24 are the literal characters.
 */
export function normalised(file: RobotsFile, encoding: Policy['encoding']): Patterns {
  if (!file.encoded) return file
  const source = file.octets
  const octets = new Uint8Array(source.length * 3 + file.rules)
  const marks = file.marks.slice()
  let used = 0
  for (let rule = 0; rule < file.rules; rule++) {
    const end = file.marks[2 * rule + 2] as number
    marks[2 * rule] = used
    for (let at = file.marks[2 * rule] as number; at < end; at++) {
      const octet = source[at] as number
      if (octet >= 0x80) {
        used = putPercent(octets, used, octet)
        continue
      }
      const high = octet === PERCENT && at + 2 < end ? hexValue(source[at + 1]) : -1
      const low = high < 0 ? -1 : hexValue(source[at + 2])
      if (low < 0) {
        octets[used++] = octet
        continue
      }
      at += 2
      if (encoding === 'unreserved') {
        used = putEncoded(octets, used, high * 16 + low)
        // A literal dollar at the end is no end anchor; a star behind it changes nothing but that.
        if (octets[used - 1] === DOLLAR && at === end - 1) octets[used++] = STAR
      } else used = putPercent(octets, used, high * 16 + low)
    }
  }
  marks[2 * file.rules] = used
  return { octets: octets.slice(0, used), marks }
}

/**
 * What a pattern weighs: its octets as compared, without trailing stars unless the policy counts them. At least 1, since
 * `*` alone is a pattern that matches.
 */
export function weightOf(patterns: Patterns, rule: number, trailingStarCounts: boolean): number {
  const start = patterns.marks[2 * rule] as number
  let end = patterns.marks[2 * rule + 2] as number
  if (!trailingStarCounts) while (end > start + 1 && patterns.octets[end - 1] === STAR) end--
  return end - start
}

const INDEX = [47, 105, 110, 100, 101, 120, 46, 104, 116, 109] // '/index.htm'

/**
 * `…/index.htm[l]` stands for its folder too, under google (only `allow` does): the index behind the folder's slash, or -1.
 */
export function folderEnd(patterns: Patterns, rule: number): number {
  const start = patterns.marks[2 * rule] as number
  const end = patterns.marks[2 * rule + 2] as number
  let slash = end - 1
  while (slash >= start && patterns.octets[slash] !== 47) slash--
  if (slash < start || end - slash < INDEX.length) return -1
  for (let i = 1; i < INDEX.length; i++) if (patterns.octets[slash + i] !== INDEX[i]) return -1
  return slash + 1
}

/** `folder…/` with an end anchor: [start, end) must match the path as a whole. */
export function matchesFolder(octets: Uint8Array, start: number, end: number, path: Path): boolean {
  const pattern = new Uint8Array(end - start + 1)
  pattern.set(octets.subarray(start, end))
  pattern[end - start] = DOLLAR
  return matchesPattern(pattern, 0, pattern.length, path)
}
