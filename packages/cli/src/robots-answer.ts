/** What an answer to robots.txt means before any rule is looked at: spec/robots.md §6, in words. Pure. */
import { judge, needsRules, type ProfileName, parseRobots, policies, step, unknownOrigin } from '@decorum/robots'
import type { RobotsAnswer } from './ask-robots.ts'

/** `obey`: its rules count · `open`: no restriction · `closed`: nothing may be fetched before it answers well */
export type Meaning = { profile: ProfileName; kind: 'obey' | 'open' | 'closed' }

/** As the very first answer of its site: no earlier copy softens it. */
export function meaningOf(answer: RobotsAnswer, profile: ProfileName): Meaning {
  const now = 0
  const state = step(unknownOrigin, eventOf(answer), now)
  const policy = policies[profile]
  if (needsRules(state, policy, now) !== undefined) return { profile, kind: 'obey' }
  const { kind } = judge({ ...state, rules: parseRobots('') }, '/', '*', policy, now)
  return { profile, kind: kind === 'allowed' ? 'open' : 'closed' }
}

function eventOf(answer: RobotsAnswer): Parameters<typeof step>[1] {
  switch (answer.kind) {
    case 'answered':
      return { kind: 'answered', status: answer.status, hash: 'this one', jitter: 0 }
    case 'too-many-redirects':
      return { kind: 'unanswered', reason: 'too-many-redirects', jitter: 0 }
    case 'unanswered':
      return { kind: 'unanswered', reason: 'connect', jitter: 0 }
    default:
      return answer satisfies never
  }
}

export function printMeaning({ profile, kind }: Meaning): string {
  const words =
    kind === 'open' ? 'allowed: no rules, no restriction' : 'not now: nothing may be fetched before it answers'
  return `${profile}: ${words}`
}

/** What came back, in a line. */
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
