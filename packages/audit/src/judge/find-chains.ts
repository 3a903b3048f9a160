/** Finds the chains of a record: which request is the hop of which redirect. */
import { targetOf } from '../origin.ts'
import { Chains, isRedirect, MOST_HOPS } from './chains.ts'
import type { Exchanges } from './columns.ts'
import { Heap } from './heap.ts'
import type { Lanes } from './lanes.ts'
import type { Meter } from './meter.ts'

/** A request that comes later than this after a redirect is not one of its hops. */
const HOP_WITHIN_MS = 60_000

type Of = { exchanges: Exchanges; lanes: Lanes; meter: Meter }

/** @param order  all rows, by start */
export function findChains(order: Uint32Array, of: Of): Chains {
  const { exchanges, lanes } = of
  const chains = new Chains(exchanges.length, lanes.length)
  const waiting = new WaitingRedirects(chains, order, of)
  const placeOf = (row: number): number => lanes.placeOf(exchanges.lane[row] as number)

  for (let at = 0; at < order.length; at++) {
    const row = order[at] as number
    const isRobots = exchanges.isRobots(row)
    if (!exchanges.isGet(row) || !(isRobots || waiting.any)) continue
    const lane = exchanges.lane[row] as number
    const origin = lanes.origin(lane)
    const chain = waiting.takeFollowed(row, lane, origin)
    if (chain !== undefined) chains.join(chain, row)
    else if (isRobots) waiting.giveUp(lane)
    else continue
    const current = chain ?? chains.begin(row)
    const home = exchanges.lane[chains.first(current)] as number
    const isAgain = (part: number): boolean => exchanges.isRobots(part) && placeOf(part) === placeOf(row)
    if (isRobots && !chains.someBefore(row, isAgain)) chains.beginFetch(current, row)
    if (!isRedirect(exchanges.status[row] as number)) continue
    if (isRobots) chains.redirected(lane, exchanges.endMin(row))
    const location = exchanges.header(row)
    if (location === undefined || exchanges.isCut(row) || chains.hops(current) >= MOST_HOPS) continue
    const target = targetOf(location, origin, exchanges.path(row))
    if (target !== undefined) waiting.add(at, lanes.agentOf(lane), home, target)
  }
  return chains
}

/**
 * Redirects that a hop may still follow, each identified by its place in the order. A redirect is removed as soon as no later request can
 * be its hop: it was followed, it is too old, or its agent has begun a new chain.
 */
class WaitingRedirects {
  /** redirect → agent and target */
  readonly #targets = new Map<number, string>()
  /** agent and target → the redirect, or a heap of redirects by earliest end; those behind the first may no longer be waiting */
  readonly #leading = new Map<string, number | Heap>()
  /** redirects by the latest instant at which they may have ended; some may no longer be waiting */
  readonly #aging = new Heap()
  /** per lane: the waiting redirect of the newest chain begun there */
  readonly #ofLane = new Map<number, number>()
  readonly #chains: Chains
  readonly #order: Uint32Array
  readonly #of: Of

  constructor(chains: Chains, order: Uint32Array, of: Of) {
    this.#chains = chains
    this.#order = order
    this.#of = of
  }

  get any(): boolean {
    return this.#targets.size > 0
  }

  /** @param home  the lane in which the chain began */
  add(redirect: number, agent: number, home: number, target: string): void {
    const { exchanges } = this.#of
    const key = keyOf(agent, target)
    const known = this.#leading.get(key)
    if (known === undefined) this.#leading.set(key, redirect)
    else {
      const several = typeof known === 'number' ? new Heap() : known
      if (typeof known === 'number') several.push(exchanges.endMin(this.#row(known)), known)
      several.push(exchanges.endMin(this.#row(redirect)), redirect)
      this.#leading.set(key, several)
    }
    this.#aging.push(exchanges.endMax(this.#row(redirect)), redirect)
    this.#targets.set(redirect, key)
    this.#ofLane.set(home, redirect)
  }

  /**
   * Removes the redirect that this request follows, and returns its chain; undefined: there is none. Of several redirects to the target it
   * follows the one that ended first; if equal, the first in order.
   */
  takeFollowed(request: number, lane: number, origin: string): number | undefined {
    const { exchanges, lanes, meter } = this.#of
    const oldest = exchanges.startMin(request) - HOP_WITHIN_MS
    while (this.#oldestEnd() < oldest) {
      meter.steps++
      this.#leave(this.#aging.pop() as number)
    }
    if (!this.any) return undefined
    const leading = this.#leading.get(keyOf(lanes.agentOf(lane), origin + exchanges.path(request)))
    const redirect = typeof leading === 'number' ? leading : leading?.first
    if (redirect === undefined || exchanges.endMin(this.#row(redirect)) > exchanges.startMax(request)) return undefined
    meter.steps++
    this.#leave(redirect)
    return this.#chains.ofRow(this.#row(redirect))
  }

  /** An agent that fetches a robots.txt anew no longer follows the redirects of its previous fetch. */
  giveUp(lane: number): void {
    const redirect = this.#ofLane.get(lane)
    if (redirect !== undefined) this.#leave(redirect)
  }

  #row = (redirect: number): number => this.#order[redirect] as number

  #oldestEnd(): number {
    const redirect = this.#aging.first
    return redirect === undefined ? Number.POSITIVE_INFINITY : this.#of.exchanges.endMax(this.#row(redirect))
  }

  #leave(redirect: number): void {
    const key = this.#targets.get(redirect)
    if (key === undefined) return
    this.#targets.delete(redirect)
    const home = this.#of.exchanges.lane[this.#chains.first(this.#chains.ofRow(this.#row(redirect)))] as number
    if (this.#ofLane.get(home) === redirect) this.#ofLane.delete(home)
    const leading = this.#leading.get(key)
    // The first redirect of a heap is always still waiting; the others are removed when they become first.
    if (leading instanceof Heap) while (leading.first !== undefined && !this.#targets.has(leading.first)) leading.pop()
    if (!(leading instanceof Heap) || leading.first === undefined) this.#leading.delete(key)
  }
}

const keyOf = (agent: number, target: string): string => `${agent} ${target}`
