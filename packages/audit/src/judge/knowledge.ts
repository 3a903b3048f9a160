/**
 * Computes what an agent could know of an origin's rules at each request, only from the robots.txt answers in the record. If several views
 * were possible (an answer that another lane had just received, a connection cut within a body), all are returned: only a URL that every
 * one of them forbids counts against the agent.
 */
import type { Policy, RobotsTxt } from '@decorum/robots'
import type { AuditedAgent } from '../agents.ts'
import { type Answer, answerOf, type Bodies } from './answers.ts'
import type { Chains } from './chains.ts'
import type { Exchanges } from './columns.ts'
import { Fetches } from './fetches.ts'
import type { Lanes } from './lanes.ts'
import type { Meter } from './meter.ts'
import { Recent } from './recent.ts'
import { type Answers, type InForce, States } from './timeline.ts'

type RulesView = { kind: 'rules'; rules: RobotsTxt; body: number; delays: Recent<number, number> }
export type View =
  | RulesView
  | { kind: 'open' }
  /** the rules are unreachable: nothing may be fetched */
  | { kind: 'refused' }
  /** the record does not show the rules */
  | { kind: 'unknown' }

/** With this many possible answers, or more, nothing is concluded. */
const MOST_POSSIBLE = 16
/** Number of parsed bodies that are cached, and for each the agents whose delay is cached. */
const MOST_VIEWS = 10_000
const MOST_DELAYS = 128

const UNKNOWN: View = { kind: 'unknown' }

/** The facts about a request that determine on which answers it may be based; `chain` is -1 outside of chains. */
export type RequestFacts = {
  lane: number
  agent: AuditedAgent
  agentId: number
  startMin: number
  startMax: number
  chain: number
}

/** The states under one policy: with each answer as it is, and, if some are doubtful, again with those as given up. */
type Reading = { readings: States[]; views: Recent<number, RulesView> }

export class Knowledge {
  readonly fetches: Fetches
  readonly #readings = new Map<Policy, Reading>()
  readonly #answers: Answers
  readonly #of: { chains: Chains; exchanges: Exchanges; bodies: Bodies; lanes: Lanes; graceMs: number; meter: Meter }

  constructor(of: {
    chains: Chains
    exchanges: Exchanges
    bodies: Bodies
    lanes: Lanes
    graceMs: number
    meter: Meter
  }) {
    this.#of = of
    this.fetches = new Fetches(of)
    this.#answers = {
      places: of.lanes.places,
      first: this.fetches.first,
      beyond: this.fetches.beyond,
      answer: (at, place) => this.answer(at, place),
      began: (at) => of.exchanges.startMin(of.chains.firstOf(this.fetches.answered(at))),
      ended: (at) => this.fetches.sure(at),
    }
  }

  /** The answer at an index of the list of fetches by end. */
  answer = (at: number, place: number): Answer => answerOf(this.fetches.answered(at), place, this.#of)

  /** The views on which the request may be based; empty: nothing had been answered yet. */
  views(place: number, facts: RequestFacts): View[] {
    const { policy } = facts.agent
    const { readings } = this.#readingOf(policy)
    const { first, last } = this.#possible(place, facts)
    const found: View[] = []
    for (const states of readings) {
      for (let at = first; at <= last; at++) {
        this.#of.meter.steps++
        for (const force of [states.inForce(at, facts.startMin), states.stillFresh(at, place, facts.startMin)]) {
          const view = force && this.#viewOf(force, policy)
          if (view !== undefined && !found.includes(view)) found.push(view)
        }
      }
    }
    if (last - first + 1 >= MOST_POSSIBLE && !found.includes(UNKNOWN)) found.push(UNKNOWN)
    return found
  }

  /** Latest possible end of the newest answer on which the request may be based, ms since 1970; undefined: there is none. */
  answeredAt(place: number, facts: RequestFacts): number | undefined {
    const { first, last } = this.#possible(place, facts)
    return last < first ? undefined : this.fetches.sure(last)
  }

  /** The delay that the agent owes under the mildest of these views, ms. */
  delay(views: readonly View[], agent: AuditedAgent, agentId: number): number {
    let least = views.length === 0 ? agent.minDelayMs : Number.POSITIVE_INFINITY
    for (const view of views) least = Math.min(least, delayUnder(view, agent, agentId))
    return least
  }

  /** The longest delay that any answer of this place may have demanded of the agent, ms. */
  longestDelay(place: number, agent: AuditedAgent, agentId: number): number {
    let longest = agent.minDelayMs
    const bodies = new Set<number>()
    for (let at = this.fetches.first(place); at < this.fetches.beyond(place); at++)
      bodies.add(this.answer(at, place).body)
    for (const body of bodies)
      longest = Math.max(longest, delayUnder(this.#viewOf({ kind: 'rules', body }, agent.policy), agent, agentId))
    return longest
  }

  #readingOf(policy: Policy): Reading {
    let reading = this.#readings.get(policy)
    if (reading === undefined) {
      let doubtful = false
      const read = new States(this.#answers, policy, (answer) => {
        doubtful ||= answer.doubtful
        return answer.kind
      })
      const readings = [read]
      if (doubtful)
        readings.push(new States(this.#answers, policy, (answer) => (answer.doubtful ? 'no-answer' : answer.kind)))
      reading = { readings, views: new Recent(MOST_VIEWS) }
      this.#readings.set(policy, reading)
    }
    return reading
  }

  /** First and last index of the answers that may have been the agent's newest at the request; last < first: none. */
  #possible(place: number, { agentId, startMin, startMax, chain }: RequestFacts): { first: number; last: number } {
    const { fetches } = this
    const least = fetches.first(place)
    let low = least
    let high = fetches.beyond(place)
    while (low < high) {
      const middle = (low + high) >>> 1
      if (fetches.from(middle) <= startMax) low = middle + 1
      else high = middle
    }
    let last = low - 1
    // The requests of a fetch cannot be based on its result.
    if (chain >= 0) {
      for (let at = last; at >= least && fetches.from(at) >= startMin; at--) {
        this.#of.meter.steps++
        if (fetches.chain(at) === chain) last = at - 1
      }
    }
    const isSure = (at: number): boolean =>
      fetches.sure(at) + (fetches.agentOf(at) === agentId ? 0 : this.#of.graceMs) <= startMin
    let first = Math.max(last, least)
    while (first > least && last - first + 1 < MOST_POSSIBLE && !isSure(first)) {
      this.#of.meter.steps++
      first--
    }
    return { first, last }
  }

  #viewOf(force: InForce, policy: Policy): View {
    if (force.kind !== 'rules') return force.kind === 'unknown' ? UNKNOWN : force
    const { views } = this.#readingOf(policy)
    const known = views.get(force.body)
    if (known !== undefined) return known
    const rules = this.#of.bodies.rules(force.body, policy)
    if (rules === undefined) return UNKNOWN
    const view: RulesView = { kind: 'rules', rules, body: force.body, delays: new Recent(MOST_DELAYS) }
    views.set(force.body, view)
    return view
  }
}

function delayUnder(view: View, agent: AuditedAgent, agentId: number): number {
  const { minDelayMs, maxDelayMs, honourCrawlDelay, tokens } = agent
  if (view.kind !== 'rules' || !honourCrawlDelay) return minDelayMs
  let delay = view.delays.get(agentId)
  if (delay === undefined) {
    const seconds = view.rules.crawlDelay(tokens)
    delay = seconds === undefined ? minDelayMs : Math.max(minDelayMs, Math.min(seconds * 1_000, maxDelayMs))
    view.delays.set(agentId, delay)
  }
  return delay
}
