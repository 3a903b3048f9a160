/** Lines → a file: runs of user-agent lines with their rules, and what else was found (RFC 9309 §2.1, §2.2). */
import { delaySeconds } from './fields.ts'
import { MAX_RECORDS, MAX_RULES, MAX_WARNINGS } from './limits.ts'
import type { Grammar } from './line.ts'
import { textOf } from './octets.ts'
import { type Delay, NOTE, type ReadRecord, type RobotsFile } from './robots-file.ts'
import { MAX_NOTED, type NoteKind, numberOf } from './warnings.ts'

/** Room that every file uses again. */
let patterns = /* @__PURE__ */ new Uint8Array(0)
let marks = /* @__PURE__ */ new Int32Array(512)
let names = /* @__PURE__ */ new Uint8Array(0)
let nameMarks = /* @__PURE__ */ new Int32Array(64)
let starts = /* @__PURE__ */ new Int32Array(64)
let sitemapMarks = /* @__PURE__ */ new Int32Array(64)
const noteMarks = /* @__PURE__ */ new Int32Array(NOTE * MAX_WARNINGS)

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
  /** Pieces of the input that are copied to the file's texts: [spans[2i], spans[2i+1]), and the one that still grows. */
  #spans: number[] | undefined
  #spanAt = 0
  #spanEnd = -1
  /** Where in the texts the growing piece begins. */
  #textAt = 0
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
  #sitemaps = 0
  #records: ReadRecord[] | undefined
  #notes = 0
  #noted = 0

  constructor(input: Uint8Array, length: number) {
    if (patterns.length < length) {
      patterns = new Uint8Array(input.length)
      names = new Uint8Array(input.length)
    }
    this.#input = input
    this.#length = length
    this.patterns = patterns
  }

  /** Was there a user-agent line? */
  get hasGroup(): boolean {
    return this.#blocks > 0
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
    const delay: Delay = { seconds, line, from: this.#delayFrom, upTo: this.#names, at, end: at + end - start }
    const last = this.#delays.at(-1)
    // Several for the same names: the largest counts (slower, never ruder).
    if (last?.from !== delay.from || last.upTo !== delay.upTo) this.#delays.push(delay)
    else if (last.seconds < seconds) this.#delays[this.#delays.length - 1] = delay
  }

  sitemap(start: number, end: number): void {
    const at = this.#keep(start, end)
    if (2 * this.#sitemaps + 2 > sitemapMarks.length) sitemapMarks = grown(sitemapMarks)
    sitemapMarks[2 * this.#sitemaps] = at
    sitemapMarks[2 * this.#sitemaps + 1] = at + end - start
    this.#sitemaps++
  }

  record(line: number, nameAt: number, nameEnd: number, valueAt: number, valueEnd: number): void {
    this.#records ??= []
    if (this.#records.length === MAX_RECORDS) return
    const at = this.#keep(nameAt, valueEnd)
    const by = at - nameAt
    this.#records.push({
      line,
      block: this.#blocks - 1,
      at,
      nameEnd: nameEnd + by,
      valueAt: valueAt + by,
      end: valueEnd + by,
    })
  }

  /**
   * Notes a warning about the octets [start, end) of the input, or about none.
   * @param about  a number that its text needs
   */
  note(line: number, kind: NoteKind, start = 0, end = 0, about = 0): void {
    if (this.#noted++ >= MAX_WARNINGS) return
    const stop = end - start > MAX_NOTED ? start + MAX_NOTED : end
    const at = start >= stop ? 0 : this.#keep(start, stop)
    const mark = NOTE * this.#notes++
    noteMarks[mark] = line
    noteMarks[mark + 1] = numberOf(kind)
    noteMarks[mark + 2] = at
    noteMarks[mark + 3] = at + Math.max(0, stop - start)
    noteMarks[mark + 4] = about
  }

  /**
   * Has the file keep a piece of the input; returns where it will stand in the texts. Pieces come in the order of the file.
   * Those that are close together are copied with what is between them: a list of thousands of sitemaps is one copy.
   */
  #keep(start: number, end: number): number {
    if (start > this.#spanEnd + MAX_BETWEEN || this.#spanEnd < 0) {
      if (this.#spanEnd >= 0) {
        this.#spans ??= []
        this.#spans.push(this.#spanAt, this.#spanEnd)
        this.#textAt += this.#spanEnd - this.#spanAt
      }
      this.#spanAt = start
      this.#spanEnd = end
    } else if (end > this.#spanEnd) this.#spanEnd = end
    return this.#textAt + start - this.#spanAt
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
    const textOctets = this.#spanEnd < 0 ? 0 : this.#textAt + this.#spanEnd - this.#spanAt
    // One buffer holds it all: a parsed file is a handful of objects, however many groups it has.
    const startsAt = 2 * entries + 1
    const sitemapsAt = startsAt + 2 * blocks + 2
    const notesAt = sitemapsAt + 2 * this.#sitemaps
    const numbers = notesAt + NOTE * this.#notes
    const { marks: all, octets } = newRoom(numbers, textsAt + textOctets)
    copyNumbers(marks, 2 * rules, all, 0)
    copyNumbers(nameMarks, 2 * this.#names, all, 2 * rules)
    for (let n = rules; n < entries; n++) all[2 * n] = (all[2 * n] as number) + namesAt
    all[2 * entries] = textsAt
    copyNumbers(starts, 2 * blocks, all, startsAt)
    all[sitemapsAt - 2] = this.#names
    all[sitemapsAt - 1] = rules
    copyNumbers(sitemapMarks, 2 * this.#sitemaps, all, sitemapsAt)
    copyNumbers(noteMarks, NOTE * this.#notes, all, notesAt)
    copyOctets(patterns, 0, namesAt, octets, 0)
    copyOctets(names, 0, this.#nameOctets, octets, namesAt)
    let at = textsAt
    const spans = this.#spans ?? NONE
    for (let i = 0; i < spans.length; i += 2)
      at = copyOctets(this.#input, spans[i] as number, spans[i + 1] as number, octets, at)
    if (textOctets > 0) copyOctets(this.#input, this.#spanAt, this.#spanEnd, octets, at)
    return {
      grammar,
      source: this.disputed ? this.#input.slice(0, this.#length) : undefined,
      octets,
      textsAt,
      marks: all,
      rules,
      names: this.#names,
      startsAt,
      blocks,
      encoded: this.encoded,
      delays: this.#delays ?? NONE,
      sitemapsAt,
      notesAt,
      noted: this.#noted,
      records: this.#records ?? NONE,
    }
  }
}

/** So many octets between two pieces are copied along rather than left out: a line end and the name of a field. */
const MAX_BETWEEN = 16

/**
 * Small files share a slab of this many octets, since an ArrayBuffer of its own takes longer to make than such a file to
 * read. A file that is kept keeps its whole slab, which is about what other parsers hold for a file.
 */
const SLAB = 4_096
const SMALL = 1_024

let slab = /* @__PURE__ */ new ArrayBuffer(0)
let slabUsed = 0

function newRoom(numbers: number, octets: number): { marks: Int32Array; octets: Uint8Array } {
  const size = 4 * numbers + octets
  let buffer = slab
  let at = slabUsed
  if (size > SMALL) {
    buffer = new ArrayBuffer(size)
    at = 0
  } else {
    if (at + size > buffer.byteLength) {
      buffer = slab = new ArrayBuffer(SLAB)
      at = 0
    }
    slabUsed = (at + size + 3) & ~3
  }
  return { marks: new Int32Array(buffer, at, numbers), octets: new Uint8Array(buffer, at + 4 * numbers, octets) }
}

/** Up to here a loop copies faster than a native call with the view that it needs. */
const FEW = 96

/** Returns the place behind the copy. */
function copyOctets(from: Uint8Array, start: number, end: number, to: Uint8Array, at: number): number {
  const after = at + end - start
  if (end - start > FEW) to.set(from.subarray(start, end), at)
  else for (; at < after; at++) to[at] = from[start++] as number
  return after
}

function copyNumbers(from: Int32Array, count: number, to: Int32Array, at: number): void {
  if (count > FEW) to.set(from.subarray(0, count), at)
  else for (let i = 0; i < count; i++) to[at++] = from[i] as number
}
