/**
 * Indexes rules by the rarest pair of neighbouring bytes in their patterns.
 *
 * Whatever a star matches, the literal bytes of a pattern occur in the path as in the pattern. So each pattern is filed under one of its
 * pairs, one that few patterns contain, and a path is compared only with the patterns filed under its own pairs: of 17,000 patterns a few
 * dozen, usually none. A second pair is checked before the pattern is tried. Patterns without any pair (`/*a*b`) are always tried.
 */
import type { Path } from './path.ts'
import type { Patterns } from './patterns.ts'
import { sortedBy } from './sorted-by.ts'

// Defined here: an imported constant is looked up at each use, which costs these loops a quarter of their time.
const STAR = 42

/** Numbers per rule in the table: the rule, which is an entry below 2^16 (limits.ts), and its two pairs. */
const STRIDE = 3

/**
 * The number for patterns without a pair; every path has it. Pairs are hashed to smaller numbers, of 12 bits. Two pairs rarely share a
 * number; then a pattern is tried in vain.
 */
const NO_PAIR = 4096

/** The pairs of the current path: those with the current stamp. Nothing is ever cleared. */
const stamps = /* @__PURE__ */ new Uint32Array(NO_PAIR + 1)
let stamp = 0
/** The pairs of the current path as a list without duplicates. */
const held = /* @__PURE__ */ new Uint16Array(NO_PAIR + 1)

/** Number of patterns so far that contain each pair; zero between two builds. */
const holders = /* @__PURE__ */ new Uint32Array(NO_PAIR)

function pairOf(a: number, b: number): number {
  return ((a << 5) ^ b) & (NO_PAIR - 1)
}

export interface GramIndex {
  /** STRIDE numbers per rule, file by file. */
  readonly table: Uint16Array
  /** File f: rules [files[f], files[f+1]) of the table. The number of files is a power of two, plus one for rules without a pair. */
  readonly files: Uint16Array
}

function fileOf({ files }: GramIndex, pair: number): number {
  const last = files.length - 2
  return pair === NO_PAIR ? last : pair & (last - 1)
}

/** @param endOf  end of the bytes in a rule's pattern that a path must contain */
export function indexByPairs(
  { bytes, marks }: Patterns,
  rules: readonly number[],
  endOf: (rule: number) => number,
): GramIndex {
  const count = rules.length
  let size = 1
  while (size < count && size < NO_PAIR) size *= 2
  const index = { table: new Uint16Array(count * STRIDE), files: new Uint16Array(size + 2) }
  const { table, files } = index
  const firsts = new Uint16Array(count)
  const seconds = new Uint16Array(count)
  rules.forEach((rule, i) => {
    // Chooses the pairs that the fewest earlier patterns contain, and the last of equals: later bytes are more specific to a pattern.
    let first = NO_PAIR
    let second = NO_PAIR
    let fewest = Infinity
    let nextFewest = Infinity
    let before = STAR
    const end = endOf(rule)
    for (let at = marks[2 * rule] as number; at < end; at++) {
      const byte = bytes[at] as number
      if (byte !== STAR && before !== STAR) {
        const pair = pairOf(before, byte)
        const patterns = (holders[pair] as number)++
        if (pair !== first)
          if (patterns <= fewest) {
            second = first
            nextFewest = fewest
            first = pair
            fewest = patterns
          } else if (patterns <= nextFewest) {
            second = pair
            nextFewest = patterns
          }
      }
      before = byte
    }
    firsts[i] = first
    seconds[i] = second
  })
  holders.fill(0)

  sortedBy(
    firsts.map((pair) => fileOf(index, pair)),
    size + 1,
  ).forEach((each, i) => {
    const first = firsts[each] as number
    table[i * STRIDE] = rules[each] as number
    table[i * STRIDE + 1] = first
    table[i * STRIDE + 2] = seconds[each] as number
    files[fileOf(index, first) + 1] = i + 1
  })
  // A file without rules ends where the previous one does.
  for (let f = 1; f < files.length; f++) files[f] = Math.max(files[f] as number, files[f - 1] as number)
  return index
}

/** Calls `attempt` with every rule that a path may match. */
export function searchPairs(index: GramIndex, { bytes, length }: Path, attempt: (rule: number) => void): void {
  const { table, files } = index
  stamps[NO_PAIR] = ++stamp
  held[0] = NO_PAIR
  let pairs = 1
  let before = bytes[0] as number
  for (let at = 1; at < length; at++) {
    const byte = bytes[at] as number
    const pair = pairOf(before, byte)
    before = byte
    if (stamps[pair] === stamp) continue
    stamps[pair] = stamp
    held[pairs++] = pair
  }
  for (let i = 0; i < pairs; i++) {
    const pair = held[i] as number
    const file = fileOf(index, pair)
    const upTo = STRIDE * (files[file + 1] as number)
    for (let at = STRIDE * (files[file] as number); at < upTo; at += STRIDE)
      // The file may also have rules of other pairs.
      if (table[at + 1] === pair && stamps[table[at + 2] as number] === stamp) attempt(table[at] as number)
  }
}
