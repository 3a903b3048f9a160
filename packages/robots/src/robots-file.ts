/**
 * A parsed file: its entries in their order, independent of any policy.
 *
 * Everything stays in bytes, end to end in one buffer with the numbers that separate them, and becomes strings only on request: a parsed
 * file is little larger than its patterns, and parsing it makes no garbage.
 */

import { isTokenByte, STAR, textOf } from './bytes.ts'
import { type Grammar, isLineEnd } from './line.ts'
import type { Group, OtherRecord, Rule } from './robots-txt.ts'

/** Kinds of entries; those of fields have the numbers of fields.ts. Rules are all kinds below AGENT. */
export const ALLOW = 1
export const AGENT = 2
/** A URL, or lines of the source that contain only sitemaps in the usual form. */
export const SITEMAP = 3
export const DELAY = 4
/** The name of a record that is only reported; its value is the next entry. */
export const OTHER = 5
export const VALUE = 6
/** A warning and the text that it quotes. Its number (notes.ts) is in the lowest NOTE_BITS of its line, the line itself above. */
export const NOTE = 7
const KIND = 7
/** Added to AGENT: the first of a run of user-agent lines. */
export const FIRST = 8
export const BITS = 4
export const NOTE_BITS = 5

export interface RobotsFile {
  readonly grammar: Grammar
  /** The source, kept only if the other grammar parses some of it differently. */
  readonly source: Uint8Array | undefined
  /** Whether `source` is packed and was cut by its reader. */
  readonly truncated: boolean
  /** The texts of the entries, one behind the other. */
  readonly bytes: Uint8Array
  /** Entry e: bytes [marks[2e], marks[2e+2]); marks[2e+1] is its kind and, above BITS, its line. */
  readonly marks: Int32Array
  /** Whether some pattern contains '%' or a byte that no URL contains, or lacks its slash: then patterns must be normalised. */
  readonly encoded: boolean
  /** Number of warnings; only the first MAX_WARNINGS of them are entries. */
  readonly noted: number
}

export function entriesOf({ marks }: RobotsFile): number {
  return marks.length >> 1
}

export function kindOf({ marks }: Pick<RobotsFile, 'marks'>, entry: number): number {
  return (marks[2 * entry + 1] as number) & KIND
}

export function lineOf({ marks }: RobotsFile, entry: number): number {
  return (marks[2 * entry + 1] as number) >> BITS
}

export function textOfEntry({ bytes, marks }: RobotsFile, entry: number): string {
  return textOf(bytes, marks[2 * entry] as number, marks[2 * entry + 2] as number)
}

/** Whether an entry begins a block, which is a run of user-agent lines with everything below them. */
export function isFirst({ marks }: RobotsFile, entry: number): boolean {
  return ((marks[2 * entry + 1] as number) & FIRST) !== 0
}

/** For each block its first entry, and the entry behind its last one. */
export function blocksOf(file: RobotsFile): [first: number, end: number][] {
  const blocks: [number, number][] = []
  for (let entry = 0; entry < entriesOf(file); entry++) {
    if (isFirst(file, entry)) blocks.push([entry, entry])
    const last = blocks.at(-1)
    if (last !== undefined) last[1] = entry + 1
  }
  return blocks
}

/** Whether a user-agent line names this token (lower case, or '*'). The line's token ends at the first byte that no token contains. */
export function nameMeans({ bytes, marks }: RobotsFile, entry: number, token: string): boolean {
  const start = marks[2 * entry] as number
  const end = marks[2 * entry + 2] as number
  if (token === '*') {
    const after = bytes[start + 1] as number
    return bytes[start] === STAR && end > start && (end === start + 1 || after === 32 || (after >= 9 && after <= 13))
  }
  const { length } = token
  if (end - start < length) return false
  for (let i = 0; i < length; i++) {
    const wanted = token.charCodeAt(i)
    const byte = bytes[start + i] as number
    if (byte !== wanted && ((byte | 32) !== wanted || wanted < 97)) return false
  }
  return end - start === length || !isTokenByte(bytes[start + length] as number)
}

/** The user-agent lines of a block, as written. They precede its first rule. */
export function groupOf(file: RobotsFile, first: number): Group {
  const agents = [textOfEntry(file, first)]
  for (let entry = first + 1; entry < entriesOf(file) && kindOf(file, entry) > ALLOW; entry++) {
    if (isFirst(file, entry)) break
    if (kindOf(file, entry) === AGENT) agents.push(textOfEntry(file, entry))
  }
  return { agents, line: lineOf(file, first) }
}

/** A rule, as written. */
export function ruleOf(file: RobotsFile, rule: number): Rule {
  return {
    type: kindOf(file, rule) === ALLOW ? 'allow' : 'disallow',
    pattern: textOfEntry(file, rule),
    line: lineOf(file, rule),
  }
}

/** The sitemaps as written: absolute http(s) URLs, and relative ones. */
export function sitemapsOf(file: RobotsFile): string[] {
  const { bytes, marks } = file
  const urls: string[] = []
  for (let entry = 0; entry < entriesOf(file); entry++) {
    if (kindOf(file, entry) !== SITEMAP) continue
    const end = marks[2 * entry + 2] as number
    for (let at = marks[2 * entry] as number; at < end; at++) {
      const start = at
      while (at < end && !isLineEnd(bytes[at])) at++
      if (at > start) urls.push(textOf(bytes, start, at).replace(/^[ \t]*sitemap:[ \t]*/i, ''))
    }
  }
  return urls
}

export const absoluteSitemapsOf = (file: RobotsFile): string[] =>
  sitemapsOf(file).filter((url) => /^https?:\/\//i.test(url))

/** The records that are only reported. */
export function recordsOf(file: RobotsFile): OtherRecord[] {
  const records: OtherRecord[] = []
  let agents: readonly string[] = []
  for (let entry = 0; entry < entriesOf(file); entry++) {
    if (isFirst(file, entry)) ({ agents } = groupOf(file, entry))
    if (kindOf(file, entry) === OTHER) records.push(recordOf(file, entry, agents))
  }
  return records
}

/** The record whose name is this entry, and whose value is the next one. */
export function recordOf(file: RobotsFile, entry: number, agents: readonly string[]): OtherRecord {
  return {
    field: textOfEntry(file, entry).toLowerCase(),
    value: textOfEntry(file, entry + 1),
    line: lineOf(file, entry),
    agents,
  }
}
