/**
 * The rules of one group under one policy: which of them decides about a path (RFC 9309 §2.2.2).
 *
 * A few rules are tried one by one. Many are indexed on first use: literals by themselves, patterns with a wildcard by
 * what stands before it. A literal whose key is the longest prefix of the path beats all other literals unseen; a run of
 * wildcard patterns is met from the heaviest down and left as soon as the rest weighs less than what has won already.
 */
import { matchesFromStar, matchesPattern } from './match.ts'
import { DOLLAR, SLASH, STAR } from './octets.ts'
import type { Path } from './path.ts'
import { folderEnd, type Patterns, weightOf } from './patterns.ts'
import type { Policy } from './policies.ts'
import { commonLength, deepest, type Entries, FLAG, RULE, sortEntries } from './prefix-index.ts'
import type { Block } from './robots-file.ts'

/** Up to here looking at each rule is as fast as an index, and needs no memory. */
const FEW_RULES = 24

/** Numbers per entry: rule, key length, way up. */
const LITERAL = 3
/** Numbers per entry: rule, key length, way up, 1 when the entry before has the same key, two probes. */
const WILDCARD = 6

/** No probe: the pattern holds no two neighbouring literal octets. */
const NO_PROBE = 0xffff

/** Pairs of octets that occur in the path, as stamps, so that nothing needs clearing. */
const GRAMS = 4096
const stamps = /* @__PURE__ */ new Uint32Array(GRAMS)
let stamp = 0

export class GroupRules {
  readonly #patterns: Patterns
  readonly #policy: Policy
  readonly #blocks: readonly Block[]
  readonly #count: number
  #literals: Uint16Array | undefined
  #wildcards: Uint16Array | undefined

  constructor(patterns: Patterns, policy: Policy, blocks: readonly Block[]) {
    this.#patterns = patterns
    this.#policy = policy
    this.#blocks = blocks
    this.#count = blocks.reduce((sum, block) => sum + block.to - block.from, 0)
  }

  /** The rule that decides about the path, or -1 when none matches. */
  winner(path: Path): number {
    if (this.#count <= FEW_RULES) return this.#tryEach(path)
    if (this.#literals === undefined || this.#wildcards === undefined) this.#index()
    return this.#lookUp(path, this.#literals as Uint16Array, this.#wildcards as Uint16Array)
  }

  /** Calls `visit` with each rule that matches the path, in the order of the file. */
  matching(path: Path, visit: (rule: number, weight: number) => void): void {
    for (const block of this.#blocks)
      for (let rule = block.from; rule < block.to; rule++) {
        const weight = this.#weightIfMatching(rule, path)
        if (weight > 0) visit(rule, weight)
      }
  }

  allows(rule: number): boolean {
    return ((this.#patterns.marks[2 * rule + 1] as number) & 1) === 1
  }

  #weightIfMatching(rule: number, path: Path): number {
    const { octets, marks } = this.#patterns
    const start = marks[2 * rule] as number
    if (matchesPattern(octets, start, marks[2 * rule + 2] as number, path))
      return weightOf(this.#patterns, rule, this.#policy.trailingStarCounts)
    if (!this.#policy.indexOpensFolder || !this.allows(rule)) return 0
    const end = folderEnd(this.#patterns, rule)
    return end > 0 && matchesFolder(octets, start, end, path) ? end - start + 1 : 0
  }

  #tryEach(path: Path): number {
    const { octets, marks } = this.#patterns
    const target = path.octets
    const second = target[1] as number
    const folders = this.#policy.indexOpensFolder
    let best = -1
    let bestWeight = 0
    for (const block of this.#blocks)
      for (let rule = block.from; rule < block.to; rule++) {
        // Nearly every rule is told from the path by its second octet, without a call.
        const start = marks[2 * rule] as number
        const octet = octets[start + 1] as number
        if (octet !== second && octet > DOLLAR && octet !== STAR && octets[start] === SLASH && !folders) {
          if ((marks[2 * rule + 2] as number) > start + 1) continue
        }
        const weight = this.#weightIfMatching(rule, path)
        if (weight > bestWeight || (weight > 0 && weight === bestWeight && this.allows(rule) && !this.allows(best))) {
          best = rule
          bestWeight = weight
        }
      }
    return best
  }

  #lookUp(path: Path, literals: Uint16Array, wildcards: Uint16Array): number {
    const { octets, length } = path
    const patterns = this.#patterns
    let best = -1
    let bestWeight = 0
    let entry = deepest(patterns, literals, LITERAL, octets, length)
    while (entry >= 0) {
      const rule = literals[entry * LITERAL] as number
      const keyLength = literals[entry * LITERAL + 1] as number
      if ((rule & FLAG) === 0 || keyLength === length) {
        best = rule & RULE
        bestWeight = Math.max(1, (rule & FLAG) === 0 ? keyLength : keyLength + 1)
        break
      }
      entry = (literals[entry * LITERAL + 2] as number) - 1
    }
    if (wildcards.length === 0) return best

    entry = deepest(patterns, wildcards, WILDCARD, octets, length)
    let probing = false
    while (entry >= 0) {
      const at = entry * WILDCARD
      const flagged = wildcards[at] as number
      const rule = flagged & RULE
      const weight = this.#wildcardWeight(flagged)
      const up = (wildcards[at + 2] as number) - 1
      if (weight < bestWeight) {
        entry = up // the rest of this run weighs no more
        continue
      }
      entry = wildcards[at + 3] === 1 ? entry - 1 : up
      if (weight === bestWeight && !this.#winsTie(rule, best)) continue
      const probe = wildcards[at + 4] as number
      if (probe !== NO_PROBE) {
        if (!probing) {
          markGrams(path)
          probing = true
        }
        if (stamps[probe] !== stamp || stamps[wildcards[at + 5] as number] !== stamp) continue
      }
      const start = patterns.marks[2 * rule] as number
      const star = start + (wildcards[at + 1] as number)
      const matches =
        (flagged & FLAG) !== 0
          ? matchesFolder(patterns.octets, start, folderEnd(patterns, rule), path)
          : matchesFromStar(patterns.octets, star, patterns.marks[2 * rule + 2] as number, path, star - start)
      if (matches) {
        best = rule
        bestWeight = weight
      }
    }
    return best
  }

  #wildcardWeight(flagged: number): number {
    const rule = flagged & RULE
    if ((flagged & FLAG) !== 0) return folderEnd(this.#patterns, rule) - (this.#patterns.marks[2 * rule] as number) + 1
    return weightOf(this.#patterns, rule, this.#policy.trailingStarCounts)
  }

  /** At equal weight allow wins; of one type, the line above. */
  #winsTie(rule: number, best: number): boolean {
    const allows = this.allows(rule)
    return allows === this.allows(best) ? rule < best : allows
  }

  #index(): void {
    const { octets, marks } = this.#patterns
    const literals: Entries = { rule: [], keyLength: [], weight: [] }
    const wildcards: Entries = { rule: [], keyLength: [], weight: [] }
    for (const block of this.#blocks)
      for (let rule = block.from; rule < block.to; rule++) {
        const start = marks[2 * rule] as number
        const end = marks[2 * rule + 2] as number
        let key = start
        while (key < end && octets[key] !== STAR) key++
        let rest = key
        while (rest < end && octets[rest] === STAR) rest++
        const trailingOnly = rest === end && !(this.#policy.trailingStarCounts && key < end)
        const allows = this.allows(rule) ? 1 : 0
        if (trailingOnly) {
          const anchored = key === end && octets[end - 1] === DOLLAR
          add(literals, anchored ? rule | FLAG : rule, key - start - (anchored ? 1 : 0), anchored ? 1 : 0)
        } else
          add(
            wildcards,
            rule,
            key - start,
            weightOf(this.#patterns, rule, this.#policy.trailingStarCounts) * 2 + allows,
          )
        if (!this.#policy.indexOpensFolder || allows === 0) continue
        const folder = folderEnd(this.#patterns, rule)
        if (folder < 0) continue
        if (key >= folder) add(literals, rule | FLAG, folder - start, 1)
        else add(wildcards, rule | FLAG, key - start, (folder - start + 1) * 2 + allows)
      }
    this.#literals = this.#buildLiterals(literals)
    this.#wildcards = this.#buildWildcards(wildcards)
  }

  /** Of the literals with one key, at most one open and one anchored can ever win; the others are left out. */
  #buildLiterals(entries: Entries): Uint16Array {
    const order = sortEntries(this.#patterns, entries)
    const table = new Uint16Array(order.length * LITERAL)
    const way = new WayUp()
    let used = 0
    let before = -1
    for (let i = 0; i < order.length; i++) {
      const entry = order[i] as number
      const flagged = entries.rule[entry] as number
      const keyLength = entries.keyLength[entry] as number
      const common = before < 0 ? 0 : commonLength(this.#patterns, entries, before, entry)
      const sameKey = before >= 0 && common === keyLength && common === entries.keyLength[before]
      before = entry
      const last = (used - 1) * LITERAL
      if (sameKey && ((table[last] as number) & FLAG) === (flagged & FLAG)) {
        if (this.#winsTie(flagged & RULE, (table[last] as number) & RULE)) table[last] = flagged
        continue
      }
      // An anchored literal behind the open one of the same key: the next to look at is that one.
      const up = sameKey ? used : way.from(used, keyLength, common)
      if (sameKey) way.replaceLast(used)
      table[used * LITERAL] = flagged
      table[used * LITERAL + 1] = keyLength
      table[used * LITERAL + 2] = up
      used++
    }
    return used * LITERAL === table.length ? table : table.slice(0, used * LITERAL)
  }

  #buildWildcards(entries: Entries): Uint16Array {
    const order = sortEntries(this.#patterns, entries)
    const table = new Uint16Array(order.length * WILDCARD)
    const way = new WayUp()
    let up = 0
    for (let i = 0; i < order.length; i++) {
      const entry = order[i] as number
      const flagged = entries.rule[entry] as number
      const keyLength = entries.keyLength[entry] as number
      const before = order[i - 1]
      const common = before === undefined ? 0 : commonLength(this.#patterns, entries, before, entry)
      const sameKey = before !== undefined && common === keyLength && common === entries.keyLength[before]
      if (sameKey) way.replaceLast(i)
      else up = way.from(i, keyLength, common)
      const at = i * WILDCARD
      table[at] = flagged
      table[at + 1] = keyLength
      table[at + 2] = up
      table[at + 3] = sameKey ? 1 : 0
      this.#probes(flagged & RULE, keyLength, (flagged & FLAG) !== 0, table, at + 4)
    }
    return table
  }

  /** Two pairs of octets that a path must hold: the start of the longest segment, and the end of the last one. */
  #probes(rule: number, keyLength: number, isFolder: boolean, table: Uint16Array, at: number): void {
    const { octets, marks } = this.#patterns
    const start = (marks[2 * rule] as number) + keyLength
    let end = isFolder ? folderEnd(this.#patterns, rule) : (marks[2 * rule + 2] as number)
    if (!isFolder && octets[end - 1] === DOLLAR) end--
    let longest = 1
    let first = NO_PROBE
    let last = NO_PROBE
    for (let i = start, segment = start; i <= end; i++) {
      if (i < end && octets[i] !== STAR) continue
      if (i - segment > 1) last = gram(octets[i - 2] as number, octets[i - 1] as number)
      if (i - segment > longest) {
        longest = i - segment
        first = gram(octets[segment] as number, octets[segment + 1] as number)
      }
      segment = i + 1
    }
    table[at] = first
    table[at + 1] = last
  }
}

function add(entries: Entries, rule: number, keyLength: number, weight: number): void {
  entries.rule.push(rule)
  entries.keyLength.push(keyLength)
  entries.weight.push(weight)
}

/** The entries whose keys are prefixes of the current one, shortest first. */
class WayUp {
  readonly #index: number[] = []
  readonly #length: number[] = []

  /** Enters an entry that shares `common` octets with the one before; returns its way up (index + 1, 0 for none). */
  from(index: number, keyLength: number, common: number): number {
    while (this.#length.length > 0 && (this.#length.at(-1) as number) > common) {
      this.#length.pop()
      this.#index.pop()
    }
    const up = this.#index.length > 0 ? (this.#index.at(-1) as number) + 1 : 0
    this.#index.push(index)
    this.#length.push(keyLength)
    return up
  }

  /** Another entry with the same key: ways up from below lead to the last of them. */
  replaceLast(index: number): void {
    this.#index[this.#index.length - 1] = index
  }
}

/** `folder…/` as a pattern with an end anchor: [start, end) must match the path as a whole. */
function matchesFolder(octets: Uint8Array, start: number, end: number, path: Path): boolean {
  const pattern = new Uint8Array(end - start + 1)
  pattern.set(octets.subarray(start, end))
  pattern[end - start] = DOLLAR
  return matchesPattern(pattern, 0, pattern.length, path)
}

function gram(a: number, b: number): number {
  return ((a << 5) ^ b) & (GRAMS - 1)
}

function markGrams(path: Path): void {
  stamp++
  const { octets, length } = path
  for (let at = 1; at < length; at++) stamps[gram(octets[at - 1] as number, octets[at] as number)] = stamp
}
