/**
 * Parses one line exactly as google/robotstxt does: comment cut, blanks trimmed, a colon or exactly two words. This is the definition; the
 * parser's short path for usual lines must give the same result.
 */

import { COLON, CR, FF, HASH, LF, NUL, SPACE, TAB, VT } from './bytes.ts'
import { KNOWN_WHOLE, spellingAt } from './fields.ts'

/** The grammar of lines: RFC 9309, or exactly that of google/robotstxt. */
export type Grammar = 'rfc9309' | 'google'

/** The parts of a line. Text that is no record is in [nameAt, valueEnd), which is empty for an empty line. */
export interface LineParts {
  /** Whether the line is a record: a name and a value. */
  record: boolean
  comment: boolean
  missingColon: boolean
  /** For a record, the number of its field (fields.ts); -1: an unknown field. */
  field: number
  /** Whether the field name is spelt correctly. */
  right: boolean
  /** Whether the other grammar might parse this line differently. May also be true when both agree. */
  disputed: boolean
  nameAt: number
  nameEnd: number
  valueAt: number
  valueEnd: number
}

/** Reused for each line. */
const parts: LineParts = {
  record: false,
  comment: false,
  missingColon: false,
  field: -1,
  right: true,
  disputed: false,
  nameAt: 0,
  nameEnd: 0,
  valueAt: 0,
  valueEnd: 0,
}

/**
 * Parses the line [start, end): `end` is its line end, or where the line limit cuts it. Under 'google' a NUL ends the line, as it ends a C
 * string, and VT and FF are blanks.
 * @returns  the parts, valid until the next call
 */
export function readLine(bytes: Uint8Array, start: number, end: number, grammar: Grammar): Readonly<LineParts> {
  const google = grammar === 'google'
  const isTrimmed = (byte: number | undefined): boolean => isBlank(byte) || (google && (byte === VT || byte === FF))
  parts.record = parts.comment = parts.missingColon = parts.disputed = false
  parts.right = true
  parts.field = -1
  let stop = start
  let colon = -1
  for (; stop < end; stop++) {
    const byte = bytes[stop] as number
    if (byte === HASH) {
      parts.comment = true
      break
    }
    if (byte === COLON && colon < 0) colon = stop
    else if (byte === NUL || byte === VT || byte === FF) {
      parts.disputed = true
      if (google && byte === NUL) break
    }
  }
  while (stop > start && isTrimmed(bytes[stop - 1])) stop--
  while (start < stop && isTrimmed(bytes[start])) start++
  parts.nameAt = start
  parts.nameEnd = parts.valueAt = parts.valueEnd = stop

  let valueAt = colon + 1
  if (colon < 0) {
    // Only a space or a tab separates two words, also under 'google'.
    colon = start
    while (colon < stop && !isBlank(bytes[colon])) colon++
    valueAt = colon
    while (isBlank(bytes[valueAt])) valueAt++
    for (let at = valueAt; at < stop; at++) if (isBlank(bytes[at])) return parts
    if (colon === stop) return parts
    parts.missingColon = true
  }
  let nameEnd = colon
  while (nameEnd > start && isTrimmed(bytes[nameEnd - 1])) nameEnd--
  if (nameEnd <= start) return parts
  while (valueAt < stop && isTrimmed(bytes[valueAt])) valueAt++
  parts.record = true
  parts.nameEnd = nameEnd
  parts.valueAt = valueAt
  const spelling = spellingAt(bytes, start)
  if (spelling === undefined) return parts
  const left = nameEnd - start - spelling.bytes.length
  const knownByPrefix = spelling.field < KNOWN_WHOLE
  if (left > 0 && knownByPrefix) parts.disputed = true
  if (left === 0 || (left > 0 && google && knownByPrefix)) {
    parts.field = spelling.field
    parts.right = spelling.right && left === 0
  }
  return parts
}

export function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB
}

export function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR
}
