/**
 * What the owner of a site should know about his file. While a file is read, a warning is only noted: its line, its kind
 * and a few octets of the source. Its text is made when somebody asks, since most crawlers never do.
 */
import { octetsOf, standsAt } from './fields.ts'
import { isBlank } from './line.ts'
import { COLON, CR, HASH, LF, textOf } from './octets.ts'
import type { RobotsFile } from './robots-file.ts'
import type { Warning, WarningKind } from './robots-txt.ts'

/** A piece of a hostile line, short enough to be printed. */
const MAX_QUOTE = 60

/** Octets of the source that a note keeps: one more than is quoted, so that a quote knows that it was cut. */
export const MAX_NOTED = MAX_QUOTE + 1

/** A warning without its text. */
export interface Note {
  readonly line: number
  /** 'no-field': the line begins with no known field name; whether it has a colon is looked up when somebody asks. */
  readonly kind: Exclude<WarningKind, 'unknown-field' | 'not-a-record' | 'more-warnings'> | 'no-field'
  /** The octets it is about: [at, end) of the file's texts. */
  readonly at: number
  readonly end: number
  /** What was read instead (misspelt-field, missing-colon), or what the source is (not-text), or a limit. */
  readonly about: string | number
}

/** The warnings of a file, with the count of those left out. */
export function warningsOf(file: RobotsFile): Warning[] {
  const warnings = file.notes.map((note) => warningOf(note, file.octets, file.textsAt))
  const left = file.noted - file.notes.length
  if (left > 0) warnings.push({ line: 0, kind: 'more-warnings', text: `${left} more` })
  return warnings
}

function warningOf({ line, kind, at, end, about }: Note, octets: Uint8Array, textsAt: number): Warning {
  const start = textsAt + at
  const stop = textsAt + end
  const quoted = (from = start, upTo = stop): string => quote(octets, from, upTo)
  switch (kind) {
    case 'no-field':
      return noField(line, octets, start, stop)
    case 'misspelt-field':
      return { line, kind, text: `${quoted()} is read as '${about}'` }
    case 'missing-colon':
      return { line, kind, text: `read as '${about}:'` }
    case 'rule-before-group':
    case 'delay-before-group':
      return { line, kind, text: 'no user-agent line above' }
    case 'agent-without-name':
      return { line, kind, text: `${quoted()} is no name` }
    case 'agent-with-extra':
      return { line, kind, text: `of ${quoted()} only ${quoted(start, start + Number(about))} counts` }
    case 'unreachable-group':
      return { line, kind, text: 'nobody has such a name' }
    case 'pattern-without-slash':
      return { line, kind, text: `${quoted()} has no '/' in front` }
    case 'crawl-delay-unusable':
      return { line, kind, text: `${quoted()} is no number` }
    case 'sitemap-unusable':
      return { line, kind, text: `${quoted()} is not http(s)` }
    case 'line-too-long':
      return { line, kind, text: `only ${about} octets of a line are read` }
    case 'over-limit':
      return { line, kind, text: `only ${about} octets are read` }
    case 'too-many-rules':
      return { line, kind, text: `only ${about} rules are read` }
    case 'looks-like-html':
      return { line, kind, text: 'this looks like HTML' }
    case 'not-text':
      return { line, kind, text: String(about) }
    default:
      return kind satisfies never
  }
}

/** A line that begins with no known field name: an unknown record when it has a colon, else no record at all. */
function noField(line: number, octets: Uint8Array, start: number, end: number): Warning {
  let stop = start
  let colon = -1
  for (; stop < end && octets[stop] !== HASH; stop++) if (colon < 0 && octets[stop] === COLON) colon = stop
  if (stop === end && end - start < MAX_NOTED) while (stop > start && isBlank(octets[stop - 1])) stop--
  if (colon <= start) return { line, kind: 'not-a-record', text: `no colon in ${quote(octets, start, stop)}` }
  while (colon > start && isBlank(octets[colon - 1])) colon--
  return { line, kind: 'unknown-field', text: `${quote(octets, start, colon)} is not acted on` }
}

/** A piece of the source in quotes, with control characters and turns of direction shown as what they are. */
function quote(octets: Uint8Array, start: number, end: number): string {
  const text = textOf(octets, start, Math.min(end, start + MAX_QUOTE))
  return JSON.stringify(text).replace(TRICKY, escaped) + (end - start > MAX_QUOTE ? '…' : '')
}

const TRICKY = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

const HTML = /* @__PURE__ */ ['<!doctype', '<html', '<head', '<?xml', '<!--'].map(octetsOf)

/** What the first octets say about the whole: UTF-16, something compressed or binary, a page of HTML. */
export function contentOf(
  octets: Uint8Array,
  at: number,
  end: number,
): 'UTF-16' | 'gzip' | 'an image' | 'HTML' | 'text' {
  const a = octets[at] as number
  if (end - at < 2 || (a > 32 && a < 0x7f && a !== 60)) return 'text'
  const b = octets[at + 1] as number
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) return 'UTF-16'
  if (a === 0x1f && b === 0x8b) return 'gzip'
  if (a === 0x89 && b === 0x50) return 'an image'
  while (at < end && (isBlank(octets[at]) || octets[at] === LF || octets[at] === CR)) at++
  return HTML.some((start) => standsAt(octets, at, start)) ? 'HTML' : 'text'
}
