/**
 * What the owner of a site should know about his file. While a file is read, a warning is only noted: its line, its kind
 * and a few octets of the source. Its text is made when somebody asks, since most crawlers never do.
 */
import { bytesOf, type Field, standsAt } from './fields.ts'
import { isBlank } from './line.ts'
import { COLON, CR, HASH, LF, textOf } from './octets.ts'
import { NOTE, type RobotsFile } from './robots-file.ts'
import type { Warning, WarningKind } from './robots-txt.ts'

/** A piece of a hostile line, short enough to be printed. */
const MAX_QUOTE = 60

/** Octets of the source that a note keeps: one more than is quoted, so that a quote knows that it was cut. */
export const MAX_NOTED = MAX_QUOTE + 1

/** What `about` of a note counts in, where it is no number of octets or rules. */
export const CONTENTS = ['UTF-16', 'gzip', 'an image', 'HTML', 'text'] as const
const FIELDS: readonly Field[] = ['user-agent', 'allow', 'disallow', 'sitemap', 'crawl-delay', 'other']

export function numberOfField(field: Field): number {
  return FIELDS.indexOf(field)
}

/** A warning: its kind, and its text of what was quoted, and of the number `about`. */
type Text = (quoted: string, about: number, token: string) => string

const TEXTS = {
  'misspelt-field': (quoted, about) => `${quoted} is read as '${FIELDS[about]}'`,
  'missing-colon': (_, about) => `read as '${FIELDS[about]}:'`,
  'rule-before-group': () => 'no user-agent line above',
  'delay-before-group': () => 'no user-agent line above',
  'agent-without-name': (quoted) => `${quoted} is no name`,
  'agent-with-extra': (quoted, _, token) => `of ${quoted} only ${token} counts`,
  'unreachable-group': () => 'nobody has such a name',
  'pattern-without-slash': (quoted) => `${quoted} has no '/' in front`,
  'crawl-delay-unusable': (quoted) => `${quoted} is no number`,
  'sitemap-unusable': (quoted) => `${quoted} is not http(s)`,
  'line-too-long': (_, about) => `only ${about} octets of a line are read`,
  'over-limit': (_, about) => `only ${about} octets are read`,
  'too-many-rules': (_, about) => `only ${about} rules are read`,
  'looks-like-html': () => 'this looks like HTML',
  'not-text': (_, about) => CONTENTS[about] as string,
} as const satisfies Partial<Record<WarningKind, Text>>

/** 'no-field': the line begins with no known field name; whether it has a colon is looked up when somebody asks. */
export type NoteKind = keyof typeof TEXTS | 'no-field'

const KINDS = /* @__PURE__ */ Object.keys(TEXTS) as (keyof typeof TEXTS)[]
const NUMBERS: ReadonlyMap<string, number> = /* @__PURE__ */ new Map(KINDS.map((kind, i) => [kind, i]))

export function numberOf(kind: NoteKind): number {
  return kind === 'no-field' ? -1 : (NUMBERS.get(kind) as number)
}

/** The warnings of a file, with the count of those left out. */
export function warningsOf(file: RobotsFile): Warning[] {
  const { marks, octets, notesAt, textsAt } = file
  const warnings: Warning[] = []
  for (let at = notesAt; at < marks.length; at += NOTE) {
    const [line, number, start, end, about] = marks.subarray(at) as unknown as [number, number, number, number, number]
    const from = textsAt + start
    const kind = KINDS[number]
    if (kind === undefined) warnings.push(noField(line, octets, from, textsAt + end))
    else {
      const text: Text = TEXTS[kind]
      const token = quote(octets, from, Math.min(textsAt + end, from + about))
      warnings.push({ line, kind, text: text(quote(octets, from, textsAt + end), about, token) })
    }
  }
  const left = file.noted - warnings.length
  if (left > 0) warnings.push({ line: 0, kind: 'more-warnings', text: `${left} more` })
  return warnings
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

const HTML = /* @__PURE__ */ ['<!doctype', '<html', '<head', '<?xml', '<!--'].map(bytesOf)

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
