/** Explains an answer to robots.txt before any rule is applied: docs/spec/robots.md §6, in words. Pure. */
import {
  judge,
  needsRules,
  type ProfileName,
  parseRobots,
  policies,
  type RobotsState,
  step,
  unknownOrigin,
} from '@decorum/robots'
import type { RobotsAnswer } from './ask-robots.ts'

/** `obey`: its rules count · `open`: no restriction · `closed`: nothing may be fetched until it answers properly */
export type Meaning = { profile: ProfileName; kind: 'obey' | 'open' | 'closed' }

/** Reads it as the very first answer of its site, without an earlier copy. */
export function meaningOf({ event }: RobotsAnswer, profile: ProfileName): Meaning {
  if (event === undefined) return { profile, kind: 'closed' }
  return meaningIn(step(unknownOrigin, event, 0), profile, 0) ?? { profile, kind: 'closed' }
}

/** The state of a site as a profile reads it; undefined: it must be fetched first. */
export function meaningIn(state: RobotsState, profile: ProfileName, now: number): Meaning | undefined {
  const policy = policies[profile]
  if (needsRules(state, policy, now) !== undefined) return { profile, kind: 'obey' }
  const { kind } = judge({ ...state, rules: parseRobots('') }, '/', '*', policy, now)
  if (kind === 'ask') return undefined
  return { profile, kind: kind === 'allowed' ? 'open' : 'closed' }
}

export function printMeaning({ profile, kind }: Meaning): string {
  const words =
    kind === 'open' ? 'allowed: no rules, no restriction' : 'not now: nothing may be fetched before it answers'
  return `${profile}: ${words}`
}

/** The answer, in one line. */
export function sentenceOf(answer: RobotsAnswer): string {
  const where = answer.found === answer.asked ? answer.asked : `${answer.asked} → ${answer.found}`
  switch (answer.kind) {
    case 'answered': {
      const cut = answer.cut ? ', the rest is ignored' : ''
      return `${where}: ${answer.status}, ${answer.octets.length} octets${cut}, ${Math.round(answer.ms)} ms`
    }
    case 'too-many-redirects':
      return `${where}: more than five redirects`
    case 'unanswered':
      return `${where}: ${answer.why}`
    default:
      return answer satisfies never
  }
}
