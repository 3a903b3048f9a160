/**
 * The rules of one group under one policy: which of them decides about a path (RFC 9309 §2.2.2).
 *
 * A few rules are tried one by one. Many are indexed, once they have been asked so often that it pays. Literals by their octets: the longest one that starts
 * the path beats all others unseen (`literal-index.ts`). Patterns with a wildcard by the rarest pair of neighbouring octets in
 * them: a path is only tried against those whose pair it holds (`gram-index.ts`).
 */
import { GramIndex } from './gram-index.ts'
import { LiteralIndex } from './literal-index.ts'
import { matchesPattern } from './match.ts'
import type { Path } from './path.ts'
import { folderEnd, matchesFolder, type Patterns, weightOf } from './patterns.ts'
import type { Policy } from './policies.ts'
import { type Best, wins } from './precedence.ts'

// Of this module: an imported constant is looked up at each use, which costs these loops a quarter of their time.
const DOLLAR = 36
const STAR = 42

/** Up to here looking at each rule is as fast as an index, and needs no memory. */
const FEW_RULES = 24

/**
 * Up to so many rules are simply tried for the first questions: making an index, or masks, takes as long as several such
 * tries, and many files are asked once. More rules are indexed at once, for a try of all of them has no good bound.
 */
const TRIED_AT_FIRST = 512
const FIRST_QUESTIONS = 4

/** Used again for each question: a verdict allocates nothing. */
const best: Best = { rule: -1, weight: 0 }

export class GroupRules {
  readonly #patterns: Patterns
  readonly #policy: Policy
  /** Rules [ranges[0], ranges[1]), [ranges[2], ranges[3]) …: all blocks of the group. */
  readonly #ranges: readonly number[]
  readonly #few: boolean
  /** Questions left that are answered without preparation. */
  #questions: number
  #masks: number[] | undefined
  #empty: number | undefined
  #literals: LiteralIndex | undefined
  #wildcards: GramIndex | undefined

  constructor(patterns: Patterns, policy: Policy, ranges: readonly number[]) {
    this.#patterns = patterns
    this.#policy = policy
    this.#ranges = ranges
    let count = 0
    for (let i = 0; i < ranges.length; i += 2) count += (ranges[i + 1] as number) - (ranges[i] as number)
    this.#few = count <= FEW_RULES
    this.#questions = count <= TRIED_AT_FIRST ? FIRST_QUESTIONS : 0
  }

  /** The rule that decides about the path, or -1 when none matches. */
  winner(path: Path): number {
    best.rule = -1
    best.weight = 0
    if (this.#questions > 0) {
      this.#questions--
      this.#tryAll(path)
    } else if (this.#few) this.#tryEach(path)
    else {
      if (this.#literals === undefined) this.#index()
      this.#literals?.search(path, best)
      this.#wildcards?.search(path, best)
    }
    return best.rule
  }

  /** Calls `visit` with each rule that matches the path, in the order of the file. */
  matching(path: Path, visit: (rule: number, weight: number) => void): void {
    for (let i = 0; i < this.#ranges.length; i += 2)
      for (let rule = this.#ranges[i] as number; rule < (this.#ranges[i + 1] as number); rule++) {
        const weight = this.#weightIfMatching(rule, path)
        if (weight > 0) visit(rule, weight)
      }
  }

  /** The rule without a pattern that google/robotstxt names when nothing else matched: an allow before a disallow; or -1. */
  empty(): number {
    this.#empty ??= this.#findEmpty()
    return this.#empty
  }

  #findEmpty(): number {
    const { marks } = this.#patterns
    let found = -1
    for (let i = 0; i < this.#ranges.length; i += 2)
      for (let rule = this.#ranges[i] as number; rule < (this.#ranges[i + 1] as number); rule++)
        if (marks[2 * rule] === marks[2 * rule + 2] && (found < 0 || (this.allows(rule) && !this.allows(found))))
          found = rule
    return found
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

  #tryAll(path: Path): void {
    for (let r = 0; r < this.#ranges.length; r += 2) {
      const to = this.#ranges[r + 1] as number
      for (let rule = this.#ranges[r] as number; rule < to; rule++) this.#try(rule, path)
    }
  }

  #try(rule: number, path: Path): void {
    const weight = this.#weightIfMatching(rule, path)
    if (weight > 0 && wins(this.#patterns, rule, weight, best)) {
      best.rule = rule
      best.weight = weight
    }
  }

  #tryEach(path: Path): void {
    this.#masks ??= this.#makeMasks()
    const masks = this.#masks
    let missing = -1
    for (let at = 0; at < path.length; at++) missing &= ~(1 << (path.octets[at] as number))
    let i = 0
    for (let r = 0; r < this.#ranges.length; r += 2) {
      const to = this.#ranges[r + 1] as number
      for (let rule = this.#ranges[r] as number; rule < to; rule++) {
        if (((masks[i++] as number) & missing) === 0) this.#try(rule, path)
      }
    }
  }

  /** Per rule the octets that it asks for, by their low five bits: most rules are told from a path by these alone. */
  #makeMasks(): number[] {
    const { octets, marks } = this.#patterns
    const masks: number[] = []
    for (let r = 0; r < this.#ranges.length; r += 2)
      for (let rule = this.#ranges[r] as number; rule < (this.#ranges[r + 1] as number); rule++) {
        let mask = 0
        const folder = this.#policy.indexOpensFolder && this.allows(rule) ? folderEnd(this.#patterns, rule) : -1
        const end = folder < 0 ? (marks[2 * rule + 2] as number) : folder
        for (let at = marks[2 * rule] as number; at < end; at++) {
          const octet = octets[at] as number
          if (octet !== STAR && (octet !== DOLLAR || at < end - 1)) mask |= 1 << octet
        }
        masks.push(mask)
      }
    return masks.slice() // as long as it is, and no longer
  }

  #index(): void {
    const { octets, marks } = this.#patterns
    const { trailingStarCounts, indexOpensFolder } = this.#policy
    const literals = new LiteralIndex(this.#patterns)
    const wildcards = new GramIndex(this.#patterns)
    for (let i = 0; i < this.#ranges.length; i += 2)
      for (let rule = this.#ranges[i] as number; rule < (this.#ranges[i + 1] as number); rule++) {
        const start = marks[2 * rule] as number
        const end = marks[2 * rule + 2] as number
        if (end === start) continue
        let star = start
        while (star < end && octets[star] !== STAR) star++
        let rest = star
        while (rest < end && octets[rest] === STAR) rest++
        // Stars alone weigh one octet and have an empty key, so the longest key would not be the heaviest.
        if (rest < end || (star < end && (trailingStarCounts || star === start)))
          wildcards.add(rule, weightOf(this.#patterns, rule, trailingStarCounts), false)
        else if (star === end && octets[end - 1] === DOLLAR) literals.add(rule, end - 1, true)
        else literals.add(rule, star, false)
        if (!indexOpensFolder || !this.allows(rule)) continue
        const folder = folderEnd(this.#patterns, rule)
        if (folder >= 0 && star >= folder) literals.add(rule, folder, true)
        else if (folder >= 0) wildcards.add(rule, folder - start + 1, true)
      }
    literals.build()
    wildcards.build()
    this.#literals = literals
    this.#wildcards = wildcards
  }
}
