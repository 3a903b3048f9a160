/**
 * The rules of one group under one policy: which of them decides about a path (RFC 9309 §2.2.2).
 *
 * The first verdicts try every rule, since many files are used only once. Later verdicts filter the rules: few by a mask of bytes for each,
 * many by an index of pairs of bytes (gram-index.ts).
 */

import { SLASH } from './bytes.ts'
import { type GramIndex, indexByPairs, searchPairs } from './gram-index.ts'
import { matches, staysOpen } from './match.ts'
import type { Path } from './path.ts'
import type { Patterns } from './patterns.ts'
import type { Reading } from './readings.ts'
import { ALLOW, kindOf } from './robots-file.ts'

// Defined here: an imported constant is looked up at each use, which costs these loops a quarter of their time.
const DOLLAR = 36
const STAR = 42
const INDEX = [105, 110, 100, 101, 120, 46, 104, 116, 109] // 'index.htm'

/** Up to this number a mask of each rule is as fast as an index, and needs less memory. */
const FEW_RULES = 24

/** Number of verdicts that try all rules: making the masks or the index takes as long as several of these. */
const FIRST_QUESTIONS = 4

/** The best rule so far, -1 for none, and its weight. Reused for each path, so that a verdict allocates nothing. */
let best = -1
let bestWeight = 0

export class GroupRules {
  readonly patterns: Patterns
  readonly reading: Reading
  /** Entries [ranges[0], ranges[1]), [ranges[2], ranges[3]) …: all blocks of the group. */
  readonly ranges: readonly number[]
  #questions = 0
  /** Alternating rules and masks; empty: there is an index; undefined: neither has been made yet. */
  #masks: number[] | undefined
  #index: GramIndex | undefined
  #empty: number | undefined

  constructor(patterns: Patterns, reading: Reading, ranges: readonly number[]) {
    this.patterns = patterns
    this.reading = reading
    this.ranges = ranges
  }

  /** The rule that decides about the path, or -1 when none matches. */
  winner(path: Path): number {
    best = -1
    bestWeight = 0
    const masks = this.#masks
    if (masks === undefined) {
      // The verdict that prepares the index does not use it, so that no single verdict costs more than necessary.
      if (++this.#questions === FIRST_QUESTIONS) this.#masks = this.#prepared()
      this.each((rule) => attempt(this, rule, path))
      return best
    }
    let missing = -1
    for (let at = 0; at < path.length; at++) missing &= ~(1 << (path.bytes[at] as number))
    for (let i = 0; i < masks.length; i += 2)
      if (((masks[i + 1] as number) & missing) === 0) attempt(this, masks[i] as number, path)
    if (this.#index !== undefined) searchPairs(this.#index, path, (rule) => attempt(this, rule, path))
    return best
  }

  #prepared(): number[] {
    const rules: number[] = []
    this.each((rule) => rules.push(rule))
    if (rules.length <= FEW_RULES) return rules.flatMap((rule) => [rule, maskOf(this, rule)])
    this.#index = indexByPairs(this.patterns, rules, (rule) => neededEnd(this, rule))
    return []
  }

  /** The rule without a pattern that is reported, as by google/robotstxt, when no other matches: an allow rather than a disallow; or -1. */
  empty(): number {
    if (this.#empty === undefined) {
      let found = -1
      this.each((rule) => {
        if (weightOf(this, rule) === 0 && (found < 0 || (allows(this, rule) && !allows(this, found)))) found = rule
      })
      this.#empty = found
    }
    return this.#empty
  }

  /** Every rule, in the order of the file. */
  each(visit: (rule: number) => void): void {
    const { patterns, ranges } = this
    for (let i = 0; i < ranges.length; i += 2)
      for (let entry = ranges[i] as number; entry < (ranges[i + 1] as number); entry++)
        if (kindOf(patterns, entry) <= ALLOW) visit(entry)
  }
}

export function allows({ patterns }: GroupRules, rule: number): boolean {
  return kindOf(patterns, rule) === ALLOW
}

/** The weight of a rule that matches the path, else 0. When the match is undecided, a disallow matches and an allow does not. */
export function weightIfMatching(group: GroupRules, rule: number, path: Path): number {
  const { bytes, marks } = group.patterns
  const start = marks[2 * rule] as number
  const end = marks[2 * rule + 2] as number
  if (start === end) return 0
  const anchored = bytes[end - 1] === DOLLAR
  const last = anchored ? end - 1 : end
  if (matches(bytes, start, last, anchored, path) || (staysOpen(last) && !allows(group, rule)))
    return weightOf(group, rule)
  // The folder of `…/index.htm` is matched like a pattern with an end anchor.
  const folder = folderEnd(group, rule)
  return folder > 0 && matches(bytes, start, folder, true, path) ? folder - start + 1 : 0
}

/**
 * The weight of a pattern: its length in bytes as compared, without trailing stars unless the policy counts them. At least 1, since `*`
 * alone is a pattern that matches; 0 for the empty pattern, which never matches.
 */
function weightOf({ patterns: { bytes, marks }, reading }: GroupRules, rule: number): number {
  const start = marks[2 * rule] as number
  let end = marks[2 * rule + 2] as number
  if (!reading.trailingStarCounts) while (end > start + 1 && bytes[end - 1] === STAR) end--
  return end - start
}

/** Under google, `allow: …/index.htm[l]` also allows its folder. Returns the position behind the folder's slash, -1 for other rules. */
function folderEnd(group: GroupRules, rule: number): number {
  if (!group.reading.indexOpensFolder || !allows(group, rule)) return -1
  const { bytes, marks } = group.patterns
  const end = marks[2 * rule + 2] as number
  let at = end
  while (at > (marks[2 * rule] as number) && bytes[at - 1] !== SLASH) at--
  return at + INDEX.length <= end && bytes[at - 1] === SLASH && INDEX.every((byte, i) => bytes[at + i] === byte)
    ? at
    : -1
}

/** The longer rule decides; if equal, allow; if still equal, the earlier line (RFC 9309 §2.2.2). */
function wins(group: GroupRules, rule: number, weight: number): boolean {
  if (weight !== bestWeight || weight === 0) return weight > bestWeight
  return allows(group, rule) === allows(group, best) ? rule < best : allows(group, rule)
}

function attempt(group: GroupRules, rule: number, path: Path): void {
  if (!wins(group, rule, weightOf(group, rule))) return
  const weight = weightIfMatching(group, rule, path)
  if (!wins(group, rule, weight)) return
  best = rule
  bestWeight = weight
}

/** The end of the bytes that a path must contain for any match: those of the folder, or all but an end anchor. */
function neededEnd(group: GroupRules, rule: number): number {
  const { bytes, marks } = group.patterns
  const end = marks[2 * rule + 2] as number
  const folder = folderEnd(group, rule)
  return folder > 0 ? folder : end > (marks[2 * rule] as number) && bytes[end - 1] === DOLLAR ? end - 1 : end
}

/** A mask of the bytes that a rule requires: one bit for each value of their low five bits. */
function maskOf(group: GroupRules, rule: number): number {
  const { bytes, marks } = group.patterns
  const end = neededEnd(group, rule)
  let mask = 0
  for (let at = marks[2 * rule] as number; at < end; at++) if (bytes[at] !== STAR) mask |= 1 << (bytes[at] as number)
  return mask
}
