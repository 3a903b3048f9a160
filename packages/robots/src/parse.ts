/**
 * Octets → lines → a file, in one pass (RFC 9309 §2.2, §2.5; line for line as google/robotstxt reads).
 *
 * Lines written the usual way take a short path that copies the pattern while it looks for its end. A line that begins with
 * no letter of a field name is passed over unread. Every other line goes through `readLine`, which is the definition.
 * Never throws, whatever the octets.
 */
import { BEGINS_FIELD, bytesOf, isSitemapUrl, spellingAt, standsAt } from './fields.ts'
import { FileBuilder } from './file-builder.ts'
import { MAX_LINE_OCTETS, ROBOTS_MAX_BYTES } from './limits.ts'
import { type Grammar, isBlank, newLineParts, readLine } from './line.ts'
import { LineEnds } from './line-ends.ts'
import { isTokenOctet } from './octets.ts'
import type { Policy } from './policies.ts'
import { policies } from './policies.ts'
import type { RobotsFile } from './robots-file.ts'
import type { RobotsTxt } from './robots-txt.ts'
import { type Loaded, load, type RobotsSource } from './source.ts'
import { RobotsView } from './view.ts'
import { CONTENTS, contentOf, numberOfField } from './warnings.ts'

// Of this module: an imported constant is looked up at each use, which costs these loops a quarter of their time.
const CR = 13
const FF = 12
const HASH = 35
const LF = 10
const NUL = 0
const PERCENT = 37
const SLASH = 47
const SPACE = 32
const STAR = 42
const TAB = 9
const VT = 11

export interface ParseOptions {
  /** Default: `policies.decorum`. */
  readonly policy?: Policy
  /**
   * The source was cut by its reader, so its last line is dropped unless it is ended. Not needed when at least one octet
   * more than ROBOTS_MAX_BYTES is handed over: then the cut is made here.
   */
  readonly truncated?: boolean
}

/**
 * Reads a robots.txt.
 * @param source  octets as received (decoded from gzip and the like), or text; text counts as its UTF-8
 * @returns       the rules as `options.policy` reads them; `under` gives the same file as another policy reads it
 */
export function parseRobots(source: RobotsSource, options?: ParseOptions): RobotsTxt {
  const policy = options?.policy ?? policies.decorum
  return new RobotsView(readFile(source, options?.truncated ?? false, policy.grammar), policy, readFile)
}

function readFile(source: RobotsSource, truncated: boolean, grammar: Grammar): RobotsFile {
  return new Reader(load(source, truncated), grammar).file()
}

/** The forms that almost every line has: right spelling, colon at once. */
const USER_AGENT = /* @__PURE__ */ bytesOf('user-agent:')
const DISALLOW = /* @__PURE__ */ bytesOf('disallow:')
const ALLOW = /* @__PURE__ */ bytesOf('allow:')
const SITEMAP = /* @__PURE__ */ bytesOf('sitemap:')

const parts = /* @__PURE__ */ newLineParts()

class Reader {
  readonly #octets: Uint8Array
  readonly #length: number
  readonly #grammar: Grammar
  readonly #build: FileBuilder
  readonly #ends: LineEnds
  #line = 0
  #lineAt = 0
  #counted = 1
  #countedTo = 0
  /** A page of HTML, or no text at all: one warning says so, and none is about its lines. */
  #quiet = false

  constructor({ octets, length, cut, text }: Loaded, grammar: Grammar) {
    this.#octets = octets
    this.#length = length
    this.#grammar = grammar
    this.#build = new FileBuilder(octets, length)
    this.#ends = new LineEnds(octets, length, text)
    let at = 0
    // A byte order mark, also a part of one, at the very start (google/robotstxt).
    if (octets[0] === 0xef && length > 0)
      at = octets[1] === 0xbb && length > 1 ? (octets[2] === 0xbf && length > 2 ? 3 : 2) : 1
    const content = contentOf(octets, at, length)
    this.#quiet = content !== 'text'
    if (content === 'HTML') this.#build.note(1, 'looks-like-html')
    else if (content !== 'text') this.#build.note(1, 'not-text', 0, 0, CONTENTS.indexOf(content))
    this.#lines(at)
    if (cut) {
      this.#lineAt = length
      this.#build.note(this.#quiet ? this.#number() : this.#line + 1, 'over-limit', 0, 0, ROBOTS_MAX_BYTES)
    }
  }

  file(): RobotsFile {
    return this.#build.file(this.#grammar)
  }

  #lines(start: number): void {
    const octets = this.#octets
    const length = this.#length
    let at = start
    while (at < length) {
      this.#line++
      const lineAt = at
      this.#lineAt = at
      let octet = octets[at] as number
      while (octet === SPACE || octet === TAB) octet = octets[++at] as number
      if (BEGINS_FIELD[octet] === 1) at = this.#field(lineAt, at, octet | 32)
      else if (octet === HASH) at = this.#ends.after(at)
      else if (octet !== LF && octet !== CR) at = this.#noField(lineAt, at, octet)
      if (at - lineAt > MAX_LINE_OCTETS) this.#build.note(this.#number(), 'line-too-long', 0, 0, MAX_LINE_OCTETS)
      // CR LF is one line end; LF CR is two, the second of an empty line.
      at += octets[at] === CR && octets[at + 1] === LF && at + 1 < length ? 2 : 1
    }
    // What is counted is line ends, as editors do: after a final one there is one more, empty line.
  }

  /** The line at hand, 1-based. Where lines are passed over unseen, their ends are counted when one behind them matters. */
  #number(): number {
    if (!this.#quiet) return this.#line
    const octets = this.#octets
    let at = this.#countedTo
    for (; at < this.#lineAt; at++)
      if (octets[at] === LF || (octets[at] === CR && octets[at + 1] !== LF)) this.#counted++
    this.#countedTo = at
    return this.#counted
  }

  /** A line that may begin with a field name. Returns the index of its end, as all of these do. */
  #field(lineAt: number, at: number, letter: number): number {
    const octets = this.#octets
    if (letter === 100 && standsAt(octets, at, DISALLOW)) return this.#rule(lineAt, at + 9, 0)
    if (letter === 97 && standsAt(octets, at, ALLOW)) return this.#rule(lineAt, at + 6, 1)
    if (letter === 117 && standsAt(octets, at, USER_AGENT)) return this.#userAgent(lineAt, at + 11)
    if (letter === 115 && standsAt(octets, at, SITEMAP)) return this.#sitemap(lineAt, at + 8)
    return spellingAt(octets, at) === undefined ? this.#noField(lineAt, at, letter) : this.#anyLine(lineAt)
  }

  /** A line that begins with no field name: nothing of it is read, whatever follows. */
  #noField(lineAt: number, at: number, first: number): number {
    // Under one grammar these are blanks, or the end of the line.
    if (first === NUL || first === VT || first === FF) return this.#anyLine(lineAt)
    const end = this.#ends.after(at)
    if (at - lineAt >= MAX_LINE_OCTETS) return end // all that counts of it is blank
    if (!this.#quiet) {
      this.#build.note(this.#number(), 'no-field', at, Math.min(end, lineAt + MAX_LINE_OCTETS))
      return end
    }
    // Above the first group nothing of such a page counts but user-agent lines and sitemaps.
    return this.#build.hasGroup ? end : this.#ends.skip(end)
  }

  /** A rule in the usual form, whose value starts at `at`. Copies it while looking for its end. */
  #rule(lineAt: number, at: number, allows: 0 | 1): number {
    const octets = this.#octets
    const build = this.#build
    const { patterns } = build
    let octet = octets[at] as number
    while (octet === SPACE || octet === TAB) octet = octets[++at] as number
    const valueAt = at
    const start = build.used
    let used = start
    let encoded = false
    for (;;) {
      if (octet > PERCENT && octet < 0x80) patterns[used++] = octet
      else if (octet === LF || octet === CR || octet === HASH) break
      else if (octet < SPACE && octet !== TAB) return this.#anyLine(lineAt)
      else {
        if (octet >= PERCENT) encoded = true
        patterns[used++] = octet
      }
      octet = octets[++at] as number
    }
    if (octet === HASH) at = this.#ends.after(at)
    if (at - lineAt > MAX_LINE_OCTETS) return this.#anyLine(lineAt)
    while (used > start && isBlank(patterns[used - 1])) used--
    this.#endRule(valueAt, used, allows, encoded)
    return at
  }

  /** A rule whose pattern was copied from `valueAt` of the input to [build.used, used). */
  #endRule(valueAt: number, used: number, allows: 0 | 1, encoded: boolean): void {
    const build = this.#build
    const length = used - build.used
    if (!build.rule(this.#number(), used, allows)) return
    if (encoded) build.encoded = true
    const first = this.#octets[valueAt]
    if (length > 0 && first !== SLASH && first !== STAR)
      build.note(this.#number(), 'pattern-without-slash', valueAt, valueAt + length)
  }

  /** A user-agent line in the usual form: a token and nothing else. */
  #userAgent(lineAt: number, at: number): number {
    const octets = this.#octets
    while (isBlank(octets[at])) at++
    let end = at
    if (octets[at] === STAR) end++
    else while (isTokenOctet(octets[end] as number)) end++
    const octet = octets[end]
    if (end === at || (octet !== LF && octet !== CR) || end - lineAt > MAX_LINE_OCTETS) return this.#anyLine(lineAt)
    this.#build.agent(this.#number(), at, end, true)
    return end
  }

  /** A sitemap in the usual form. A list of them is passed over about as fast as its line ends can be found. */
  #sitemap(lineAt: number, at: number): number {
    const octets = this.#octets
    while (isBlank(octets[at])) at++
    const lineEnd = this.#ends.after(at)
    let end = lineEnd
    if (end - lineAt > MAX_LINE_OCTETS || !isSitemapUrl(octets, at, end) || !this.#ends.isPlain(at, end))
      return this.#anyLine(lineAt)
    while (isBlank(octets[end - 1])) end--
    this.#build.sitemap(at, end)
    return lineEnd
  }

  /** Any line, read by the definition. */
  #anyLine(lineAt: number): number {
    const lineEnd = this.#ends.after(lineAt)
    const octets = this.#octets
    const build = this.#build
    readLine(octets, lineAt, Math.min(lineEnd, lineAt + MAX_LINE_OCTETS), this.#grammar, parts)
    const { field, nameAt, nameEnd, valueAt, valueEnd } = parts
    if (parts.disputed) build.disputed = true
    if (field === undefined) {
      if (!this.#quiet && (parts.kind === 'record' || parts.kind === 'no-record'))
        build.note(this.#number(), 'no-field', nameAt, valueEnd)
      return lineEnd
    }
    if (parts.missingColon) build.note(this.#number(), 'missing-colon', 0, 0, numberOfField(field))
    if (!parts.right) build.note(this.#number(), 'misspelt-field', nameAt, nameEnd, numberOfField(field))
    switch (field) {
      case 'user-agent':
        this.#anyAgent(valueAt, valueEnd)
        break
      case 'allow':
      case 'disallow':
        this.#anyRule(valueAt, valueEnd, field === 'allow' ? 1 : 0)
        break
      case 'crawl-delay':
        build.delay(this.#number(), valueAt, valueEnd)
        break
      case 'sitemap':
        if (isSitemapUrl(octets, valueAt, valueEnd)) build.sitemap(valueAt, valueEnd)
        else build.note(this.#number(), 'sitemap-unusable', valueAt, valueEnd)
        break
      case 'other':
        build.record(this.#number(), nameAt, nameEnd, valueAt, valueEnd)
        break
      default:
        field satisfies never
    }
    return lineEnd
  }

  #anyRule(start: number, end: number, allows: 0 | 1): void {
    const octets = this.#octets
    const { patterns, used } = this.#build
    let stop = used
    let encoded = false
    for (let at = start; at < end; at++) {
      const octet = octets[at] as number
      if (octet === PERCENT || octet >= 0x80) encoded = true
      patterns[stop++] = octet
    }
    this.#endRule(start, stop, allows, encoded)
  }

  /** A user-agent line with the value [start, end). */
  #anyAgent(start: number, end: number): void {
    const octets = this.#octets
    const build = this.#build
    let letters = start
    while (letters < end && isTokenOctet(octets[letters] as number)) letters++
    const everybody =
      end > start && octets[start] === STAR && (end === start + 1 || isSpace(octets[start + 1] as number))
    const reachable = letters > start || everybody
    if (!reachable) build.note(this.#number(), 'agent-without-name', start, end)
    else if (end > Math.max(letters, start + 1))
      build.note(this.#number(), 'agent-with-extra', start, end, Math.max(letters, start + 1) - start)
    build.agent(this.#number(), start, end, reachable)
  }
}

/** What C's isspace calls a blank; a star with one behind it still means everybody. */
function isSpace(octet: number): boolean {
  return octet === SPACE || (octet >= TAB && octet <= CR)
}
