/**
 * Literals by prefix: from a path to the longest literal that starts it, without a look at the others.
 *
 * Entries are sorted by key. The greatest key that is not above the path is found by binary search; every key that is a
 * prefix of the path lies on the way up from there. So a lookup costs O(path + log entries).
 *
 * The table holds three numbers of 16 bits per entry: the rule, with ANCHORED beside it; the length of its key; and the
 * way up, index + 1 of the last entry with the next shorter prefix of that key, 0 for none.
 */
import type { Best } from './group-rules.ts'
import { beatsAtEqualWeight } from './group-rules.ts'
import type { Path } from './path.ts'
import type { Patterns } from './patterns.ts'
import { sortByKey } from './sort-keys.ts'

/** The literal ends with `$`: the path must end with it. Rules are counted below this (MAX_RULES). */
const ANCHORED = 0x8000
const RULE = 0x7fff
const STRIDE = 3

export class PrefixIndex {
  readonly #patterns: Patterns
  #rules: number[] = []
  #lengths: number[] = []
  #table: Uint16Array = NOTHING

  constructor(patterns: Patterns) {
    this.#patterns = patterns
  }

  add(rule: number, keyLength: number, anchored: boolean): void {
    this.#rules.push(anchored ? rule | ANCHORED : rule)
    this.#lengths.push(keyLength)
  }

  /** Sorts what was added. Of the literals with one key, one open and one anchored can win; the others are left out. */
  build(): void {
    const { marks } = this.#patterns
    const count = this.#rules.length
    const starts = new Int32Array(count)
    const ends = new Int32Array(count)
    for (let i = 0; i < count; i++) {
      starts[i] = marks[2 * ((this.#rules[i] as number) & RULE)] as number
      ends[i] = (starts[i] as number) + (this.#lengths[i] as number)
    }
    const order = sortByKey(this.#patterns.octets, starts, ends, this.#rules)
    const table = new Uint16Array(count * STRIDE)
    const pathUp: number[] = [] // entries whose keys are prefixes of the current one, shortest first
    let used = 0
    let before = -1
    for (const entry of order) {
      const rule = this.#rules[entry] as number
      const length = this.#lengths[entry] as number
      const common = before < 0 ? 0 : commonLength(this.#patterns.octets, starts, ends, before, entry)
      const sameKey = before >= 0 && common === length && common === this.#lengths[before]
      before = entry
      const last = (used - 1) * STRIDE
      if (sameKey && ((table[last] as number) & ANCHORED) === (rule & ANCHORED)) {
        if (beatsAtEqualWeight(this.#patterns, rule & RULE, (table[last] as number) & RULE)) table[last] = rule
        continue
      }
      while (pathUp.length > 0 && (table[(pathUp.at(-1) as number) * STRIDE + 1] as number) > common) pathUp.pop()
      table[used * STRIDE] = rule
      table[used * STRIDE + 1] = length
      table[used * STRIDE + 2] = pathUp.length > 0 ? (pathUp.at(-1) as number) + 1 : 0
      pathUp.push(used++)
    }
    this.#table = used === count ? table : table.slice(0, used * STRIDE)
    this.#rules = []
    this.#lengths = []
  }

  /** Puts the literal that wins for this path into `best`. */
  search(path: Path, best: Best): void {
    const table = this.#table
    const { length } = path
    let entry = this.#deepest(path.octets, length)
    while (entry >= 0) {
      const rule = table[entry * STRIDE] as number
      const keyLength = table[entry * STRIDE + 1] as number
      if ((rule & ANCHORED) === 0 || keyLength === length) {
        best.rule = rule & RULE
        best.weight = (rule & ANCHORED) === 0 ? keyLength : keyLength + 1
        return
      }
      entry = (table[entry * STRIDE + 2] as number) - 1
    }
  }

  /** The last entry whose key is a prefix of the path, -1 for none: of equal keys the anchored one. */
  #deepest(path: Uint8Array, length: number): number {
    const table = this.#table
    const { octets, marks } = this.#patterns
    let low = 0
    let high = (table.length / STRIDE) | 0
    let lowCommon = 0
    let highCommon = 0
    while (low < high) {
      const middle = (low + high) >> 1
      const start = marks[2 * ((table[middle * STRIDE] as number) & RULE)] as number
      const keyLength = table[middle * STRIDE + 1] as number
      let common = Math.min(lowCommon, highCommon) // what both neighbours share with the path needs no second look
      // The path ends with an octet that no key holds, so there is no need to watch for its end.
      while (common < keyLength && octets[start + common] === path[common]) common++
      if (common === keyLength || (common < length && (octets[start + common] as number) < (path[common] as number))) {
        low = middle + 1
        lowCommon = common
      } else {
        high = middle
        highCommon = common
      }
    }
    let entry = low - 1
    while (entry >= 0 && (table[entry * STRIDE + 1] as number) > lowCommon)
      entry = (table[entry * STRIDE + 2] as number) - 1
    return entry
  }
}

const NOTHING = /* @__PURE__ */ new Uint16Array(0)

function commonLength(octets: Uint8Array, starts: Int32Array, ends: Int32Array, a: number, b: number): number {
  const startA = starts[a] as number
  const startB = starts[b] as number
  const most = Math.min((ends[a] as number) - startA, (ends[b] as number) - startB)
  let length = 0
  while (length < most && octets[startA + length] === octets[startB + length]) length++
  return length
}
