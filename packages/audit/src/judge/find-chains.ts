/** Finds the chains of a record: which request is the hop of which redirect. */
import { targetOf } from '../origin.ts'
import { Chains, isRedirect, MOST_HOPS } from './chains.ts'
import type { Exchanges } from './columns.ts'
import { Heap } from './heap.ts'
import type { Lanes } from './lanes.ts'
import type { Meter } from './meter.ts'

/** A request that comes later than this after a redirect is none of its hops. */
const HOP_WITHIN_MS = 60_000

type Of = { exchanges: Exchanges; lanes: Lanes; meter: Meter }

/** @param order  all rows, by start */
export function findChains(order: Uint32Array, of: Of): Chains {
  const { exchanges, lanes } = of
  const chains = new Chains(exchanges.length, lanes.length)
  const waiting = new WaitingRedirects(chains, of)
  const placeOf = (row: number): number => lanes.placeOf(exchanges.lane[row] as number)

  for (const row of order) {
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
    if (target !== undefined) waiting.add(row, lanes.agentOf(lane), home, target)
  }
  return chains
}

/**
 * Redirects that a hop may still follow, each known by its row. A redirect leaves as soon as no later request can be its
 * hop: it was followed, it is too old, or its agent has begun a new chain.
 */
class WaitingRedirects {
  /** row → agent and target */
  readonly #targets = new Map<number, string>()
  /** agent and target → the row, or, of several, rows by their ends, of which some may have left already */
  readonly #rows = new Map<string, number | Heap>()
  /** rows by the latest instant at which they may have ended; some may have left already */
  readonly #aging = new Heap()
  /** lane → the row by which the chain that was begun there last waits */
  readonly #ofLane = new Map<number, number>()
  readonly #chains: Chains
  readonly #of: Of

  constructor(chains: Chains, of: Of) {
    this.#chains = chains
    this.#of = of
  }

  get any(): boolean {
    return this.#targets.size > 0
  }

  /** @param home  the lane in which the chain began */
  add(row: number, agent: number, home: number, target: string): void {
    const { exchanges } = this.#of
    const key = keyOf(agent, target)
    const known = this.#rows.get(key)
    if (known === undefined) this.#rows.set(key, row)
    else {
      const rows = typeof known === 'number' ? new Heap() : known
      if (typeof known === 'number') rows.push(exchanges.endMin(known), known)
      rows.push(exchanges.endMin(row), row)
      this.#rows.set(key, rows)
    }
    this.#aging.push(exchanges.endMax(row), row)
    this.#targets.set(row, key)
    this.#ofLane.set(home, row)
  }

  /** The chain whose redirect this request follows: of those that lead there, the redirect that ended first. */
  takeFollowed(request: number, lane: number, origin: string): number | undefined {
    const { exchanges, lanes, meter } = this.#of
    const oldest = exchanges.startMin(request) - HOP_WITHIN_MS
    while (this.#oldestEnd() < oldest) {
      meter.steps++
      this.#leave(this.#aging.pop() as number)
    }
    if (!this.any) return undefined
    const rows = this.#rows.get(keyOf(lanes.agentOf(lane), origin + exchanges.path(request)))
    const row = typeof rows === 'number' ? rows : rows?.first
    if (row === undefined || exchanges.endMin(row) > exchanges.startMax(request)) return undefined
    meter.steps++
    this.#leave(row)
    return this.#chains.ofRow(row)
  }

  /** An agent that asks for a robots.txt anew no longer follows the redirects of the fetch before. */
  giveUp(lane: number): void {
    const row = this.#ofLane.get(lane)
    if (row !== undefined) this.#leave(row)
  }

  #oldestEnd(): number {
    const row = this.#aging.first
    return row === undefined ? Number.POSITIVE_INFINITY : this.#of.exchanges.endMax(row)
  }

  #leave(row: number): void {
    const key = this.#targets.get(row)
    if (key === undefined) return
    this.#targets.delete(row)
    const home = this.#of.exchanges.lane[this.#chains.first(this.#chains.ofRow(row))] as number
    if (this.#ofLane.get(home) === row) this.#ofLane.delete(home)
    const rows = this.#rows.get(key)
    // The first of a heap always waits still; the others are taken away when they come to be the first.
    if (rows instanceof Heap) while (rows.first !== undefined && !this.#targets.has(rows.first)) rows.pop()
    if (!(rows instanceof Heap) || rows.first === undefined) this.#rows.delete(key)
  }
}

const keyOf = (agent: number, target: string): string => `${agent} ${target}`
