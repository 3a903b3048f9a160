/**
 * Where does a segment occur next? For paths and files that were written to make matching slow.
 *
 * A suffix automaton of the path: each of its states stands for all substrings that end at the same set of places. A
 * segment is walked in as many steps as it has octets, however often it occurs; the next place after a given one is then
 * read from the ends of its first and last occurrence, or from a bitmap of all its ends. So a pattern costs
 * O(its octets), whatever the path; 500 KiB of patterns against 2 KB of path stay within a few milliseconds, where a
 * plain search takes seconds. Ordinary files never get here: `match.ts` searches plainly until a budget is spent.
 */

import { sortedBy } from './sorted-by.ts'

const ROOT = 1

/** Longer paths would need more room than a verdict is worth (states × bitmap); they are searched plainly. */
export const MAX_INDEXED_PATH = 8_192

export class Occurrences {
  readonly #symbols: number
  readonly #symbolOf = new Uint8Array(256)
  /** state × symbol → state, 0 for none. */
  readonly #next: Uint16Array
  readonly #firstEnd: Int32Array
  readonly #lastEnd: Int32Array
  /**
   * Per state a bitmap of its ends, in two levels: bit w of the first words says whether word w of the others is not 0.
   */
  readonly #bits: Int32Array
  readonly #summaries: number
  readonly #stride: number

  constructor(path: Uint8Array, length: number) {
    let symbols = 1
    for (let at = 0; at < length; at++) {
      const octet = path[at] as number
      if (this.#symbolOf[octet] === 0) this.#symbolOf[octet] = symbols++
    }
    this.#symbols = symbols
    const most = 2 * length + 2
    const next = new Uint16Array(most * symbols)
    const link = new Int32Array(most)
    const size = new Int32Array(most)
    const firstEnd = new Int32Array(most)
    const own = new Int32Array(most) // the end that a state brings itself; 0 for a clone
    let states = ROOT + 1
    let last = ROOT
    for (let at = 0; at < length; at++) {
      const symbol = this.#symbolOf[path[at] as number] as number
      const state = states++
      size[state] = at + 1
      firstEnd[state] = at + 1
      own[state] = at + 1
      let from = last
      for (; from !== 0 && next[from * symbols + symbol] === 0; from = link[from] as number)
        next[from * symbols + symbol] = state
      if (from === 0) link[state] = ROOT
      else {
        const target = next[from * symbols + symbol] as number
        if (size[target] === (size[from] as number) + 1) link[state] = target
        else {
          const clone = states++
          size[clone] = (size[from] as number) + 1
          next.copyWithin(clone * symbols, target * symbols, (target + 1) * symbols)
          link[clone] = link[target] as number
          firstEnd[clone] = firstEnd[target] as number
          for (; from !== 0 && next[from * symbols + symbol] === target; from = link[from] as number)
            next[from * symbols + symbol] = clone
          link[target] = clone
          link[state] = clone
        }
      }
      last = state
    }
    this.#next = next
    this.#firstEnd = firstEnd

    const words = (length >> 5) + 1
    const summaries = (words >> 5) + 1
    const stride = summaries + words
    const bits = new Int32Array(states * stride)
    const lastEnd = new Int32Array(states)
    // The largest first: each hands its ends up to its link, which is smaller.
    for (const state of sortedBy(
      Uint16Array.from(size.subarray(0, states), (each) => length - each),
      length + 1,
    )) {
      const end = own[state] as number
      if (end > 0) {
        set(bits, state * stride, end >> 10, end >> 5)
        set(bits, state * stride + summaries, end >> 5, end)
        lastEnd[state] = Math.max(lastEnd[state] as number, end)
      }
      const up = link[state] as number
      lastEnd[up] = Math.max(lastEnd[up] as number, lastEnd[state] as number)
      for (let i = 0; i < stride; i++)
        bits[up * stride + i] = (bits[up * stride + i] as number) | (bits[state * stride + i] as number)
    }
    this.#lastEnd = lastEnd
    this.#bits = bits
    this.#summaries = summaries
    this.#stride = stride
  }

  /**
   * The end of the first occurrence of a segment that starts at `at` or later.
   * @returns the index behind it, or -1 when there is none
   */
  endOfNext(octets: Uint8Array, start: number, end: number, at: number): number {
    const symbols = this.#symbols
    let state = ROOT
    for (let i = start; i < end; i++) {
      const symbol = this.#symbolOf[octets[i] as number] as number
      if (symbol === 0) return -1
      state = this.#next[state * symbols + symbol] as number
      if (state === 0) return -1
    }
    const least = at + end - start
    const first = this.#firstEnd[state] as number
    if (first >= least) return first
    if ((this.#lastEnd[state] as number) < least) return -1
    return this.#endFrom(state, least)
  }

  /** The least end of a state that is not below `least`; the caller knows that there is one. */
  #endFrom(state: number, least: number): number {
    const bits = this.#bits
    const base = state * this.#stride
    let word = least >> 5
    let found = (bits[base + this.#summaries + word] as number) & (-1 << (least & 31))
    if (found === 0) {
      word++
      let summary = word >> 5
      let any = (bits[base + summary] as number) & (-1 << (word & 31))
      while (any === 0) any = bits[base + ++summary] as number
      word = (summary << 5) + lowestBit(any)
      found = bits[base + this.#summaries + word] as number
    }
    return (word << 5) + lowestBit(found)
  }
}

/** Sets bit `bit & 31` of a word. */
function set(bits: Int32Array, base: number, word: number, bit: number): void {
  bits[base + word] = (bits[base + word] as number) | (1 << (bit & 31))
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}
