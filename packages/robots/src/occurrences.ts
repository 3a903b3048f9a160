/**
 * Where does a segment occur next? For paths and files that were written to make matching slow.
 *
 * A suffix automaton of the path: each of its states stands for all substrings that end at the same set of places. A
 * segment is walked in as many steps as it has octets, however often it occurs; the next place after a given one is then
 * read from the ends of its first and last occurrence, or from a bitmap that is made once per state. So a pattern costs
 * O(its octets), whatever the path; 500 KiB of patterns against 2 KB of path stay within a few milliseconds, where a
 * plain search takes seconds. Ordinary files never get here: `match.ts` searches plainly until a budget is spent.
 */

const ROOT = 1

/** Longer paths would need more room than a verdict is worth (states × alphabet); they are searched plainly. */
export const MAX_INDEXED_PATH = 16_384

export class Occurrences {
  readonly #symbols: number
  readonly #symbolOf = new Uint8Array(256)
  /** state × symbol → state, 0 for none. */
  readonly #next: Uint16Array
  readonly #firstEnd: Int32Array
  readonly #lastEnd: Int32Array
  /** Per state: where its ends start in #ends, and how many there are. */
  readonly #from: Int32Array
  readonly #count: Int32Array
  readonly #ends: Int32Array
  /** Per state: where its bitmap starts in #bits, 0 for none yet. */
  readonly #bitmap: Int32Array
  readonly #words: number
  #bits: Int32Array
  #bitsUsed = 1

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

    // States by size, so that a state comes after its link: ends are counted upwards and dealt out downwards.
    const bySize = new Int32Array(length + 2)
    for (let state = ROOT; state < states; state++) (bySize[(size[state] as number) + 1] as number)++
    for (let at = 1; at < bySize.length; at++) bySize[at] = (bySize[at] as number) + (bySize[at - 1] as number)
    const order = new Int32Array(states - ROOT)
    for (let state = ROOT; state < states; state++) order[(bySize[size[state] as number] as number)++] = state
    const count = new Int32Array(states)
    const lastEnd = new Int32Array(states)
    for (let at = order.length - 1; at >= 0; at--) {
      const state = order[at] as number
      const up = link[state] as number
      if (own[state] !== 0) {
        count[state] = (count[state] as number) + 1
        lastEnd[state] = Math.max(lastEnd[state] as number, own[state] as number)
      }
      count[up] = (count[up] as number) + (count[state] as number)
      lastEnd[up] = Math.max(lastEnd[up] as number, lastEnd[state] as number)
    }
    const from = new Int32Array(states)
    const dealt = new Int32Array(states)
    const ends = new Int32Array(length)
    for (let at = 0; at < order.length; at++) {
      const state = order[at] as number
      const up = link[state] as number
      if (state !== ROOT) {
        from[state] = (from[up] as number) + (dealt[up] as number)
        dealt[up] = (dealt[up] as number) + (count[state] as number)
      }
      if (own[state] !== 0) {
        ends[from[state] as number] = own[state] as number
        dealt[state] = 1
      }
    }
    this.#lastEnd = lastEnd
    this.#from = from
    this.#count = count
    this.#ends = ends
    this.#bitmap = new Int32Array(states)
    this.#words = (length >> 5) + 1
    this.#bits = new Int32Array(0)
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
    const from = this.#from[state] as number
    const count = this.#count[state] as number
    if (count <= 16) {
      let best = 0x7fffffff
      for (let i = from; i < from + count; i++) {
        const end = this.#ends[i] as number
        if (end >= least && end < best) best = end
      }
      return best
    }
    // Two levels: bit w of the summary says whether word w holds any end.
    const summaries = (this.#words >> 5) + 1
    let base = this.#bitmap[state] as number
    if (base === 0) {
      base = this.#bitsUsed
      this.#bitsUsed += summaries + this.#words
      if (this.#bitsUsed > this.#bits.length) {
        const grown = new Int32Array(Math.max(this.#bitsUsed * 2, 16_384))
        grown.set(this.#bits)
        this.#bits = grown
      }
      this.#bitmap[state] = base
      for (let i = from; i < from + count; i++) {
        const end = this.#ends[i] as number
        const word = end >> 5
        this.#bits[base + summaries + word] = (this.#bits[base + summaries + word] as number) | (1 << (end & 31))
        this.#bits[base + (word >> 5)] = (this.#bits[base + (word >> 5)] as number) | (1 << (word & 31))
      }
    }
    const bits = this.#bits
    let word = least >> 5
    let found = (bits[base + summaries + word] as number) & (-1 << (least & 31))
    if (found === 0) {
      word++
      let summary = word >> 5
      let any = (bits[base + summary] as number) & (-1 << (word & 31))
      while (any === 0) any = bits[base + ++summary] as number
      word = (summary << 5) + lowestBit(any)
      found = bits[base + summaries + word] as number
    }
    return (word << 5) + lowestBit(found)
  }
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}
