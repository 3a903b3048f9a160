/**
 * One line by the letter of google/robotstxt: comment cut, blanks trimmed, a colon or exactly two words. This is the
 * definition; the parser's short path for lines written the usual way must not differ from it.
 */
import { KNOWN_WHOLE, spellingAt } from './fields.ts'
import { COLON, CR, FF, HASH, LF, NUL, SPACE, TAB, VT } from './octets.ts'

/** How lines are read: by the grammar of RFC 9309, or exactly as google/robotstxt reads them. */
export type Grammar = 'rfc9309' | 'google'

/** What a line turned out to be. What is not of a record stands in [nameAt, valueEnd), which is empty for an empty line. */
export interface LineParts {
  /** Is it a record: a name and a value? */
  record: boolean
  comment: boolean
  missingColon: boolean
  /** Of a record, the number of its field (fields.ts); -1: not a field that is known here. */
  field: number
  /** Is the field name spelt as it should be? */
  right: boolean
  /** Would the other grammar read this line differently? It may say so of a line that both read alike. */
  disputed: boolean
  nameAt: number
  nameEnd: number
  valueAt: number
  valueEnd: number
}

/** Used again for each line. */
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
 * Reads the line [start, end): `end` is its line end, or where the line limit cuts it.
 * Under 'google' a NUL ends the line as it ends a C string, and VT and FF are blanks.
 * @returns  what it is, until the next call
 */
export function readLine(octets: Uint8Array, start: number, end: number, grammar: Grammar): Readonly<LineParts> {
  const google = grammar === 'google'
  const isTrimmed = (octet: number | undefined): boolean => isBlank(octet) || (google && (octet === VT || octet === FF))
  parts.record = parts.comment = parts.missingColon = parts.disputed = false
  parts.right = true
  parts.field = -1
  let stop = start
  let colon = -1
  for (; stop < end; stop++) {
    const octet = octets[stop] as number
    if (octet === HASH) {
      parts.comment = true
      break
    }
    if (octet === COLON && colon < 0) colon = stop
    else if (octet === NUL || octet === VT || octet === FF) {
      parts.disputed = true
      if (google && octet === NUL) break
    }
  }
  while (stop > start && isTrimmed(octets[stop - 1])) stop--
  while (start < stop && isTrimmed(octets[start])) start++
  parts.nameAt = start
  parts.nameEnd = parts.valueAt = parts.valueEnd = stop

  let valueAt = colon + 1
  if (colon < 0) {
    // Only a space or a tab parts two words, also under 'google'.
    colon = start
    while (colon < stop && !isBlank(octets[colon])) colon++
    valueAt = colon
    while (isBlank(octets[valueAt])) valueAt++
    for (let at = valueAt; at < stop; at++) if (isBlank(octets[at])) return parts
    if (colon === stop) return parts
    parts.missingColon = true
  }
  let nameEnd = colon
  while (nameEnd > start && isTrimmed(octets[nameEnd - 1])) nameEnd--
  if (nameEnd <= start) return parts
  while (valueAt < stop && isTrimmed(octets[valueAt])) valueAt++
  parts.record = true
  parts.nameEnd = nameEnd
  parts.valueAt = valueAt
  const spelling = spellingAt(octets, start)
  if (spelling === undefined) return parts
  const left = nameEnd - start - spelling.octets.length
  const knownByPrefix = spelling.field < KNOWN_WHOLE
  if (left > 0 && knownByPrefix) parts.disputed = true
  if (left === 0 || (left > 0 && google && knownByPrefix)) {
    parts.field = spelling.field
    parts.right = spelling.right && left === 0
  }
  return parts
}

export function isBlank(octet: number | undefined): boolean {
  return octet === SPACE || octet === TAB
}

export function isLineEnd(octet: number | undefined): boolean {
  return octet === LF || octet === CR
}
