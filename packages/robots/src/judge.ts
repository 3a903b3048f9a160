/** Facts read under a policy: may this URL be fetched now? (spec/robots.md §6, §7) */
import type { Agent } from './agent.ts'
import type { Instant, RobotsState } from './origin-state.ts'
import type { Policy } from './policies.ts'
import type { Group, RobotsTxt, Rule } from './robots-txt.ts'

export type Judgement =
  | { kind: 'allowed'; why: AllowedReason; rule?: Rule; group?: Group; refresh: boolean; stale: boolean }
  | { kind: 'refused'; rule: Rule; group: Group; refresh: boolean; stale: boolean }
  | { kind: 'wait'; until: Instant; why: 'being-asked' | 'unreachable' }
  | { kind: 'ask' }

export type AllowedReason =
  | 'robots.txt' // /robots.txt itself
  | 'rule' // an allow rule won
  | 'no-match' // no rule of the group matches
  | 'no-group' // nobody named, not even everybody
  | 'unavailable' // the site has no robots.txt: no restriction
  | 'outage-without-copy' // unreachable, and the policy opens the site

/** The verdict. Written in the next change. */
export function judge(
  _state: RobotsState & { rules?: RobotsTxt },
  _url: string,
  _agent: Agent,
  _policy: Policy,
  _now: Instant,
): Judgement {
  throw new Error('judge is not written yet')
}

/** The hash of the body whose rules `judge` will need. Written in the next change. */
export function needsRules(_state: RobotsState, _policy: Policy, _now: Instant): string | undefined {
  throw new Error('needsRules is not written yet')
}
