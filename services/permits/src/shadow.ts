/**
 * Shadow mode: a crawler requests a permit before each request and never waits; waits and refusals that would have happened are counted.
 * No lane is reserved, so the rest of the fleet is unaffected. Lanes are simulated in this process: only from the exchanges of shadow
 * callers, without those of other processes. Robots rules are the fleet's.
 */

import { randomUUID } from 'node:crypto'
import type { Clock } from '@decorum/protocol'
import type { Judged } from '@decorum/sending/granting'
import type { Counts, Gate, ShadowAnswer } from './schemas.ts'

/** Bounds of the record: the oldest lanes and exchanges are dropped first. The totals keep their counts. */
const MOST_LANES = 10_000
const MOST_OPEN = 50_000
const MOST_SHOWN = 100

export type Would =
  | { decision: 'granted' }
  | { decision: 'wait'; gate: Gate; waitMs: number }
  | { decision: 'refused'; type: string }
type ShadowLane = {
  shown: ShadowAnswer['lanes'][number]
  /** number of exchanges that have not ended */
  open: number
  /** when the lane would be due again, ms of the monotonic clock */
  dueAt: number
  /** end of the time for which the site asked for less */
  closedUntil: number
  delayMs: number
}
type PermitAnswer = { agent: string; origin: string; holder: string; rules: Rules; leaseMs: number }
type Exchange = { lane: ShadowLane; holder: string; until: number }

const none = (): Counts => ({ requests: 0, granted: 0, waited: 0, refused: 0, waitMs: 0, longestMs: 0 })

/** The rules' verdict on a URL now. `pace`: the gate of its delay. `closed`: the gate that holds all requests, and for how long. */
export type Rules = {
  delayMs: number
  pace: 'delay' | 'crawl-delay'
  closed?: { gate: Gate; waitMs: number }
  refusal?: string
}

export function rulesOf({ judgement, closed, delayMs }: Judged, minDelayMs: number, now: number): Rules {
  const rules: Rules = { delayMs, pace: delayMs > minDelayMs ? 'crawl-delay' : 'delay' }
  if (judgement.kind === 'refused') return { ...rules, refusal: 'disallowed' }
  if (judgement.kind === 'ask' || closed?.gate === 'robots-in-flight')
    return { ...rules, closed: { gate: 'robots-in-flight', waitMs: Math.max(1, delayMs) } }
  if (closed !== undefined) return { ...rules, closed: { gate: closed.gate, waitMs: Math.max(1, closed.until - now) } }
  return rules
}

/** Whether the id is that of a shadow permit. */
export const isShadow = (id: string): boolean => id.startsWith('shadow-')

export class Shadow {
  readonly #lanes = new Map<string, ShadowLane>()
  readonly #open = new Map<string, Exchange>()
  readonly #totals = new Map<string, Counts>()
  readonly #clock: Clock
  #since: number
  #forgotten = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since = clock.machine()
  }

  /** Records a request, which is sent whatever the answer. @returns its id, and its fate under real permits */
  grant({ agent, origin, holder, rules, leaseMs }: PermitAnswer): { id: string; would: Would } {
    const now = this.#clock.monotonic()
    this.#sweep(now)
    const lane = this.#laneOf(agent, origin)
    const { delayMs } = rules
    lane.delayMs = delayMs
    const would = wouldBe(lane, now, rules)
    const { gates, refusals } = lane.shown
    for (const counts of [lane.shown, this.#totalsOf(agent)]) add(counts, would)
    if (would.decision === 'wait') gates[would.gate] = (gates[would.gate] ?? 0) + 1
    if (would.decision === 'refused') refusals[would.type] = (refusals[would.type] ?? 0) + 1
    // A refused request would not have been sent, so it does not delay its lane.
    if (would.decision !== 'refused') lane.dueAt = Math.max(lane.dueAt, now) + delayMs
    lane.open++
    const id = `shadow-${randomUUID()}`
    if (this.#open.size >= MOST_OPEN) this.#forget(this.#open.keys().next().value as string)
    this.#open.set(id, { lane, holder, until: now + leaseMs })
    return { id, would }
  }

  /**
   * Ends an exchange.
   * @param sent      false: the permit was not used
   * @param closedMs  time for which the site asked for less; 0: it did not
   * @returns false: this holder has no such exchange
   */
  end(id: string, holder: string, sent: boolean, closedMs: number): boolean {
    const lane = this.#heldBy(id, holder)?.lane
    if (lane === undefined) return false
    const now = this.#clock.monotonic()
    if (sent) lane.dueAt = Math.max(lane.dueAt, now + lane.delayMs)
    lane.closedUntil = Math.max(lane.closedUntil, now + closedMs)
    this.#forget(id)
    return true
  }

  /** @returns its lane; undefined: this holder has no such exchange */
  extend(id: string, holder: string, leaseMs: number): { agent: string; origin: string } | undefined {
    const exchange = this.#heldBy(id, holder)
    if (exchange === undefined) return undefined
    exchange.until = this.#clock.monotonic() + leaseMs
    const { agent, origin } = exchange.lane.shown
    return { agent, origin }
  }

  #heldBy(id: string, holder: string): Exchange | undefined {
    const exchange = this.#open.get(id)
    return exchange?.holder === holder ? exchange : undefined
  }

  #forget(id: string): void {
    const exchange = this.#open.get(id)
    if (exchange !== undefined) exchange.lane.open--
    this.#open.delete(id)
  }

  /** @param mayBe  whether the reader may see this agent */
  report(mayBe: (agent: string) => boolean): ShadowAnswer {
    const lanes = [...this.#lanes.values()]
      .map(({ shown }) => shown)
      .filter(({ agent, granted, requests }) => mayBe(agent) && granted < requests)
      .toSorted((one, other) => other.waited + other.refused - one.waited - one.refused)
      .slice(0, MOST_SHOWN)
    const total = none()
    for (const [agent, counts] of this.#totals) if (mayBe(agent)) merge(total, counts)
    return { since: this.#since, ...total, lanesForgotten: this.#forgotten, lanes }
  }

  /** Resets the record of the agents for which `mayBe` is true. */
  clear(mayBe: (agent: string) => boolean): void {
    for (const [name, { shown }] of this.#lanes) if (mayBe(shown.agent)) this.#lanes.delete(name)
    for (const agent of this.#totals.keys()) if (mayBe(agent)) this.#totals.delete(agent)
    this.#forgotten = 0
    this.#since = this.#clock.machine()
  }

  /** Ends exchanges whose end was not reported, the oldest first. */
  #sweep(now: number): void {
    for (const [id, { until }] of this.#open) {
      if (until >= now) return
      this.#forget(id)
    }
  }

  #laneOf(agent: string, origin: string): ShadowLane {
    const name = `${agent} ${origin}`
    const known = this.#lanes.get(name)
    if (known !== undefined) return known
    if (this.#lanes.size >= MOST_LANES) {
      this.#lanes.delete(this.#lanes.keys().next().value as string)
      this.#forgotten++
    }
    const shown = { ...none(), agent, origin, gates: {}, refusals: {} }
    const lane: ShadowLane = { shown, open: 0, dueAt: 0, closedUntil: 0, delayMs: 0 }
    this.#lanes.set(name, lane)
    return lane
  }

  #totalsOf(agent: string): Counts {
    const known = this.#totals.get(agent) ?? none()
    this.#totals.set(agent, known)
    return known
  }
}

function wouldBe(
  { open, dueAt, closedUntil }: ShadowLane,
  now: number,
  { delayMs, pace, closed, refusal }: Rules,
): Would {
  if (refusal !== undefined) return { decision: 'refused', type: refusal }
  const inTurnMs = Math.max(dueAt - now, open > 0 ? delayMs : 0)
  const waitMs = Math.ceil(Math.max(closed?.waitMs ?? 0, closedUntil - now, inTurnMs))
  if (waitMs <= 0) return { decision: 'granted' }
  if (closed !== undefined) return { decision: 'wait', gate: closed.gate, waitMs }
  if (closedUntil > now) return { decision: 'wait', gate: 'back-off', waitMs }
  return { decision: 'wait', gate: open > 0 ? 'lane-busy' : pace, waitMs }
}

function add(counts: Counts, would: Would): void {
  counts.requests++
  if (would.decision === 'granted') counts.granted++
  if (would.decision === 'refused') counts.refused++
  if (would.decision !== 'wait') return
  counts.waited++
  counts.waitMs += would.waitMs
  counts.longestMs = Math.max(counts.longestMs, would.waitMs)
}

function merge(into: Counts, { requests, granted, waited, refused, waitMs, longestMs }: Counts): void {
  into.requests += requests
  into.granted += granted
  into.waited += waited
  into.refused += refused
  into.waitMs += waitMs
  into.longestMs = Math.max(into.longestMs, longestMs)
}
