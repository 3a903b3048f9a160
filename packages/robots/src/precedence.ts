/** Which of two matching rules decides (RFC 9309 §2.2.2): the one with more octets; of equals allow; of equals the line above. */
import type { Patterns } from './patterns.ts'

/** The best rule so far, -1 for none, and its weight. */
export interface Best {
  rule: number
  weight: number
}

export function wins(patterns: Patterns, rule: number, weight: number, soFar: Best): boolean {
  if (weight !== soFar.weight) return weight > soFar.weight
  return beatsAtEqualWeight(patterns, rule, soFar.rule)
}

export function beatsAtEqualWeight(patterns: Patterns, rule: number, other: number): boolean {
  const allows = (patterns.marks[2 * rule + 1] as number) & 1
  const otherAllows = (patterns.marks[2 * other + 1] as number) & 1
  return allows === otherAllows ? rule < other : allows === 1
}
