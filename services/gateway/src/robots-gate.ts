/**
 * May we? Facts come with the lane, rules from a bounded cache by content hash; `judge` reads them under the agent's
 * policy. What is compiled is shared by all origins that serve the same octets.
 */

import type { Agent } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import { tokensOf } from '@decorum/politeness'
import { namesRobotsTxt, type OutcomeBody } from '@decorum/protocol'
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
import { Recent } from './recent.ts'

/** Compiled rules held per process, by weight of their source. */
const RULES_BYTES = 64 * 1024 * 1024
/** What a rule set weighs at least, with its keys. */
const RULES_FLOOR_BYTES = 2_048
const ORIGINS = 50_000
/** A state seen this recently still speaks at intake; older ones are asked for again when the lane is taken. */
const INTAKE_TRUST_MS = 5_000

type Seen = { state: RobotsState; at: number }

/** Rules in force; undefined: none are needed. 'lost': needed, and nobody knows them any more. */
export type RulesInForce = RobotsTxt | undefined | 'lost'

export type RobotsGate = {
  /** What `judge` goes by at an origin, loaded first when it is not at hand. */
  rules(agent: Agent, origin: string, state: RobotsState, now: number): RulesInForce | Promise<RulesInForce>
  /** The verdict for a lane's URL. @param rules  as `rules` gave them for this state and instant */
  judge(agent: Agent, origin: string, path: string, state: RobotsState, rules: RulesInForce, now: number): Judgement
  /** The outcome of a URL that fresh rules at hand forbid; undefined when it has to wait for its lane like others. */
  atIntake(agent: Agent, origin: string, path: string): OutcomeBody | undefined
  /** Remembers what take has shown, for intake. */
  note(origin: string, state: RobotsState, now: number): void
}

export function robotsGate(ledger: Ledger, retryMs: number | undefined): RobotsGate {
  const seen = new Recent<string, Seen>(ORIGINS)
  const rules = new LRUCache<string, RobotsTxt>({ maxSize: RULES_BYTES })
  const policyOf = policiesWith(retryMs)

  const load = async (agent: Agent, origin: string, hash: string): Promise<RulesInForce> => {
    const body = await ledger.body(ledger.partitionOf(origin), hash)
    if (body === undefined) return 'lost'
    const compiled = parseRobots(body, { policy: policyOf(agent) })
    rules.set(ruleKey(agent, hash), compiled, { size: Math.max(RULES_FLOOR_BYTES, body.length * 3) })
    return compiled
  }
  const self: RobotsGate = {
    rules(agent, origin, state, now) {
      const hash = needsRules(state, policyOf(agent), now)
      return hash === undefined ? undefined : (rules.get(ruleKey(agent, hash)) ?? load(agent, origin, hash))
    },
    judge(agent, origin, path, state, inForce, now) {
      const { question } = state
      if (question !== undefined && question.until > now && namesRobotsTxt(path))
        return { kind: 'wait', until: question.until, why: 'robots-in-flight' } // one fetch of it at a time, also as a page
      if (inForce === 'lost') return judgeLost(state, policyOf(agent), now)
      const facts = inForce === undefined ? state : { ...state, rules: inForce }
      return judge(facts, judged(origin, path), namesOf(agent), policyOf(agent), now)
    },
    atIntake(agent, origin, path) {
      const known = seen.get(origin)
      const now = ledger.now(ledger.partitionOf(origin))
      if (known === undefined || now - known.at > INTAKE_TRUST_MS) return undefined
      const hash = needsRules(known.state, policyOf(agent), now)
      const compiled = hash === undefined ? undefined : rules.peek(ruleKey(agent, hash)) // take will call it used
      if (compiled === undefined) return undefined
      const verdict = self.judge(agent, origin, path, known.state, compiled, now)
      return verdict.kind === 'refused' && !verdict.stale ? disallowed(verdict) : undefined
    },
    note: (origin, state, now) => seen.set(origin, { state, at: now }),
  }
  return self
}

/**
 * The ledger has lost the body that is in force: nobody knows the rules, so nobody may go on. The origin is asked again: at once
 * after a good answer, and after a failure when the retry is due, as if there had never been a copy.
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

/** Rules are about paths: the origin is only written before one that would read as another host without it. */
const judged = (origin: string, path: string): string => (path.startsWith('//') ? origin + path : path)

/** An agent's names, put together once. */
const names = new WeakMap<Agent, string | string[]>()
function namesOf(agent: Agent): string | string[] {
  const known = names.get(agent)
  if (known !== undefined) return known
  const all = tokensOf(agent)
  const short = all.length === 1 ? (all[0] as string) : all
  names.set(agent, short)
  return short
}

/** Policies that read a file alike could share its rules; keeping them apart costs little and cannot be wrong. */
const ruleKey = (agent: Agent, hash: string): string => `${agent.profile} ${hash}`

export function disallowed(verdict: Extract<Judgement, { kind: 'refused' }>): OutcomeBody {
  const { rule, group } = verdict
  return { kind: 'disallowed', rule: `${rule.type}: ${rule.pattern}`, line: rule.line, group: [...group.agents] }
}

/** The profiles, with the operator's first retry where one is set. */
export function policiesWith(retryMs: number | undefined): (agent: Agent) => Policy {
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
