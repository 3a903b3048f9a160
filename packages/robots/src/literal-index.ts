/**
 * Literals by their octets: from a path to the longest literal that starts it, without a look at the others.
 *
 * For each length that a literal has there is a hash table of those literals. A path is hashed once, octet by octet, and
 * asks at each of these lengths whether its beginning is there. So a lookup costs O(path), however many literals there
 * are. Chains instead of probing, and a table per length: even keys made to collide are looked at once each at most.
 */

import type { Path } from './path.ts'
import type { Patterns } from './patterns.ts'
import { type Best, wins } from './precedence.ts'

/** The literal ends with `$`: the path must end with it. Rules are counted below this (MAX_RULES). */
const ANCHORED = 0x8000
const RULE = 0x7fff

export class LiteralIndex {
  readonly #patterns: Patterns
  readonly #rules: number[] = []
  readonly #ends: number[] = []
  /** Lengths of keys, rising; table t has the slots [slots[t], slots[t+1]), a power of two. */
  #lengths = new Uint16Array(0)
  #slots = new Uint16Array(0)
  /** Slot → entry + 1; entry → the next one of its chain + 1, and its rule. 0 ends a chain. */
  #heads = new Uint16Array(0)
  #chain = new Uint16Array(0)

  constructor(patterns: Patterns) {
    this.#patterns = patterns
  }

  /** `end` is behind the last octet of the key, which starts where the pattern does. */
  add(rule: number, end: number, anchored: boolean): void {
    this.#rules.push(anchored ? rule | ANCHORED : rule)
    this.#ends.push(end)
  }

  build(): void {
    const { octets, marks } = this.#patterns
    const count = this.#rules.length
    const perLength = new Map<number, number>()
    const startOf = (entry: number): number => marks[2 * ((this.#rules[entry] as number) & RULE)] as number
    for (let entry = 0; entry < count; entry++) {
      const length = (this.#ends[entry] as number) - startOf(entry)
      perLength.set(length, (perLength.get(length) ?? 0) + 1)
    }
    const lengths = Uint16Array.from(perLength.keys()).sort()
    const slots = new Uint16Array(lengths.length + 1)
    const tables = new Map<number, number>()
    lengths.forEach((length, table) => {
      let size = 1
      while (size < (perLength.get(length) as number)) size *= 2
      slots[table + 1] = (slots[table] as number) + size
      tables.set(length, table)
    })
    const heads = new Uint16Array(slots[lengths.length] as number)
    const chain = new Uint16Array(2 * count)
    for (let entry = 0; entry < count; entry++) {
      const end = this.#ends[entry] as number
      let hash = 0
      for (let at = startOf(entry); at < end; at++) hash = added(hash, octets[at] as number)
      const table = tables.get(end - startOf(entry)) as number
      const first = slots[table] as number
      const slot = first + placed(hash, (slots[table + 1] as number) - first)
      chain[2 * entry] = heads[slot] as number
      chain[2 * entry + 1] = this.#rules[entry] as number
      heads[slot] = entry + 1
    }
    this.#lengths = lengths
    this.#slots = slots
    this.#heads = heads
    this.#chain = chain
    this.#rules.length = 0
    this.#ends.length = 0
  }

  /** Puts the literal that wins for this path into `best`. */
  search(path: Path, best: Best): void {
    const lengths = this.#lengths
    const slots = this.#slots
    const { octets, length } = path
    let hash = 0
    let at = 0
    for (let table = 0; table < lengths.length; table++) {
      const keyLength = lengths[table] as number
      if (keyLength > length) return
      for (; at < keyLength; at++) hash = added(hash, octets[at] as number)
      const first = slots[table] as number
      const entry = this.#heads[first + placed(hash, (slots[table + 1] as number) - first)] as number
      if (entry !== 0) this.#searchChain(entry, keyLength, path, best)
    }
  }

  #searchChain(entry: number, keyLength: number, path: Path, best: Best): void {
    const { octets, marks } = this.#patterns
    for (; entry !== 0; entry = this.#chain[2 * entry - 2] as number) {
      const flagged = this.#chain[2 * entry - 1] as number
      if ((flagged & ANCHORED) !== 0 && keyLength !== path.length) continue
      const rule = flagged & RULE
      const start = marks[2 * rule] as number
      let at = 0
      while (at < keyLength && octets[start + at] === path.octets[at]) at++
      const weight = (flagged & ANCHORED) === 0 ? keyLength : keyLength + 1
      if (at === keyLength && wins(this.#patterns, rule, weight, best)) {
        best.rule = rule
        best.weight = weight
      }
    }
  }
}

function added(hash: number, octet: number): number {
  return (Math.imul(hash, 0x01000193) + octet) | 0
}

/** A slot below `size`, a power of two: the high bits of a product are the well mixed ones. */
function placed(hash: number, size: number): number {
  return (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 12) & (size - 1)
}
