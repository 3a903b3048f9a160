/**
 * One line by the letter of google/robotstxt: comment cut, blanks trimmed, a colon or exactly two words. This is the
 * definition; the parser's short paths for lines written the usual way must not differ from it.
 */
import { type Field, spellingAt } from './fields.ts'

// Of this module: an imported constant is looked up at each use, which costs these loops a quarter of their time.
const COLON = 58
const CR = 13
const FF = 12
const HASH = 35
const LF = 10
const NUL = 0
const SPACE = 32
const TAB = 9
const VT = 11

/** How lines are read: by the grammar of RFC 9309, or exactly as google/robotstxt reads them. */
export type Grammar = 'rfc9309' | 'google'

/** What a line turned out to be. One object, used again for each line. */
export interface LineParts {
  kind: 'empty' | 'comment' | 'no-record' | 'record'
  comment: boolean
  missingColon: boolean
  /** Of a record; undefined: not a field that is known here. */
  field: Field | undefined
  /** Is the field name spelt as it should be? */
  right: boolean
  /** Would the other grammar read this line differently? It may say so of a line that both read alike. */
  disputed: boolean
  nameAt: number
  nameEnd: number
  valueAt: number
  valueEnd: number
}

export function newLineParts(): LineParts {
  return {
    kind: 'empty',
    comment: false,
    missingColon: false,
    field: undefined,
    right: true,
    disputed: false,
    nameAt: 0,
    nameEnd: 0,
    valueAt: 0,
    valueEnd: 0,
  }
}

/**
 * Reads the line [start, end): `end` is its line end, or where the line limit cuts it.
 * Under 'google' a NUL ends the line as it ends a C string, and VT and FF are blanks.
 */
export function readLine(octets: Uint8Array, start: number, end: number, grammar: Grammar, parts: LineParts): void {
  const google = grammar === 'google'
  parts.comment = false
  parts.missingColon = false
  parts.field = undefined
  parts.right = true
  parts.disputed = false
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
  while (stop > start && isTrimmed(octets[stop - 1], google)) stop--
  while (start < stop && isTrimmed(octets[start], google)) start++
  parts.kind = stop > start ? 'no-record' : parts.comment ? 'comment' : 'empty'
  parts.nameAt = start
  parts.nameEnd = stop
  parts.valueAt = stop
  parts.valueEnd = stop
  if (stop === start) return

  let valueAt = colon + 1
  if (colon < 0) {
    // Only a space or a tab parts two words, also under 'google'.
    colon = start
    while (colon < stop && !isBlank(octets[colon])) colon++
    if (colon === stop) return
    valueAt = colon
    while (isBlank(octets[valueAt])) valueAt++
    for (let at = valueAt; at < stop; at++) if (isBlank(octets[at])) return
    parts.missingColon = true
  }
  let nameEnd = colon
  while (nameEnd > start && isTrimmed(octets[nameEnd - 1], google)) nameEnd--
  if (nameEnd === start) return
  while (valueAt < stop && isTrimmed(octets[valueAt], google)) valueAt++
  parts.kind = 'record'
  parts.nameEnd = nameEnd
  parts.valueAt = valueAt
  const spelling = spellingAt(octets, start)
  if (spelling === undefined) return
  const left = nameEnd - start - spelling.octets.length
  if (left > 0 && spelling.knownByPrefix) parts.disputed = true
  if (left < 0 || (left > 0 && !(google && spelling.knownByPrefix))) return
  parts.field = spelling.field
  parts.right = spelling.right && left === 0
}

export function isBlank(octet: number | undefined): boolean {
  return octet === SPACE || octet === TAB
}

function isTrimmed(octet: number | undefined, google: boolean): boolean {
  return octet === SPACE || octet === TAB || (google && (octet === VT || octet === FF))
}

export function isLineEnd(octet: number | undefined): boolean {
  return octet === LF || octet === CR
}
