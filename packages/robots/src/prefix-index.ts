/**
 * An index over literal prefixes: from a path to every entry whose key is a prefix of it, longest key first.
 *
 * Entries are sorted by key; each knows where the entries with the next shorter prefix of its own key end. The greatest
 * key that is not above the path is found by binary search; every key that is a prefix of the path lies on the way up
 * from there. So a lookup costs O(path + log entries), and an entry that cannot match is not looked at.
 *
 * The table holds `stride` numbers of 16 bits per entry, the first three of them: rule (with FLAG), length of the key,
 * and the way up: index + 1 of the last entry with the next shorter key, 0 for none.
 */
import type { Patterns } from './patterns.ts'

/** Set beside the rule: what it says is the index's own affair (an anchored literal, a folder). */
export const FLAG = 0x8000
export const RULE = 0x7fff

/** Entries before they are sorted. `weight` orders entries of one key: the last of them is met first. */
export interface Entries {
  readonly rule: number[]
  readonly keyLength: number[]
  readonly weight: number[]
}

/** Order of the entries by key, then by weight. */
export function sortEntries(patterns: Patterns, entries: Entries): Int32Array {
  const { octets, marks } = patterns
  const count = entries.rule.length
  const order = new Int32Array(count)
  const start = new Int32Array(count)
  const end = new Int32Array(count)
  for (let i = 0; i < count; i++) {
    order[i] = i
    start[i] = marks[2 * ((entries.rule[i] as number) & RULE)] as number
    end[i] = (start[i] as number) + (entries.keyLength[i] as number)
  }
  // Quicksort in three parts, one octet at a time: no octet of a key is compared twice, and equal keys end up together.
  const stack: number[] = [0, count, 0]
  while (stack.length > 0) {
    const depth = stack.pop() as number
    const high = stack.pop() as number
    const low = stack.pop() as number
    if (high - low < 2) continue
    if (high - low < 12) {
      insertionSort(low, high, depth)
      continue
    }
    const pivot = octetAt(order[(low + high) >> 1] as number, depth)
    let less = low
    let more = high
    for (let i = low; i < more; ) {
      const entry = order[i] as number
      const octet = octetAt(entry, depth)
      if (octet < pivot) {
        order[i++] = order[less] as number
        order[less++] = entry
      } else if (octet > pivot) {
        order[i] = order[--more] as number
        order[more] = entry
      } else i++
    }
    stack.push(low, less, depth, more, high, depth)
    if (pivot >= 0) stack.push(less, more, depth + 1)
    else sortByWeight(less, more)
  }
  return order

  function octetAt(entry: number, depth: number): number {
    const at = (start[entry] as number) + depth
    return at < (end[entry] as number) ? (octets[at] as number) : -1
  }

  function insertionSort(low: number, high: number, depth: number): void {
    for (let i = low + 1; i < high; i++) {
      const entry = order[i] as number
      let j = i - 1
      for (; j >= low && isAbove(order[j] as number, entry, depth); j--) order[j + 1] = order[j] as number
      order[j + 1] = entry
    }
  }

  function isAbove(a: number, b: number, depth: number): boolean {
    for (; ; depth++) {
      const inA = octetAt(a, depth)
      const inB = octetAt(b, depth)
      if (inA !== inB) return inA > inB
      if (inA < 0) return (entries.weight[a] as number) > (entries.weight[b] as number)
    }
  }

  function sortByWeight(low: number, high: number): void {
    if (high - low > 1)
      order.subarray(low, high).sort((a, b) => (entries.weight[a] as number) - (entries.weight[b] as number))
  }
}

/** Length of the common start of two entries' keys. */
export function commonLength(patterns: Patterns, entries: Entries, a: number, b: number): number {
  const { octets, marks } = patterns
  const startA = marks[2 * ((entries.rule[a] as number) & RULE)] as number
  const startB = marks[2 * ((entries.rule[b] as number) & RULE)] as number
  const most = Math.min(entries.keyLength[a] as number, entries.keyLength[b] as number)
  let length = 0
  while (length < most && octets[startA + length] === octets[startB + length]) length++
  return length
}

/**
 * The entry with the longest key that is a prefix of the path, and of those the last; -1 when there is none.
 * @param path  octets of the path, of the given length
 */
export function deepest(
  patterns: Patterns,
  table: Uint16Array,
  stride: number,
  path: Uint8Array,
  length: number,
): number {
  const { octets, marks } = patterns
  let low = 0
  let high = (table.length / stride) | 0
  let lowCommon = 0
  let highCommon = 0
  while (low < high) {
    const middle = (low + high) >> 1
    const start = marks[2 * ((table[middle * stride] as number) & RULE)] as number
    const keyLength = table[middle * stride + 1] as number
    const most = keyLength < length ? keyLength : length
    let common = lowCommon < highCommon ? lowCommon : highCommon // what both neighbours share needs no second look
    while (common < most && octets[start + common] === path[common]) common++
    if (common === keyLength || (common < length && (octets[start + common] as number) < (path[common] as number))) {
      low = middle + 1
      lowCommon = common
    } else {
      high = middle
      highCommon = common
    }
  }
  let entry = low - 1
  while (entry >= 0 && (table[entry * stride + 1] as number) > lowCommon)
    entry = (table[entry * stride + 2] as number) - 1
  return entry
}
