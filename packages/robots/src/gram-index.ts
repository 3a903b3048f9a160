/**
 * Patterns with a wildcard, by the rarest pair of neighbouring octets in them.
 *
 * Whatever a star stands for, the literal octets of a pattern stand in the path as they stand in the pattern. So each
 * pattern is filed under one pair of them, the one that fewest patterns hold, and a path looks only into the files of the
 * pairs that it holds: of 17,000 patterns a few dozen, mostly none. A second pair is asked for before the pattern is
 * tried. Patterns that hold no pair at all (`/*a*b`) are tried always.
 *
 * The table holds four numbers of 16 bits per pattern, file by file: the rule, with FOLDER beside it; its weight; its two
 * pairs.
 */

import { matchesPattern } from './match.ts'
import type { Path } from './path.ts'
import { folderEnd, matchesFolder, type Patterns } from './patterns.ts'
import { type Best, beatsAtEqualWeight } from './precedence.ts'
import { sortedBy } from './sorted-by.ts'

// Of this module: an imported constant is looked up at each use, which costs these loops a quarter of their time.
const DOLLAR = 36
const STAR = 42

/** What is filed is the folder of the rule's `…/index.html`, not its pattern (google). */
const FOLDER = 0x8000
const RULE = 0x7fff
const STRIDE = 4

/** Pairs are told apart by 12 bits: rarely two share a number, and then a pattern is tried in vain. */
const PAIRS = 4096
const NO_PAIR = 0xffff

/** Which pairs the path at hand holds: those with the current stamp. Nothing is ever cleared. */
const stamps = /* @__PURE__ */ new Uint32Array(PAIRS)
let stamp = 0
/** The same as a list, each once. */
const held = /* @__PURE__ */ new Uint16Array(PAIRS)

/** How many patterns hold a pair; zero between two builds. */
const holders = /* @__PURE__ */ new Uint16Array(PAIRS)

function pairOf(a: number, b: number): number {
  return ((a << 5) ^ b) & (PAIRS - 1)
}

export class GramIndex {
  readonly #patterns: Patterns
  #rules: number[] = []
  #weights: number[] = []
  #table: Uint16Array = NOTHING
  /** File f: entries [files[f], files[f+1]); the last file is of those without a pair. */
  #files: Uint16Array = NOTHING
  #mask = 0

  constructor(patterns: Patterns) {
    this.#patterns = patterns
  }

  add(rule: number, weight: number, isFolder: boolean): void {
    this.#rules.push(isFolder ? rule | FOLDER : rule)
    this.#weights.push(weight)
  }

  /** Files what was added. Cost: two passes over the patterns and a sort of numbers. */
  build(): void {
    const { octets } = this.#patterns
    const count = this.#rules.length
    for (let i = 0; i < count; i++) {
      const end = this.#endOf(i)
      for (let at = this.#startOf(i) + 1; at < end; at++) {
        if (octets[at - 1] === STAR || octets[at] === STAR) continue
        const pair = pairOf(octets[at - 1] as number, octets[at] as number)
        ;(holders[pair] as number)++
      }
    }
    let size = 1
    while (size < count && size < PAIRS) size *= 2
    this.#mask = size - 1
    const first = new Uint16Array(count)
    const second = new Uint16Array(count)
    const file = new Uint16Array(count)
    for (let i = 0; i < count; i++) {
      this.#choosePairs(i, first, second)
      file[i] = first[i] === NO_PAIR ? size : (first[i] as number) & this.#mask
    }
    holders.fill(0)
    const order = sortedBy(file, size + 1)
    const files = new Uint16Array(size + 2)
    const table = new Uint16Array(count * STRIDE)
    for (let i = 0; i < count; i++) {
      const entry = order[i] as number
      table[i * STRIDE] = this.#rules[entry] as number
      table[i * STRIDE + 1] = this.#weights[entry] as number
      table[i * STRIDE + 2] = first[entry] as number
      table[i * STRIDE + 3] = second[entry] as number
      files[(file[entry] as number) + 1] = i + 1
    }
    // A file without entries ends where the one before it does.
    for (let f = 1; f < files.length; f++) files[f] = Math.max(files[f] as number, files[f - 1] as number)
    this.#files = files
    this.#table = table
    this.#rules = []
    this.#weights = []
  }

  /** The two pairs of an entry that fewest entries hold. */
  #choosePairs(entry: number, first: Uint16Array, second: Uint16Array): void {
    const { octets } = this.#patterns
    const end = this.#endOf(entry)
    let rarest = NO_PAIR
    let next = NO_PAIR
    let fewest = Infinity
    let nextFewest = Infinity
    for (let at = this.#startOf(entry) + 1; at < end; at++) {
      if (octets[at - 1] === STAR || octets[at] === STAR) continue
      const pair = pairOf(octets[at - 1] as number, octets[at] as number)
      const count = holders[pair] as number
      if (count >= nextFewest || pair === rarest) continue
      if (count < fewest) {
        next = rarest
        nextFewest = fewest
        rarest = pair
        fewest = count
      } else {
        next = pair
        nextFewest = count
      }
    }
    first[entry] = rarest
    second[entry] = next
  }

  #startOf(entry: number): number {
    return this.#patterns.marks[2 * ((this.#rules[entry] as number) & RULE)] as number
  }

  /** Behind the last literal octet: an end anchor is none. */
  #endOf(entry: number): number {
    const { octets, marks } = this.#patterns
    const flagged = this.#rules[entry] as number
    const rule = flagged & RULE
    if ((flagged & FOLDER) !== 0) return folderEnd(this.#patterns, rule)
    const end = marks[2 * rule + 2] as number
    return octets[end - 1] === DOLLAR ? end - 1 : end
  }

  /** Puts the pattern that wins for this path into `best`, if one beats what is there. */
  search(path: Path, best: Best): void {
    if (this.#table.length === 0) return
    const files = this.#files
    const { octets, length } = path
    stamp++
    let count = 0
    let before = octets[0] as number
    for (let at = 1; at < length; at++) {
      const octet = octets[at] as number
      const pair = pairOf(before, octet)
      before = octet
      if (stamps[pair] === stamp) continue
      stamps[pair] = stamp
      held[count++] = pair
    }
    for (let i = 0; i < count; i++) {
      const pair = held[i] as number
      const file = pair & this.#mask
      const from = files[file] as number
      const upTo = files[file + 1] as number
      if (from !== upTo) this.#searchFile(from, upTo, pair, path, best)
    }
    const from = files[this.#mask + 1] as number
    const upTo = files[this.#mask + 2] as number
    if (from !== upTo) this.#searchFile(from, upTo, NO_PAIR, path, best)
  }

  #searchFile(from: number, upTo: number, pair: number, path: Path, best: Best): void {
    const table = this.#table
    const { octets, marks } = this.#patterns
    for (let at = from * STRIDE; at < upTo * STRIDE; at += STRIDE) {
      const weight = table[at + 1] as number
      if (weight < best.weight || table[at + 2] !== pair) continue // lighter, or of a pair that shares the file
      const second = table[at + 3] as number
      if (second !== NO_PAIR && stamps[second] !== stamp) continue
      const flagged = table[at] as number
      const rule = flagged & RULE
      if (weight === best.weight && !beatsAtEqualWeight(this.#patterns, rule, best.rule)) continue
      const start = marks[2 * rule] as number
      const matches =
        (flagged & FOLDER) === 0
          ? matchesPattern(octets, start, marks[2 * rule + 2] as number, path)
          : matchesFolder(octets, start, folderEnd(this.#patterns, rule), path)
      if (!matches) continue
      best.rule = rule
      best.weight = weight
    }
  }
}

const NOTHING = /* @__PURE__ */ new Uint16Array(0)
