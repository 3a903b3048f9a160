/**
 * A file as it was read: names, rules and records, before any policy looks at them.
 *
 * Everything stays octets, end to end in one buffer with the numbers that part them, and becomes strings only when
 * somebody asks: a parsed file weighs little more than what its patterns weigh, and reading it makes no garbage.
 */
import type { Grammar } from './line.ts'
import { isTokenOctet, STAR, textOf } from './octets.ts'
import type { Group, OtherRecord, Rule } from './robots-txt.ts'

/** A crawl-delay, binding the names [from, upTo) of the file; written [at, end) of the texts. */
export interface Delay {
  readonly seconds: number
  readonly line: number
  readonly from: number
  readonly upTo: number
  readonly at: number
  readonly end: number
}

/**
 * A record that is reported only: field and value are [at, nameEnd) and [valueAt, end) of the texts. `block` is the one it
 * stands in, -1 above the first.
 */
export interface ReadRecord {
  readonly line: number
  readonly block: number
  readonly at: number
  readonly nameEnd: number
  readonly valueAt: number
  readonly end: number
}

/** Numbers per note. */
export const NOTE = 5

export interface RobotsFile {
  readonly grammar: Grammar
  /** The source, kept only when some line of it is read differently by the other grammar. */
  readonly source: Uint8Array | undefined
  /** All patterns as written, then all names of user-agent lines as written, then the texts: pieces of the source. */
  readonly octets: Uint8Array
  readonly textsAt: number
  /** Rule r: octets [marks[2r], marks[2r+2]); marks[2r+1] is its line × 2, + 1 when it allows. */
  readonly marks: Int32Array
  readonly rules: number
  /** Name n: octets [marks[2r], marks[2r+2]) with r = rules + n; marks[2r+1] is its line. */
  readonly names: number
  /**
   * A block is a run of user-agent lines with the rules below it. Block b: names [marks[s], marks[s+2]), rules
   * [marks[s+1], marks[s+3]) with s = startsAt + 2b.
   */
  readonly startsAt: number
  readonly blocks: number
  /** Some pattern holds '%' or an octet outside ASCII: patterns must be normalised before they are compared. */
  readonly encoded: boolean
  readonly delays: readonly Delay[]
  /** Sitemap i: [marks[s], marks[s+1]) of the texts, with s = sitemapsAt + 2i. */
  readonly sitemapsAt: number
  /** Notes, NOTE numbers each, to the end of the marks: line, kind, the octets of the texts that it is about, and `about`. */
  readonly notesAt: number
  /** How many warnings there were; there are notes of the first of them. */
  readonly noted: number
  readonly records: readonly ReadRecord[]
}

/** Does a name [start, end) mean this token (lower case, or '*' for everybody)? A token ends where its letters end. */
function means(octets: Uint8Array, start: number, end: number, token: string): boolean {
  if (token === '*') {
    const after = octets[start + 1] as number
    return octets[start] === STAR && end > start && (end === start + 1 || after === 32 || (after >= 9 && after <= 13))
  }
  const { length } = token
  if (end - start < length) return false
  for (let i = 0; i < length; i++) {
    const wanted = token.charCodeAt(i)
    const octet = octets[start + i] as number
    if (octet !== wanted && ((octet | 32) !== wanted || wanted < 97)) return false
  }
  return end - start === length || !isTokenOctet(octets[start + length] as number)
}

/** Does name `n` of the file mean this token? */
export function nameMeans(file: RobotsFile, n: number, token: string): boolean {
  const at = 2 * (file.rules + n)
  return means(file.octets, file.marks[at] as number, file.marks[at + 2] as number, token)
}

/** The blocks that name a token, in the order of the file. */
export function blocksOf(file: RobotsFile, token: string): number[] {
  const found: number[] = []
  for (let block = 0; block < file.blocks; block++) {
    const upTo = file.marks[file.startsAt + 2 * block + 2] as number
    for (let n = file.marks[file.startsAt + 2 * block] as number; n < upTo; n++)
      if (nameMeans(file, n, token)) {
        found.push(block)
        break
      }
  }
  return found
}

/** The user-agent lines of a block, as written. */
export function groupOf(file: RobotsFile, block: number): Group {
  const from = file.marks[file.startsAt + 2 * block] as number
  const upTo = file.marks[file.startsAt + 2 * block + 2] as number
  const agents: string[] = []
  for (let n = from; n < upTo; n++) agents.push(nameOf(file, n))
  return { agents, line: file.marks[2 * (file.rules + from) + 1] as number }
}

/** The rules of a block, in the order of the file. */
export function* rulesOf(file: RobotsFile, block: number): IterableIterator<Rule> {
  const at = file.startsAt + 2 * block + 1
  for (let rule = file.marks[at] as number; rule < (file.marks[at + 2] as number); rule++) yield ruleOf(file, rule)
}

export function nameOf(file: RobotsFile, n: number): string {
  const at = 2 * (file.rules + n)
  return textOf(file.octets, file.marks[at] as number, file.marks[at + 2] as number)
}

/** A rule, as written. */
export function ruleOf(file: RobotsFile, rule: number): Rule {
  const lineAndType = file.marks[2 * rule + 1] as number
  return {
    type: (lineAndType & 1) === 1 ? 'allow' : 'disallow',
    pattern: textOf(file.octets, file.marks[2 * rule] as number, file.marks[2 * rule + 2] as number),
    line: lineAndType >> 1,
  }
}

/** Octets [at, end) of the file's texts. */
export function textIn(file: RobotsFile, at: number, end: number): string {
  return textOf(file.octets, file.textsAt + at, file.textsAt + end)
}

export function sitemapsOf(file: RobotsFile): string[] {
  const urls: string[] = []
  for (let at = file.sitemapsAt; at < file.notesAt; at += 2)
    urls.push(textIn(file, file.marks[at] as number, file.marks[at + 1] as number))
  return urls
}

export function recordOf(file: RobotsFile, { line, block, at, nameEnd, valueAt, end }: ReadRecord): OtherRecord {
  return {
    field: textIn(file, at, nameEnd).toLowerCase(),
    value: textIn(file, valueAt, end),
    line,
    agents: block < 0 ? [] : groupOf(file, block).agents,
  }
}
