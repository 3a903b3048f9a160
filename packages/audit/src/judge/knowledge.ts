/**
 * What an agent could know of an origin's rules when it made a request, from the robots.txt answers in the record alone.
 * Where more than one view was possible (an answer that another lane had just been given, a connection cut in mid-body), all
 * are given: only what every one of them forbids is held against the agent.
 */
import type { Policy, RobotsTxt } from '@decorum/robots'
import type { AuditedAgent } from '../agents.ts'
import { type Answer, answerOf, type Bodies } from './answers.ts'
import type { Chains } from './chains.ts'
import type { Exchanges } from './columns.ts'
import { KnownOfPlace, NOTHING } from './known.ts'
import type { Lane, Place } from './lanes.ts'
import type { Meter } from './meter.ts'
import { inForce, type Known, type State, type Timeline, timelineOf } from './timeline.ts'

export type View =
  | { kind: 'rules'; rules: RobotsTxt; body: number }
  | { kind: 'open' }
  /** the site cannot be asked: nothing may be fetched */
  | { kind: 'refused' }
  /** the record does not tell */
  | { kind: 'unknown' }

/** Of more answers than this, all of them possible, nothing is concluded. */
const MOST_POSSIBLE = 16

const UNKNOWN: View = { kind: 'unknown' }

/** One request, as far as knowledge goes: who, when, and the chain that it is part of (-1: none). */
export type Asking = { agent: AuditedAgent; agentId: number; startMin: number; startMax: number; chain: number }

export class Knowledge {
  readonly #answers = new Map<string, Answer>()
  readonly #views = new Map<Policy, Map<number, View>>()
  readonly #delays = new Map<AuditedAgent, Map<RobotsTxt, number>>()
  readonly #of: { chains: Chains; exchanges: Exchanges; bodies: Bodies; lanes: Lane[]; graceMs: number; meter: Meter }

  constructor(of: {
    chains: Chains
    exchanges: Exchanges
    bodies: Bodies
    lanes: Lane[]
    graceMs: number
    meter: Meter
  }) {
    this.#of = of
  }

  /** The views that the request may rest on; empty: nothing had been answered yet. */
  views(place: Place, asking: Asking): View[] {
    const { known, readings } = this.#timelineOf(place, asking.agent.policy)
    const { first, last } = this.#possible(known, asking)
    const found: View[] = []
    for (const states of readings) {
      for (let at = first; at <= last; at++) {
        this.#of.meter.steps++
        const view = this.#viewOf(states[at] as State, asking.agent.policy, asking.startMin)
        if (!found.includes(view)) found.push(view)
      }
    }
    if (last - first + 1 >= MOST_POSSIBLE && !found.includes(UNKNOWN)) found.push(UNKNOWN)
    return found
  }

  /** The latest instant at which anything had been answered before the request. */
  answeredAt(place: Place, asking: Asking): number | undefined {
    const { known } = this.#timelineOf(place, asking.agent.policy)
    const { last } = this.#possible(known, asking)
    return last < 0 ? undefined : known.sure(last)
  }

  /** The delay that the agent owes under the mildest of these views, ms. */
  delay(views: readonly View[], agent: AuditedAgent): number {
    let least = views.length === 0 ? agent.minDelayMs : Number.POSITIVE_INFINITY
    for (const view of views) least = Math.min(least, this.#delayUnder(view, agent))
    return least
  }

  /** The longest delay that any answer of this place may ever have asked of the agent. */
  longestDelay(place: Place, agent: AuditedAgent): number {
    let longest = agent.minDelayMs
    const known = this.knownOf(place)
    const bodies = new Set<number>()
    for (let at = 0; at < known.length; at++) bodies.add(known.answer(at).body)
    for (const body of bodies) {
      const rules = this.#of.bodies.rules(body, agent.policy)
      if (rules !== undefined) longest = Math.max(longest, this.#delayUnder({ kind: 'rules', rules, body }, agent))
    }
    return longest
  }

  /** Answers of a place in the order in which they may have been known. */
  knownOf(place: Place): Known {
    place.known ??= this.#readPlace(place)
    return place.known
  }

  #readPlace(place: Place): Known {
    if (place.fetches.length === 0) return NOTHING
    return new KnownOfPlace(place, this.#of, (fetch) => this.#shared(answerOf(fetch, place.origin, this.#of)))
  }

  #shared(answer: Answer): Answer {
    const key = `${answer.kind} ${answer.body} ${answer.doubtful}`
    const known = this.#answers.get(key) ?? answer
    this.#answers.set(key, known)
    return known
  }

  #timelineOf(place: Place, policy: Policy): Timeline {
    place.timelines ??= []
    for (const made of place.timelines) if (made.policy === policy) return made.timeline
    const timeline = timelineOf(this.knownOf(place), policy)
    place.timelines.push({ policy, timeline })
    return timeline
  }

  /** First and last of the answers, one of which was the latest that the request's agent knew. */
  #possible(known: Known, { agentId, startMin, startMax, chain }: Asking): { first: number; last: number } {
    let low = 0
    let high = known.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (known.from(middle) <= startMax) low = middle + 1
      else high = middle
    }
    let last = low - 1
    // Nobody knows what the fetch will bring that a request is itself a part of.
    if (chain >= 0) {
      for (let at = last; at >= 0 && known.from(at) >= startMin; at--) {
        this.#of.meter.steps++
        if (known.chain(at) === chain) last = at - 1
      }
    }
    const isSure = (at: number): boolean =>
      known.sure(at) + (known.agentId(at) === agentId ? 0 : this.#of.graceMs) <= startMin
    let first = Math.max(last, 0)
    while (first > 0 && last - first + 1 < MOST_POSSIBLE && !isSure(first)) {
      this.#of.meter.steps++
      first--
    }
    return { first: last < 0 ? 0 : first, last }
  }

  #viewOf(state: State, policy: Policy, at: number): View {
    const force = inForce(state, policy, at)
    if (force.kind !== 'rules') return force.kind === 'unknown' ? UNKNOWN : force
    const views = this.#views.get(policy) ?? new Map<number, View>()
    this.#views.set(policy, views)
    let view = views.get(force.body)
    if (view === undefined) {
      const rules = this.#of.bodies.rules(force.body, policy)
      view = rules === undefined ? UNKNOWN : { kind: 'rules', rules, body: force.body }
      views.set(force.body, view)
    }
    return view
  }

  #delayUnder(view: View, agent: AuditedAgent): number {
    const { minDelayMs, maxDelayMs, honourCrawlDelay, tokens } = agent
    if (view.kind !== 'rules' || !honourCrawlDelay) return minDelayMs
    const delays = this.#delays.get(agent) ?? new Map<RobotsTxt, number>()
    this.#delays.set(agent, delays)
    let delay = delays.get(view.rules)
    if (delay === undefined) {
      const seconds = view.rules.crawlDelay(tokens)
      delay = seconds === undefined ? minDelayMs : Math.max(minDelayMs, Math.min(seconds * 1_000, maxDelayMs))
      delays.set(view.rules, delay)
    }
    return delay
  }
}
