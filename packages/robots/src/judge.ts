/**
 * Decides, from facts and a policy, whether a URL may be fetched now (RFC 9309 §2.3, §2.4; docs/spec/robots.md §6, §7).
 *
 * `consult` finds the rules in force, in this order: an answer that is still fresh, else the window of the outage. `judge` applies them to
 * the URL. When the rules are unknown, expired or in doubt, the verdict is ask or wait, never allow.
 */
import type { Agent } from './agent.ts'
import type { Copy, Heard, Instant, RobotsState } from './origin-state.ts'
import { isRobotsTxt } from './path.ts'
import type { AnswerKind, Policy } from './policies.ts'
import type { Group, RobotsTxt, Rule } from './robots-txt.ts'

export type AllowedReason =
  | 'robots.txt' // /robots.txt itself
  | 'rule' // an allow rule won
  | 'no-match' // no rule of the group matches
  | 'empty-rule' // none matches, and one of them has no pattern
  | 'no-group' // no group names the agent, and none is for '*'
  | 'unavailable' // the site has no robots.txt: no restriction
  | 'outage-without-copy' // unreachable, and the policy opens the site

export type Judgement =
  | { kind: 'allowed'; why: AllowedReason; rule?: Rule; group?: Group; refresh: boolean; stale: boolean }
  | { kind: 'refused'; rule: Rule; group: Group; refresh: boolean; stale: boolean }
  | { kind: 'wait'; until: Instant; why: 'robots-in-flight' | 'unreachable' }
  | { kind: 'ask' }

/** The rules in force: a copy, no restriction, or nothing yet. */
type InForce =
  | { kind: 'copy'; copy: Copy; refresh: boolean; stale: boolean }
  | { kind: 'open'; why: 'unavailable' | 'outage-without-copy'; refresh: boolean }
  | Extract<Judgement, { kind: 'wait' | 'ask' }>

/**
 * The verdict for one URL.
 * @param state   the facts, with the compiled rules of `needsRules(state, policy, now)` when that names a hash
 * @returns       allowed or refused (with `refresh` when one paced order should fetch robots.txt again meanwhile), wait, or ask
 * @throws Error  rules are needed and were not supplied: the caller's bug
 */
export function judge(
  state: RobotsState & { readonly rules?: RobotsTxt },
  url: string,
  agent: Agent,
  policy: Policy,
  now: Instant,
): Judgement {
  if (isRobotsTxt(url)) return { kind: 'allowed', why: 'robots.txt', refresh: false, stale: false }
  const inForce = consult(state, policy, now)
  if (inForce.kind === 'open')
    return { kind: 'allowed', why: inForce.why, refresh: inForce.refresh, stale: inForce.why !== 'unavailable' }
  if (inForce.kind !== 'copy') return inForce
  if (state.rules === undefined) throw new Error(`no rules given for ${inForce.copy.hash}`)
  const { refresh, stale } = inForce
  const { allowed, why, rule, group } = state.rules.under(policy).decide(url, agent)
  if (!allowed && rule && group) return { kind: 'refused', rule, group, refresh, stale }
  return { kind: 'allowed', why, ...(rule ? { rule } : {}), ...(group ? { group } : {}), refresh, stale }
}

/** The hash of the body whose compiled rules `judge` will need in `state.rules`, or undefined when it needs none. */
export function needsRules(state: RobotsState, policy: Policy, now: Instant): string | undefined {
  const inForce = consult(state, policy, now)
  return inForce.kind === 'copy' ? inForce.copy.hash : undefined
}

function consult(state: RobotsState, policy: Policy, now: Instant): InForce {
  const { answer } = state
  const inFlight = state.question && state.question.until > now ? state.question : undefined
  if (!answer) return inFlight ? { kind: 'wait', until: inFlight.until, why: 'robots-in-flight' } : { kind: 'ask' }
  const patience = state.notBefore ?? 0

  if (policy.answers[answer.kind] !== 'unreachable') {
    const freshForMs = freshnessMs(policy, answer.freshForMs)
    // Until a Retry-After is over, the present answer stays in force: with a definite answer it is rare, and a day at most.
    if (now < Math.max(answer.at + freshForMs, patience)) {
      const refresh = !inFlight && now >= Math.max(answer.at + freshForMs * policy.refreshAtShare, patience)
      const copy = copyOf(state, answer.kind, policy)
      return copy ? { kind: 'copy', copy, refresh, stale: false } : { kind: 'open', why: 'unavailable', refresh }
    }
    return inFlight ? { kind: 'wait', until: inFlight.until, why: 'robots-in-flight' } : { kind: 'ask' }
  }

  const outage = outageOf(state, policy)
  const dueAt = Math.max(answer.at + retryMs(policy, answer.kind, outage.failures, answer.jitter), patience)
  const due = !inFlight && now >= dueAt
  const elapsed = now - outage.since
  const copy = outage.before && copyOf(state, outage.before, policy)
  const open = { kind: 'open', why: 'outage-without-copy', refresh: due } as const

  // A file, or its absence, is in force while it is fresh, whatever the result of an early refresh.
  if (outage.last && now < outage.last.at + freshnessMs(policy, outage.last.freshForMs)) {
    if (copy) return { kind: 'copy', copy, refresh: due, stale: false }
    if (outage.before === 'missing' || outage.before === 'forbidden')
      return { kind: 'open', why: 'unavailable', refresh: due }
  }
  const fallback = copy && ({ kind: 'copy', copy, refresh: due, stale: true } as const)

  if (elapsed >= policy.staleForMs) {
    if (policy.afterwards === 'copy-or-open') return fallback ?? open
    if (policy.afterwards === 'open') return open
    if (
      policy.afterwards === 'open-if-site-answers' &&
      now - (state.siteAnsweredAt ?? -Infinity) < policy.siteAnsweredForMs
    )
      return open
  } else if (elapsed >= policy.denyForMs) {
    if (fallback) return fallback
    if (policy.withoutCopy === 'open') return open
  }
  if (due) return { kind: 'ask' }
  // The verdict may change when the robots fetch ends, when the next one is due, or when a window ends.
  const windows = [outage.since + policy.denyForMs, outage.since + policy.staleForMs].filter((end) => end > now)
  const until = Math.min(inFlight ? inFlight.until : dueAt, ...windows)
  return { kind: 'wait', until, why: inFlight ? 'robots-in-flight' : 'unreachable' }
}

/**
 * The outage under this policy: it began with the answer after the last one that the policy does not call a failure. `last` is that last
 * answer, `before` its kind. `Heard.since` orders answers even when two of them share a millisecond.
 */
function outageOf(
  state: RobotsState,
  policy: Policy,
): { since: Instant; failures: number; before?: AnswerKind; last?: Heard } {
  let last: Heard | undefined
  let before: AnswerKind | undefined
  for (const [kind, heard] of Object.entries(state.heard ?? {}) as [AnswerKind, Heard][])
    if (policy.answers[kind] !== 'unreachable' && (!last || heard.since < last.since)) {
      last = heard
      before = kind
    }
  if (last && before) return { since: last.nextAt ?? last.at, failures: last.since, before, last }
  return { since: state.first?.at ?? 0, failures: state.first?.count ?? 1 }
}

/** How long an answer is fresh: by its cache headers, within the bounds of the policy. */
function freshnessMs(policy: Policy, statedMs: number | undefined): number {
  return Math.min(Math.max(statedMs ?? policy.mostFreshMs, policy.leastFreshMs), policy.mostFreshMs)
}

/** The good copy for an answer of this kind. A policy that treats the answer as 'open' has none: there was no file. */
function copyOf(state: RobotsState, kind: AnswerKind, policy: Policy): Copy | undefined {
  if (policy.answers[kind] !== 'obey') return undefined
  if (state.copy?.kind === kind) return state.copy
  return kind === 'ok' || kind === 'success' || kind === 'partial' ? state.olderCopies?.[kind] : undefined
}

/** How long after the k-th failure the next robots fetch is due; jitter only lengthens it. */
function retryMs(policy: Policy, kind: AnswerKind, failures: number, jitter: number): number {
  const busy = kind === 'busy'
  const first = busy ? Math.min(policy.firstBusyRetryMs, policy.firstRetryMs) : policy.firstRetryMs
  const longest = busy ? Math.min(policy.longestBusyRetryMs, policy.longestRetryMs) : policy.longestRetryMs
  const backedOff = Math.max(first, Math.min(first * 2 ** (failures - 1), longest))
  return Math.ceil(backedOff * (1 + policy.jitterShare * jitter))
}
