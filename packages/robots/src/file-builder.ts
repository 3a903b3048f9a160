/** Lines → a file: runs of user-agent lines with their rules, and what else was found (RFC 9309 §2.1, §2.2). */
import { delaySeconds } from './fields.ts'
import { MAX_RECORDS, MAX_RULES, MAX_WARNINGS } from './limits.ts'
import type { Grammar } from './line.ts'
import { textOf } from './octets.ts'
import type { Delay, ReadRecord, RobotsFile } from './robots-file.ts'
import { MAX_NOTED, type Note } from './warnings.ts'

/** Room that every file uses again. */
let patterns = /* @__PURE__ */ new Uint8Array(0)
let marks = /* @__PURE__ */ new Int32Array(512)
let names = /* @__PURE__ */ new Uint8Array(0)
let nameMarks = /* @__PURE__ */ new Int32Array(64)
let starts = /* @__PURE__ */ new Int32Array(64)
let texts = /* @__PURE__ */ new Uint8Array(0)

const NONE: readonly never[] = []

/** The same numbers with room for more. */
function grown(numbers: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const more = new Int32Array(numbers.length * 4)
  more.set(numbers)
  return more
}

export class FileBuilder {
  /** Patterns one behind the other. The reader writes the next one at `used` and then calls `rule`. */
  readonly patterns: Uint8Array
  used = 0
  /** Some pattern holds '%' or an octet outside ASCII. */
  encoded = false
  /** Some line is read differently by the other grammar. */
  disputed = false
  readonly #input: Uint8Array
  readonly #length: number
  #rules = 0
  #full = false
  #names = 0
  #nameOctets = 0
  #textOctets = 0
  /** Blocks begun so far; the last is where rules go. While it is open, user-agent lines still join it. */
  #blocks = 0
  #open = false
  /** Which empty rules the block has: 1 a disallow, 2 an allow. The first of each is kept, for it may be reported. */
  #empty = 0
  /** First name that the next crawl-delay binds. */
  #delayFrom = 0
  #delayed = false
  /** Does the block have a name that a crawler can have? */
  #reachable = true
  #blockLine = 0
  #delays: Delay[] | undefined
  #sitemaps: number[] | undefined
  #records: ReadRecord[] | undefined
  #notes: Note[] | undefined
  #noted = 0

  constructor(input: Uint8Array, length: number) {
    if (patterns.length < length) {
      patterns = new Uint8Array(input.length)
      names = new Uint8Array(input.length)
      texts = new Uint8Array(input.length + MAX_WARNINGS * MAX_NOTED)
    }
    this.#input = input
    this.#length = length
    this.patterns = patterns
  }

  /** A user-agent line with the value [start, end), of which the first `letters` are its token. */
  agent(line: number, start: number, end: number, reachable: boolean): void {
    if (!this.#open) {
      this.#endBlock()
      this.#reachable = false
      this.#blockLine = line
      if (2 * this.#blocks + 2 > starts.length) starts = grown(starts)
      starts[2 * this.#blocks] = this.#names
      starts[2 * this.#blocks + 1] = this.#rules
      this.#blocks++
      this.#open = true
      this.#empty = 0
      this.#delayFrom = this.#names
      this.#delayed = false
    } else if (this.#delayed) {
      // A delay closed the lines above itself, for delays only.
      this.#delayFrom = this.#names
      this.#delayed = false
    }
    if (reachable) this.#reachable = true
    if (2 * this.#names + 2 > nameMarks.length) nameMarks = grown(nameMarks)
    nameMarks[2 * this.#names] = this.#nameOctets
    nameMarks[2 * this.#names + 1] = line
    this.#names++
    const input = this.#input
    const room = names
    let used = this.#nameOctets
    for (let at = start; at < end; at++) room[used++] = input[at] as number
    this.#nameOctets = used
  }

  /**
   * A rule whose pattern stands in `patterns` [used, end). Only rules end a run of user-agent lines.
   * @returns  was it kept?
   */
  rule(line: number, end: number, allows: 0 | 1): boolean {
    if (this.#blocks === 0) {
      this.note(line, 'rule-before-group')
      return false
    }
    this.#open = false
    if (end === this.used) {
      // An empty pattern matches nothing; it is kept to be reported when nothing else decides.
      if ((this.#empty & (1 + allows)) !== 0) return false
      this.#empty |= 1 + allows
    }
    const rule = this.#rules
    if (rule === MAX_RULES) {
      if (!this.#full) this.note(line, 'too-many-rules', 0, 0, MAX_RULES)
      this.#full = true
      return false
    }
    if (2 * rule + 2 > marks.length) marks = grown(marks)
    marks[2 * rule] = this.used
    marks[2 * rule + 1] = line * 2 + allows
    this.#rules = rule + 1
    this.used = end
    return true
  }

  delay(line: number, start: number, end: number): void {
    if (this.#blocks === 0) {
      this.note(line, 'delay-before-group')
      return
    }
    const seconds = delaySeconds(textOf(this.#input, start, end))
    if (seconds === undefined) {
      this.note(line, 'crawl-delay-unusable', start, end)
      return
    }
    this.#delayed = true
    this.#delays ??= []
    const at = this.#keep(start, end)
    const delay: Delay = { seconds, line, from: this.#delayFrom, upTo: this.#names, at, end: this.#textOctets }
    const last = this.#delays.at(-1)
    // Several for the same names: the largest counts (slower, never ruder).
    if (last?.from !== delay.from || last.upTo !== delay.upTo) this.#delays.push(delay)
    else if (last.seconds < seconds) this.#delays[this.#delays.length - 1] = delay
  }

  sitemap(start: number, end: number): void {
    this.#sitemaps ??= []
    this.#sitemaps.push(start, end)
  }

  record(line: number, nameAt: number, nameEnd: number, valueAt: number, valueEnd: number): void {
    this.#records ??= []
    if (this.#records.length === MAX_RECORDS) return
    const at = this.#keep(nameAt, nameEnd)
    const named = this.#keep(valueAt, valueEnd)
    this.#records.push({ line, block: this.#blocks - 1, at, nameEnd: named, end: this.#textOctets })
  }

  /** Notes a warning about the octets [start, end) of the input, or about none. */
  note(line: number, kind: Note['kind'], start = 0, end = 0, about: Note['about'] = 0): void {
    if (this.#noted++ >= MAX_WARNINGS) return
    const at = this.#keep(start, end - start > MAX_NOTED ? start + MAX_NOTED : end)
    this.#notes ??= []
    this.#notes.push({ line, kind, at, end: this.#textOctets, about })
  }

  /** Copies a piece of the input to the texts; returns where it stands there. */
  #keep(start: number, end: number): number {
    const input = this.#input
    const room = texts
    const at = this.#textOctets
    let used = at
    while (start < end) room[used++] = input[start++] as number
    this.#textOctets = used
    return at
  }

  /** A block whose every name is unusable binds nobody, and its owner will not have meant that. */
  #endBlock(): void {
    if (!this.#reachable) this.note(this.#blockLine, 'unreachable-group')
  }

  file(grammar: Grammar): RobotsFile {
    this.#endBlock()
    const rules = this.#rules
    const entries = rules + this.#names
    const blocks = this.#blocks
    const namesAt = this.used
    const textsAt = namesAt + this.#nameOctets
    const sitemapsAt = textsAt + this.#textOctets
    const { spans, octets: sitemapOctets, moved } = this.#sitemapSpans(sitemapsAt)
    // One buffer holds it all: a parsed file is a handful of objects, however many groups it has.
    const numbers = 2 * entries + 1 + 2 * blocks + 2
    const room = new ArrayBuffer(4 * numbers + sitemapsAt + sitemapOctets)
    const all = new Int32Array(room, 0, numbers)
    const octets = new Uint8Array(room, 4 * numbers)
    copyNumbers(marks, 2 * rules, all, 0)
    copyNumbers(nameMarks, 2 * this.#names, all, 2 * rules)
    for (let n = rules; n < entries; n++) all[2 * n] = (all[2 * n] as number) + namesAt
    all[2 * entries] = textsAt
    copyNumbers(starts, 2 * blocks, all, 2 * entries + 1)
    all[numbers - 2] = this.#names
    all[numbers - 1] = rules
    copyOctets(patterns, 0, namesAt, octets, 0)
    copyOctets(names, 0, this.#nameOctets, octets, namesAt)
    copyOctets(texts, 0, this.#textOctets, octets, textsAt)
    let at = sitemapsAt
    for (let i = 0; i < spans.length; i += 2) {
      copyOctets(this.#input, spans[i] as number, spans[i + 1] as number, octets, at)
      at += (spans[i + 1] as number) - (spans[i] as number)
    }
    return {
      grammar,
      source: this.disputed ? this.#input.slice(0, this.#length) : undefined,
      octets,
      textsAt,
      marks: all,
      rules,
      names: this.#names,
      startsAt: 2 * entries + 1,
      blocks,
      encoded: this.encoded,
      delays: this.#delays ?? NONE,
      sitemaps: moved,
      notes: this.#notes ?? NONE,
      noted: this.#noted,
      records: this.#records ?? NONE,
    }
  }

  /**
   * Sitemaps that stand close together are copied with what is between them: a list of thousands is one copy.
   * `moved` are their places in the file's octets, where they begin at `at`.
   */
  #sitemapSpans(at: number): { spans: readonly number[]; octets: number; moved: readonly number[] } {
    const found = this.#sitemaps
    if (found === undefined) return NO_SITEMAPS
    const spans: number[] = []
    const moved: number[] = []
    let octets = 0
    let spanAt = 0
    let spanEnd = -1
    for (let i = 0; i < found.length; i += 2) {
      const start = found[i] as number
      const end = found[i + 1] as number
      if (spanEnd >= 0 && start - spanEnd <= MAX_BETWEEN) octets += end - spanEnd
      else {
        if (spanEnd >= 0) spans.push(spanAt, spanEnd)
        spanAt = start
        octets += end - start
      }
      spanEnd = end
      moved.push(at + octets - (end - start), at + octets)
    }
    spans.push(spanAt, spanEnd)
    return { spans, octets, moved }
  }
}

const NO_SITEMAPS = { spans: NONE, octets: 0, moved: NONE }

/** Octets between two sitemaps that are copied along rather than left out: a line end and the name of the field. */
const MAX_BETWEEN = 16

/** Up to here a loop copies faster than a native call with the view that it needs. */
const FEW = 96

function copyOctets(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): void {
  if (end - start > FEW) to.set(from.subarray(start, end), at)
  else for (let i = start; i < end; i++) to[at++] = from[i] as number
}

function copyNumbers(from: Int32Array, count: number, to: Int32Array, at: number): void {
  if (count > FEW) to.set(from.subarray(0, count), at)
  else for (let i = 0; i < count; i++) to[at++] = from[i] as number
}
