/**
 * Decides the fate of a reserved lane. Pure. Its first URLs are read in order: a URL that needs no request leaves with its outcome, the
 * first that may be fetched becomes an order, and a URL that must wait defers the lane until a known time.
 */

import { type Agent, UNKNOWN_AGENT_WAIT_MS } from '@decorum/config'
import type { ReservedLane, Resolution } from '@decorum/ledger'
import { type Delay, effectiveDelay, visitTimeOpensAt } from '@decorum/politeness'
import { deadOrigin, disallowed, senderGate } from '@decorum/politeness/admission'
import { DEFAULT_CRAWL, type Order, type Outcome, type OutcomeBody, outcomeOf, traceOf } from '@decorum/protocol'
import { type Judgement, policies, type RobotsTxt } from '@decorum/robots'
import { defined } from '@decorum/runtime'

/** Time allowed from the start of a lease to the first byte of its request. */
const CONNECTING_MS = 2_000

export type Decision = { resolution: Resolution; order?: Order }

export type DecideWith = {
  judge(path: string): Judgement
  /** the rules in force; undefined: there are none, or they are lost */
  rules: RobotsTxt | undefined
  maxAttempts: number
  /** length of a reservation: an order is started within it, ms */
  reserveMs: number
  /** a crawl's own limit of attempts, if it has one; the smaller limit counts */
  attemptsOf?(crawl: string): number | undefined
  /** wall clock, for the `at` of outcomes */
  wallNow(): number
}

export function decide(lane: ReservedLane, agent: Agent, given: DecideWith): Decision {
  const dropped: Outcome[] = []
  const { origin, fence, now, wallAt } = lane
  // A lane that is due later is judged for that instant: judged for now, it could be deferred until then again and again.
  const opens = Math.max(now, lane.notBefore)
  const leave = (next: Resolution['next']): Decision => ({
    resolution: { agent: lane.agent, origin, fence, dropped, next },
  })

  for (const [index, first] of lane.urls.entries()) {
    const attempts = index === 0 ? lane.tries : 0
    const wanted = given.attemptsOf?.(first.crawl ?? DEFAULT_CRAWL)
    const expires = first.expiresAt - wallAt + now // on the ledger's clock
    const drop = (body: OutcomeBody): void => {
      const { id, path, crawl, meta } = first
      const about = { id, url: origin + path, agent: agent.name, at: given.wallNow(), attempts, crawl, meta }
      dropped.push(outcomeOf(about, body))
    }
    const make = (kind: Order['kind'], path: string, delay: Delay): Decision => {
      const request = kind === 'robots' ? traceOf(first.request) : first.request
      return {
        ...leave({ kind: 'keep' }),
        order: {
          kind,
          agent: lane.agent,
          origin,
          path,
          fence,
          version: lane.robots.version,
          delayMs: delay.delayMs,
          notBefore: lane.notBefore,
          id: first.id,
          attempt: attempts + 1,
          hops: first.hops,
          expiresAt: first.expiresAt,
          priority: first.priority,
          crawl: first.crawl ?? DEFAULT_CRAWL,
          ...defined({ maxAttempts: wanted, meta: first.meta, from: first.from, request }),
        },
      }
    }

    if (expires <= now) {
      drop({ kind: 'expired', reason: lane.heldBy ?? 'lane-busy' })
      continue
    }
    if (attempts >= Math.min(wanted ?? given.maxAttempts, given.maxAttempts)) {
      drop({ kind: 'failed', reason: 'lease-expired', detail: `${attempts} fetchers did not report an answer` })
      continue
    }
    if (lane.blocked !== undefined) {
      drop({ kind: 'refused', reason: 'blocked-by-operator' })
      continue
    }
    const delay = effectiveDelay(agent, given.rules, recordedMs(lane, agent, given.rules))
    const dead = deadOrigin(lane.robots.state, given.maxAttempts)
    const { closedUntil = 0 } = lane
    if (closedUntil > now && closedUntil >= lane.notBefore) {
      return leave({ kind: 'defer', until: Math.min(closedUntil, expires), why: lane.heldBy ?? 'back-off' })
    }
    if (lane.refetch) {
      const { question } = lane.robots.state
      if (question === undefined || question.until <= opens) return make('robots', '/robots.txt', delay)
      return leave({ kind: 'defer', until: Math.min(question.until, expires), why: 'robots-in-flight' })
    }
    const verdict = given.judge(first.path)
    if (verdict.kind === 'refused') {
      drop(disallowed(verdict))
      continue
    }
    if (verdict.kind === 'wait' && dead !== undefined) {
      drop({ kind: 'failed', ...dead })
      continue
    }
    const spareMs = given.reserveMs + CONNECTING_MS
    // Added to `opens` as a wait: a sum of two instants loses their fractions, and would be later by a fraction of a millisecond
    const wall = wallAt + (opens - now)
    const visitFrom = opens + (visitTimeOpensAt(agent, given.rules, wall, spareMs) - wall)
    const closed = senderGate(verdict, visitFrom, opens)
    if (closed !== undefined) return leave({ kind: 'defer', until: Math.min(closed.until, expires), why: closed.gate })
    // A refresh is a separate order. The page follows after the delay, under the rules in force then.
    const isRefresh = verdict.kind === 'allowed' && verdict.refresh && lane.robots.state.question === undefined
    return verdict.kind === 'ask' || isRefresh ? make('robots', '/robots.txt', delay) : make('page', first.path, delay)
  }
  return leave({ kind: 'release' }) // all URLs that were read have left: the lane is due again if it has more
}

/**
 * The recorded delay, used while the rules are not at hand. It was calculated with the minimum delay of that time, which may have become
 * shorter; the ledger keeps a delay set by an operator when the request starts.
 */
function recordedMs({ robots, delayMs }: ReservedLane, agent: Agent, rules: RobotsTxt | undefined): number | undefined {
  const { answer } = robots.state
  if (answer === undefined) return delayMs
  return rules !== undefined || policies[agent.profile].answers[answer.kind] === 'open' ? undefined : delayMs
}

/**
 * A lane of an unknown agent: a deployment is in progress, or the agent was removed from DECORUM_AGENTS. The lane waits for a gateway that
 * has the agent; URLs that have expired end.
 */
export function decideUnknown(lane: ReservedLane, wallNow: () => number): Decision {
  const { agent, origin, fence, urls, now } = lane
  const waiting = urls.findIndex(({ expiresAt }) => expiresAt > now)
  const expired = waiting < 0 ? urls : urls.slice(0, waiting)
  const dropped = expired.map(({ id, path, crawl, meta }, index) => {
    const attempts = index === 0 ? lane.tries : 0
    const about = { id, url: origin + path, agent, at: wallNow(), attempts, crawl, meta }
    return outcomeOf(about, { kind: 'expired', reason: 'unknown-agent' })
  })
  const first = urls[expired.length]
  const next: Resolution['next'] =
    first === undefined
      ? { kind: 'release' }
      : { kind: 'defer', until: Math.min(now + UNKNOWN_AGENT_WAIT_MS, first.expiresAt), why: 'unknown-agent' }
  return { resolution: { agent, origin, fence, dropped, next } }
}
