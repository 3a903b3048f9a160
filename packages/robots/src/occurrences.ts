/**
 * Finds the next occurrence of a segment, for paths and files that were written to make matching slow.
 *
 * It uses a suffix automaton of the path: each state represents all substrings that end at the same set of places. Walking a segment takes
 * as many steps as it has bytes, however often it occurs; the next place after a given one is then read from a bitmap of all its ends. A
 * pattern passes through the path once, so it costs O(its bytes) and at most one pass over such bitmaps; 500 KiB of patterns against 2 KB
 * of path stay within a few milliseconds, where a plain search takes seconds. Ordinary files never get here: `match.ts` uses a plain search
 * until a budget is spent.
 */
import { sortedBy } from './sorted-by.ts'

const ROOT = 1

/**
 * Longer paths would need more memory than a verdict is worth (states × bitmap, 17 MB at this length); they use the plain search, with its
 * limit of steps. A URL of 8,192 bytes becomes longer if it contains bytes that are compared encoded, such as '|'.
 */
export const MAX_INDEXED_PATH = 8_192

/** The index behind the next occurrence of the segment [start, end) of `octets` at `at` or later, or -1. */
export type EndOfNext = (octets: Uint8Array, start: number, end: number, at: number) => number

export function occurrencesIn(path: Uint8Array, length: number): EndOfNext {
  const symbolOf = new Uint8Array(256)
  let symbols = 1
  for (let at = 0; at < length; at++) {
    const octet = path[at] as number
    if (symbolOf[octet] === 0) symbolOf[octet] = symbols++
  }
  const most = 2 * length + 2
  const next = new Uint16Array(most * symbols) // state × symbol → state, 0 for none
  const link = new Int32Array(most)
  const size = new Int32Array(most)
  const own = new Int32Array(most) // the end that a state adds; 0 for a clone
  let states = ROOT + 1
  let last = ROOT
  for (let at = 0; at < length; at++) {
    const symbol = symbolOf[path[at] as number] as number
    const state = states++
    size[state] = own[state] = at + 1
    let from = last
    for (; from !== 0 && next[from * symbols + symbol] === 0; from = link[from] as number)
      next[from * symbols + symbol] = state
    if (from === 0) link[state] = ROOT
    else {
      const target = next[from * symbols + symbol] as number
      let shared = target
      if (size[target] !== (size[from] as number) + 1) {
        shared = states++
        size[shared] = (size[from] as number) + 1
        next.copyWithin(shared * symbols, target * symbols, (target + 1) * symbols)
        link[shared] = link[target] as number
        for (; from !== 0 && next[from * symbols + symbol] === target; from = link[from] as number)
          next[from * symbols + symbol] = shared
        link[target] = shared
      }
      link[state] = shared
    }
    last = state
  }

  // For each state a bitmap of its ends.
  const words = (length >> 5) + 1
  const bits = new Int32Array(states * words)
  // Largest state first: each passes its ends to its link, which is smaller.
  const order = sortedBy(
    Uint16Array.from(size.subarray(0, states), (each) => length - each),
    length + 1,
  )
  for (const state of order) {
    const end = own[state] as number
    const at = state * words
    const up = (link[state] as number) * words
    if (end > 0) (bits[at + (end >> 5)] as number) |= 1 << (end & 31)
    for (let i = 0; i < words; i++) (bits[up + i] as number) |= bits[at + i] as number
  }

  return (octets, start, end, at) => {
    const least = at + end - start
    let state = ROOT
    for (; start < end; start++) {
      const symbol = symbolOf[octets[start] as number] as number
      if (symbol === 0) return -1
      state = next[state * symbols + symbol] as number
      if (state === 0) return -1
    }
    let mask = -1 << (least & 31)
    for (let word = least >> 5; word < words; word++) {
      const found = (bits[state * words + word] as number) & mask
      if (found !== 0) return (word << 5) + 31 - Math.clz32(found & -found)
      mask = -1
    }
    return -1
  }
}
