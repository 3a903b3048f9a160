/**
 * Warnings about a file for the owner of a site. While a file is parsed, a warning is only noted: its line, its number and a few bytes of
 * the source. Its text is made on request, since most crawlers never need it.
 */
import { FIELDS, spellingAt } from './fields.ts'
import { MAX_LINE_OCTETS, MAX_RULES, ROBOTS_MAX_BYTES } from './limits.ts'
import { isBlank } from './line.ts'
import { COLON, HASH, isTokenOctet, textOf } from './octets.ts'
import { MAX_NOTED } from './read-file.ts'
import { entriesOf, kindOf, lineOf, NOTE, NOTE_BITS, type RobotsFile } from './robots-file.ts'
import type { Warning, WarningKind } from './robots-txt.ts'

/** The bytes that a warning is about. */
type Piece = Uint8Array

/**
 * By number (notes.ts), the kind of a warning and its text, where %q is the piece in quotes, %t its leading token in quotes, %f the name of
 * its field.
 */
const TEXTS = /* @__PURE__ */ `misspelt-field %q is read as '%f'
missing-colon read as '%f:'
rule-before-group no user-agent line above
delay-before-group no user-agent line above
agent-without-name %q is no name
agent-with-extra of %q only %t counts
unreachable-group nobody has such a name
pattern-without-slash %q has no '/' in front: decorum and coccoc read a disallow with one, the others match it with no URL
crawl-delay-unusable %q is no number
sitemap-unusable %q is not http(s)
line-too-long only ${MAX_LINE_OCTETS} octets of a line are read
over-limit only ${ROBOTS_MAX_BYTES} octets are read
too-many-rules only ${MAX_RULES} rules are read
looks-like-html this looks like HTML
not-text UTF-16: the google profiles find no rule in it
not-text gzip without Content-Encoding: the google profiles find no rule in it
not-text an image
pattern-not-encoded %q holds octets that stand percent-encoded in every URL: the google profiles match it with none
sitemap-unusable %q is no whole URL: it is read against that of this file`.split('\n')

/** The warnings of a file, with the count of those left out. */
export function warningsOf(file: RobotsFile): Warning[] {
  const { marks, octets } = file
  const warnings: Warning[] = []
  for (let entry = 0; entry < entriesOf(file); entry++) {
    if (kindOf(file, entry) !== NOTE) continue
    const above = lineOf(file, entry)
    const noted = octets.subarray(marks[2 * entry], marks[2 * entry + 2])
    const known = TEXTS[above & ((1 << NOTE_BITS) - 1)]
    const [template, piece] = known === undefined ? noField(noted) : [known, noted]
    const kind = template.slice(0, template.indexOf(' '))
    const text = template
      .slice(kind.length + 1)
      .replace(/%./g, (of) => (of === '%f' ? fieldIn(piece) : quote(of === '%t' ? tokenIn(piece) : piece)))
    warnings.push({ line: above >> NOTE_BITS, kind: kind as WarningKind, text })
  }
  const left = file.noted - warnings.length
  if (left > 0) warnings.push({ line: 0, kind: 'more-warnings', text: `${left} more` })
  return warnings
}

/** A line that begins with no known field name: an unknown record when it has a colon, else no record at all. */
function noField(piece: Piece): [template: string, piece: Piece] {
  const hash = piece.indexOf(HASH)
  const head = hash < 0 ? piece : piece.subarray(0, hash)
  const colon = head.indexOf(COLON)
  if (colon > 0) return ['unknown-field %q is not acted on', trimmed(head.subarray(0, colon))]
  return ['not-a-record no colon in %q', head.length < MAX_NOTED && hash < 0 ? trimmed(head) : head]
}

function trimmed(piece: Piece): Piece {
  let end = piece.length
  while (end > 0 && isBlank(piece[end - 1])) end--
  return piece.subarray(0, end)
}

/** The name of the field at the beginning of a piece. */
function fieldIn(piece: Piece): string {
  return FIELDS[spellingAt(piece, 0)?.field as number] as string
}

/** The leading token, or the star. */
function tokenIn(piece: Piece): Piece {
  let end = 0
  while (end < piece.length && isTokenOctet(piece[end] as number)) end++
  return piece.subarray(0, Math.max(1, end))
}

/** A piece of the source in quotes, with control and direction characters escaped. */
function quote(piece: Piece): string {
  const most = MAX_NOTED - 1
  const text = textOf(piece, 0, Math.min(piece.length, most))
  return JSON.stringify(text).replace(TRICKY, escaped) + (piece.length > most ? '…' : '')
}

const TRICKY = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
