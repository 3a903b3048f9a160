/**
 * Decides whether robots.txt allows a URL. The state of the origin comes with the lane, its rules from a bounded cache by content hash, and
 * `judge` of @decorum/robots applies the agent's policy. Origins that serve the same bytes share their compiled rules.
 */
import type { Agent } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import { namesRobotsTxt, type RuleRef } from '@decorum/protocol'
import {
  type Judgement,
  judge,
  needsRules,
  type Policy,
  parseRobots,
  policies,
  type RobotsState,
  type RobotsTxt,
} from '@decorum/robots'
import { LRUCache } from 'lru-cache'
import { tokensOf } from '../index.ts'
import { Recent } from './recent.ts'

/** Limit of the cache of compiled rules: a rule set weighs three times the length of its source. */
const RULES_BYTES = 64 * 1024 * 1024
/** The least weight of a rule set in that cache. */
const RULES_FLOOR_BYTES = 2_048
/** An older state is not used at intake: the ledger decides when the lane is reserved. */
const INTAKE_TRUST_MS = 5_000
/** Number of origins whose states are cached for that time. */
const ORIGINS = 20_000

type Seen = { state: RobotsState; at: number }

/** Rules in force; undefined: none are needed. 'lost': they are needed, but the ledger has lost them. */
export type RulesInForce = RobotsTxt | undefined | 'lost'

export type RobotsJudge = ReturnType<typeof robotsJudge>

export function robotsJudge(ledger: Pick<Ledger, 'body' | 'partitionOf' | 'now'>, retryMs: number | undefined) {
  const seen = new Recent<string, Seen>(ORIGINS)
  const rules = new LRUCache<string, RobotsTxt>({ maxSize: RULES_BYTES })
  let policyOf = policiesWith(retryMs)

  const load = async (agent: Agent, origin: string, hash: string): Promise<RulesInForce> => {
    const body = await ledger.body(ledger.partitionOf(origin), hash)
    if (body === undefined) return 'lost'
    const compiled = parseRobots(body, { policy: policyOf(agent) })
    rules.set(ruleKey(agent, hash), compiled, { size: Math.max(RULES_FLOOR_BYTES, body.length * 3) })
    return compiled
  }
  const self = {
    /** The hash of the body that is in force for an agent, for callers that need the file itself. */
    inForce: (agent: Agent, state: RobotsState, now: number): string | undefined =>
      needsRules(state, policyOf(agent), now),
    /** The rules that `judge` needs for an origin; loaded when they are not in the cache. */
    rules(agent: Agent, origin: string, state: RobotsState, now: number): RulesInForce | Promise<RulesInForce> {
      const hash = needsRules(state, policyOf(agent), now)
      return hash === undefined ? undefined : (rules.get(ruleKey(agent, hash)) ?? load(agent, origin, hash))
    },
    /** The verdict for a lane's URL. @param inForce  the result of `rules` for this state and instant */
    judge(
      agent: Agent,
      origin: string,
      path: string,
      state: RobotsState,
      inForce: RulesInForce,
      now: number,
    ): Judgement {
      const { question } = state
      if (question !== undefined && question.until > now && namesRobotsTxt(path))
        return { kind: 'wait', until: question.until, why: 'robots-in-flight' } // one robots fetch at a time, even when the URL is a page of a frontier
      if (inForce === 'lost') return judgeLost(state, policyOf(agent), now)
      const facts = inForce === undefined ? state : { ...state, rules: inForce }
      return judge(facts, judged(origin, path), namesOf(agent), policyOf(agent), now)
    },
    /** The outcome of a URL that fresh rules in the cache forbid; undefined when the URL must wait for its lane. */
    atIntake(agent: Agent, origin: string, path: string): Disallowed | undefined {
      const known = seen.get(origin)
      const now = ledger.now(ledger.partitionOf(origin))
      if (known === undefined || now - known.at > INTAKE_TRUST_MS) return undefined
      const hash = needsRules(known.state, policyOf(agent), now)
      const compiled = hash === undefined ? undefined : rules.peek(ruleKey(agent, hash)) // only a reserved lane counts as a use
      if (compiled === undefined) return undefined
      const verdict = self.judge(agent, origin, path, known.state, compiled, now)
      return verdict.kind === 'refused' && !verdict.stale ? disallowed(verdict) : undefined
    },
    /** Remembers, for intake, a state that came with a reserved lane. */
    remember: (origin: string, state: RobotsState, now: number): void => seen.set(origin, { state, at: now }),
    /** sets the time until the first retry of an unreachable robots.txt, ms, from the next verdict on; undefined: the profile's */
    setRetry(next: number | undefined): void {
      policyOf = policiesWith(next)
    },
  }
  return self
}

/**
 * The verdict when the ledger has lost the body of the rules in force: no page may be fetched. The robots.txt is fetched again: at once
 * after a good answer; after a failure when its retry is due, as if there had never been a copy.
 */
function judgeLost(state: RobotsState, policy: Policy, now: number): Judgement {
  const { copy: _, olderCopies: __, ...facts } = state
  if (state.answer === undefined || policy.answers[state.answer.kind] !== 'unreachable') {
    const { question } = state
    return question !== undefined && question.until > now
      ? { kind: 'wait', until: question.until, why: 'robots-in-flight' }
      : { kind: 'ask' }
  }
  return judge(facts, '/', '*', { ...policy, withoutCopy: 'refuse', afterwards: 'refuse' }, now)
}

/** `judge` takes a path; a path that starts with two slashes needs its origin, or it would be read as a host. */
const judged = (origin: string, path: string): string => (path.startsWith('//') ? origin + path : path)

/** The names of an agent, cached because they are needed for every URL. */
const names = new WeakMap<Agent, string | string[]>()
function namesOf(agent: Agent): string | string[] {
  const known = names.get(agent)
  if (known !== undefined) return known
  const all = tokensOf(agent)
  const short = all.length === 1 ? (all[0] as string) : all
  names.set(agent, short)
  return short
}

/** Rules are compiled per profile, since profiles read a file differently. */
const ruleKey = (agent: Agent, hash: string): string => `${agent.profile} ${hash}`

/** The verdict in the form of a URL's outcome. */
export type Disallowed = { kind: 'disallowed' } & RuleRef

export function disallowed({ rule, group }: Extract<Judgement, { kind: 'refused' }>): Disallowed {
  return { kind: 'disallowed', rule: `${rule.type}: ${rule.pattern}`, line: rule.line, group: [...group.agents] }
}

/** The profiles, with the operator's first retry if one is set. */
function policiesWith(retryMs: number | undefined): (agent: Agent) => Policy {
  if (retryMs === undefined) return (agent) => policies[agent.profile]
  const table = new Map(Object.entries(policies).map(([name, policy]) => [name, withRetry(policy, retryMs)]))
  return (agent) => table.get(agent.profile) ?? policies[agent.profile]
}

function withRetry(policy: Policy, retryMs: number): Policy {
  const longest = Math.max(retryMs, policy.longestRetryMs)
  return {
    ...policy,
    firstRetryMs: retryMs,
    longestRetryMs: longest,
    firstBusyRetryMs: Math.min(retryMs, policy.firstBusyRetryMs),
  }
}
