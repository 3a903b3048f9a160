/** Explains an answer to robots.txt before any rule is applied: docs/spec/robots.md §6, in words. Pure. */
import { isIP } from 'node:net'
import {
  judge,
  needsRules,
  type ProfileName,
  parseRobots,
  policies,
  type RobotsEvent,
  type RobotsState,
  step,
  unknownOrigin,
} from '@decorum/robots'

/** `obey`: its rules count · `open`: no restriction · `closed`: nothing may be fetched until it answers properly */
export type Meaning = { profile: ProfileName; kind: 'obey' | 'open' | 'closed' }

/** The meaning of an answer to a first fetch, without an earlier copy; `closed` if `event` is undefined. */
export const meaningOf = (event: RobotsEvent | undefined, profile: ProfileName): Meaning =>
  (event && meaningIn(step(unknownOrigin, event, 0), profile, 0)) ?? { profile, kind: 'closed' }

/** The meaning of a site's robots state under a profile; undefined: robots.txt must be fetched first. */
export function meaningIn(state: RobotsState, profile: ProfileName, now: number): Meaning | undefined {
  const policy = policies[profile]
  if (needsRules(state, policy, now) !== undefined) return { profile, kind: 'obey' }
  const { kind } = judge({ ...state, rules: parseRobots('') }, '/', '*', policy, now)
  if (kind === 'ask') return undefined
  return { profile, kind: kind === 'allowed' ? 'open' : 'closed' }
}

/** @param unanswered  why there is no answer; undefined when there is one */
export function printMeaning({ profile, kind }: Meaning, origin: string, unanswered: string | undefined): string {
  const words = kind === 'open' ? 'allowed: no rules, no restriction' : closedWords(origin, unanswered)
  return `${profile}: ${words}`
}

function closedWords(origin: string, unanswered: string | undefined): string {
  const { hostname, port } = new URL(origin)
  const bare = hostname.replace(/^\[|\]$/g, '')
  if (unanswered === 'blocked-address')
    return `no: for a site of your own, set DECORUM_ALLOW_ADDRESSES=${isIP(bare) === 0 ? 'ADDRESS' : bare}`
  if (unanswered === 'blocked-port') return `no: for a site of your own, set DECORUM_ALLOW_PORTS=${port}`
  if (unanswered === 'not-sent') return 'not now'
  return 'not now: nothing may be fetched before it answers'
}
