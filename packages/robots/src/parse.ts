/**
 * Octets → groups of rules, in one pass (RFC 9309 §2.1, §2.2.1, §2.5; line for line as google/robotstxt reads).
 *
 * Lines written the usual way take a short path that copies the pattern while it looks for its end; every other line
 * goes through `#oddLine`, which is the definition. Never throws, whatever the octets: a line that is no record is passed over.
 */
import { delaySeconds, type Field, fieldAt, isSitemapUrl, octetsOf, standsAt } from './fields.ts'
import { MAX_LINE_OCTETS, MAX_RECORDS, MAX_RULES, ROBOTS_MAX_BYTES } from './limits.ts'
import { COLON, CR, HASH, isTokenOctet, LF, PERCENT, SLASH, SPACE, STAR, TAB, textOf } from './octets.ts'
import type { Policy } from './policies.ts'
import { policies } from './policies.ts'
import type { Delay, ReadRecord, RobotsFile } from './robots-file.ts'
import type { RobotsTxt } from './robots-txt.ts'
import { RobotsView } from './view.ts'
import { quote, Warnings, warnOfContent } from './warnings.ts'

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
export function parseRobots(source: string | Uint8Array, options?: ParseOptions): RobotsTxt {
  return new RobotsView(readFile(source, options?.truncated ?? false), options?.policy ?? policies.decorum)
}

const encoder = /* @__PURE__ */ new TextEncoder()

/** Room that every parse uses again: the source with a line end behind it, the patterns, the marks. */
let input = /* @__PURE__ */ new Uint8Array(0)
let patterns = /* @__PURE__ */ new Uint8Array(0)
let marks = /* @__PURE__ */ new Int32Array(512)
let names = /* @__PURE__ */ new Uint8Array(0)
let nameMarks = /* @__PURE__ */ new Int32Array(64)
let starts = /* @__PURE__ */ new Int32Array(64)

/** The same numbers with room for more. */
function grown(numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const more = new Int32Array(numbers.length * 4)
  more.set(numbers)
  return more
}

/** Copies the source into `input` and returns how many of its octets count. */
function load(source: string | Uint8Array, truncated: boolean): { length: number; cut: boolean } {
  let length = 0
  if (typeof source === 'string') {
    // One unit more than the limit is enough of a text: each gives an octet at least, so the limit still falls inside.
    const text = source.slice(0, ROBOTS_MAX_BYTES + 1)
    reserve(text.length * 3)
    length = encoder.encodeInto(text, input).written
  } else if (ArrayBuffer.isView(source)) {
    length = Math.min(source.length, ROBOTS_MAX_BYTES + 1)
    reserve(length)
    input.set(source.subarray(0, length))
  } else throw new TypeError('source: neither string nor Uint8Array')
  const cut = length > ROBOTS_MAX_BYTES
  // A line that the limit falls into is dropped: half of `Disallow: /shop` must not become `Disallow: /`.
  if (cut && isLineEnd(input[ROBOTS_MAX_BYTES])) length = ROBOTS_MAX_BYTES
  else if (cut || truncated) {
    length = Math.min(length, ROBOTS_MAX_BYTES)
    while (length > 0 && !isLineEnd(input[length - 1])) length--
  }
  return { length, cut }
}

/** Room for so many octets, but never for more than the limit and one character. */
function reserve(octets: number): void {
  const room = Math.min(octets, ROBOTS_MAX_BYTES + 4) + 16
  if (input.length >= room) return
  input = new Uint8Array(room)
  patterns = new Uint8Array(room)
  names = new Uint8Array(room)
}

function isLineEnd(octet: number | undefined): boolean {
  return octet === LF || octet === CR
}

function readFile(source: string | Uint8Array, truncated: boolean): RobotsFile {
  const { length, cut } = load(source, truncated)
  return new Reader(length, cut).file()
}

/** The forms that almost every line has: right spelling, colon at once. */
const USER_AGENT = /* @__PURE__ */ octetsOf('user-agent:')
const DISALLOW = /* @__PURE__ */ octetsOf('disallow:')
const ALLOW = /* @__PURE__ */ octetsOf('allow:')

class Reader {
  readonly #length: number
  #line = 0
  #rules = 0
  #used = 0
  #encoded = false
  #full = false
  #names = 0
  #nameOctets = 0
  /** Blocks begun so far; the last is where rules go. While it is open, user-agent lines still join it. */
  #blocks = 0
  #open = false
  /** First name that the next crawl-delay binds. */
  #delayFrom = 0
  #delayed = false
  #delays: Delay[] = []
  /** Does the block have a name that a crawler can have? */
  #reachable = false
  #blockLine = 0
  #sitemaps: string[] = []
  #records: ReadRecord[] = []
  readonly #warnings = new Warnings()

  constructor(length: number, cut: boolean) {
    this.#length = length
    let at = 0
    // A byte order mark, also a part of one, at the very start (google/robotstxt).
    if (input[0] === 0xef && length > 0)
      at = input[1] === 0xbb && length > 1 ? (input[2] === 0xbf && length > 2 ? 3 : 2) : 1
    warnOfContent(this.#warnings, input, at, length)
    this.#lines(at)
    this.#endBlock()
    if (cut) {
      const text = `only ${ROBOTS_MAX_BYTES} octets are read`
      this.#warnings.add(this.#line + 1, 'over-limit', text)
    }
  }

  file(): RobotsFile {
    const rules = this.#rules
    const entries = rules + this.#names
    const blocks = this.#blocks
    const used = this.#used
    // One buffer holds it all: a parsed file is a handful of objects, however many groups it has.
    const numbers = 2 * entries + 1 + 2 * blocks + 2
    const room = new ArrayBuffer(4 * numbers + used + this.#nameOctets)
    const all = new Int32Array(room, 0, numbers)
    const octets = new Uint8Array(room, 4 * numbers)
    all.set(marks.subarray(0, 2 * rules))
    all.set(nameMarks.subarray(0, 2 * this.#names), 2 * rules)
    for (let n = rules; n < entries; n++) all[2 * n] = (all[2 * n] as number) + used
    all[2 * entries] = used + this.#nameOctets
    all.set(starts.subarray(0, 2 * blocks), 2 * entries + 1)
    all[numbers - 2] = this.#names
    all[numbers - 1] = rules
    octets.set(patterns.subarray(0, used))
    octets.set(names.subarray(0, this.#nameOctets), used)
    return {
      octets,
      marks: all,
      rules,
      names: this.#names,
      startsAt: 2 * entries + 1,
      blocks,
      encoded: this.#encoded,
      // Copies are as long as they are; what was pushed to has room for a dozen more.
      delays: this.#delays.slice(),
      sitemaps: this.#sitemaps.slice(),
      warnings: this.#warnings.close().slice(),
      records: this.#records.slice(),
    }
  }

  #lines(start: number): void {
    const length = this.#length
    let at = start
    input[length] = LF // so that no inner loop needs to look for the end
    while (at < length) {
      this.#line++
      const lineStart = at
      let octet = input[at] as number
      while (octet === SPACE || octet === TAB) octet = input[++at] as number
      const letter = octet | 32
      if (letter === 100 && standsAt(input, at, DISALLOW)) at = this.#rule(lineStart, at + 9, 0)
      else if (letter === 97 && standsAt(input, at, ALLOW)) at = this.#rule(lineStart, at + 6, 1)
      else {
        const fieldAt = at
        while (octet !== LF && octet !== CR) octet = input[++at] as number
        if (fieldAt < at && input[fieldAt] !== HASH) this.#otherLine(lineStart, fieldAt, at)
      }
      if (at - lineStart > MAX_LINE_OCTETS)
        this.#warnings.add(this.#line, 'line-too-long', `only ${MAX_LINE_OCTETS} octets of a line are read`)
      // CR LF is one line end; LF CR is two, the second of an empty line.
      at += input[at] === CR && input[at + 1] === LF && at + 1 < length ? 2 : 1
    }
    // What is counted is line ends, as editors do: after a final one there is one more, empty line.
  }

  /** A rule whose value starts at `at`. Copies it while looking for its end; returns the index of the line end. */
  #rule(lineStart: number, at: number, allows: 0 | 1): number {
    let octet = input[at] as number
    while (octet === SPACE || octet === TAB) octet = input[++at] as number
    const start = this.#used
    let used = start
    for (;;) {
      if (octet > PERCENT && octet < 0x80) patterns[used++] = octet
      else {
        if (octet === LF || octet === CR || octet === HASH) break
        if (octet >= PERCENT) this.#encoded = true
        patterns[used++] = octet
      }
      octet = input[++at] as number
    }
    if (at - lineStart > MAX_LINE_OCTETS) used = Math.max(start, used - (at - lineStart - MAX_LINE_OCTETS))
    while (octet !== LF && octet !== CR) octet = input[++at] as number
    while (used > start && (patterns[used - 1] === SPACE || patterns[used - 1] === TAB)) used--
    this.#endRule(start, used, allows)
    return at
  }

  /** Keeps the pattern that stands in `patterns` [start, used), or drops it for one of the known reasons. */
  #endRule(start: number, used: number, allows: 0 | 1): void {
    if (this.#blocks === 0) {
      this.#warnings.add(this.#line, 'rule-before-group', 'no user-agent line above')
      return
    }
    this.#open = false
    if (used === start) return // an empty pattern matches nothing, but it ends the run of user-agent lines
    const rule = this.#rules
    if (rule === MAX_RULES) {
      if (!this.#full) this.#warnings.add(this.#line, 'too-many-rules', `only ${MAX_RULES} rules are read`)
      this.#full = true
      return
    }
    if (patterns[start] !== SLASH && patterns[start] !== STAR)
      this.#warnings.add(
        this.#line,
        'pattern-without-slash',
        () => `${quote(patterns, start, used)} has no '/' in front`,
      )
    if (2 * rule + 2 > marks.length) marks = grown(marks)
    marks[2 * rule] = start
    marks[2 * rule + 1] = this.#line * 2 + allows
    this.#rules = rule + 1
    this.#used = used
  }

  /** A line that is no rule in the usual form: [start, end) without its leading blanks. */
  #otherLine(lineStart: number, start: number, end: number): void {
    const stop = Math.min(end, lineStart + MAX_LINE_OCTETS)
    if (standsAt(input, start, USER_AGENT) && start + USER_AGENT.length <= stop)
      this.#agent(start + USER_AGENT.length, stop)
    else this.#oddLine(lineStart, start, stop)
  }

  /** Any line, by the letter of google/robotstxt: comment cut, blanks trimmed, a colon or exactly two words. */
  #oddLine(lineStart: number, start: number, end: number): void {
    let stop = start
    let colon = -1
    for (; stop < end && input[stop] !== HASH; stop++) if (colon < 0 && input[stop] === COLON) colon = stop
    while (stop > start && isBlank(input[stop - 1])) stop--
    if (stop === start) return
    const spaced = colon < 0
    if (spaced) {
      colon = start
      while (colon < stop && !isBlank(input[colon])) colon++
    }
    let nameEnd = colon
    while (nameEnd > start && isBlank(input[nameEnd - 1])) nameEnd--
    if (nameEnd === start) return
    const { field, right } = fieldAt(input, start, nameEnd)
    let valueAt = spaced ? colon : colon + 1
    while (valueAt < stop && isBlank(input[valueAt])) valueAt++
    if (spaced) {
      let words = valueAt < stop ? 2 : 1
      for (let i = valueAt; i < stop && words < 3; i++) if (isBlank(input[i])) words = 3
      if (words !== 2 || field === 'unknown') {
        this.#warnings.add(this.#line, 'not-a-record', () => `no colon in ${quote(input, start, stop)}`)
        return
      }
      this.#warnings.add(this.#line, 'missing-colon', `read as '${field}:'`)
    }
    if (!right)
      this.#warnings.add(this.#line, 'misspelt-field', () => `${quote(input, start, nameEnd)} is read as '${field}'`)
    this.#record(field, lineStart, start, nameEnd, valueAt, stop)
  }

  #record(field: Field, lineStart: number, nameAt: number, nameEnd: number, start: number, end: number): void {
    switch (field) {
      case 'user-agent':
        this.#agent(start, end)
        return
      case 'allow':
      case 'disallow':
        this.#rule(lineStart, start, field === 'allow' ? 1 : 0)
        return
      case 'crawl-delay':
        this.#delay(textOf(input, start, end))
        return
      case 'sitemap': {
        const url = textOf(input, start, end)
        if (isSitemapUrl(url)) this.#sitemaps.push(url)
        else this.#warnings.add(this.#line, 'sitemap-unusable', () => `${quote(input, start, end)} is not http(s)`)
        return
      }
      case 'other':
        if (this.#records.length < MAX_RECORDS)
          this.#records.push({
            field: textOf(input, nameAt, nameEnd).toLowerCase(),
            value: textOf(input, start, end),
            line: this.#line,
            block: this.#blocks - 1,
          })
        return
      case 'unknown':
        this.#warnings.add(this.#line, 'unknown-field', () => `${quote(input, nameAt, nameEnd)} is not acted on`)
        return
      default:
        field satisfies never
    }
  }

  /** A user-agent line with the value [start, end), which may still hold blanks and a comment. */
  #agent(start: number, end: number): void {
    while (start < end && isBlank(input[start])) start++
    let stop = start
    while (stop < end && input[stop] !== HASH) stop++
    while (stop > start && isBlank(input[stop - 1])) stop--
    let letters = start
    while (letters < stop && isTokenOctet(input[letters] as number)) letters++
    if (letters < stop || letters === start) this.#warnOfName(start, letters, stop)

    if (this.#blocks === 0 || !this.#open) {
      this.#endBlock()
      this.#reachable = false
      this.#blockLine = this.#line
      if (2 * this.#blocks + 2 > starts.length) starts = grown(starts)
      starts[2 * this.#blocks] = this.#names
      starts[2 * this.#blocks + 1] = this.#rules
      this.#blocks++
      this.#open = true
      this.#delayFrom = this.#names
      this.#delayed = false
    } else if (this.#delayed) {
      // A delay closed the lines above itself, for delays only.
      this.#delayFrom = this.#names
      this.#delayed = false
    }
    const everybody = stop > start && input[start] === STAR && (stop === start + 1 || isBlank(input[start + 1]))
    if (letters > start || everybody) this.#reachable = true
    if (2 * this.#names + 2 > nameMarks.length) nameMarks = grown(nameMarks)
    nameMarks[2 * this.#names] = this.#nameOctets
    nameMarks[2 * this.#names + 1] = this.#line
    this.#names++
    let used = this.#nameOctets
    for (let i = start; i < stop; i++) names[used++] = input[i] as number
    this.#nameOctets = used
  }

  /** A block whose every name is unusable binds nobody, and its owner will not have meant that. */
  #endBlock(): void {
    if (this.#blocks > 0 && !this.#reachable)
      this.#warnings.add(this.#blockLine, 'unreachable-group', 'nobody has such a name')
  }

  /** A user-agent line that is not a bare token: [start, letters) of [start, stop) is the token. */
  #warnOfName(start: number, letters: number, stop: number): void {
    const everybody = input[start] === STAR && stop > start
    if (everybody && stop === start + 1) return
    if (letters > start || (everybody && isBlank(input[start + 1])))
      this.#warnings.add(
        this.#line,
        'agent-with-extra',
        () => `of ${quote(input, start, stop)} only ${quote(input, start, Math.max(letters, start + 1))} counts`,
      )
    else this.#warnings.add(this.#line, 'agent-without-name', () => `${quote(input, start, stop)} is no name`)
  }

  #delay(text: string): void {
    if (this.#blocks === 0) {
      this.#warnings.add(this.#line, 'delay-before-group', 'no user-agent line above')
      return
    }
    const seconds = delaySeconds(text)
    if (seconds === undefined) {
      this.#warnings.add(this.#line, 'crawl-delay-unusable', () => `${JSON.stringify(text.slice(0, 60))} is no number`)
      return
    }
    this.#delayed = true
    const delay: Delay = { seconds, line: this.#line, written: text, from: this.#delayFrom, upTo: this.#names }
    const last = this.#delays.at(-1)
    // Several for the same names: the largest counts (slower, never ruder).
    if (last?.from !== delay.from || last.upTo !== delay.upTo) this.#delays.push(delay)
    else if (last.seconds < seconds) this.#delays[this.#delays.length - 1] = delay
  }
}

function isBlank(octet: number | undefined): boolean {
  return octet === SPACE || octet === TAB
}
