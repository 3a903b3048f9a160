/** Finds the chains of a record: which request is the hop of which redirect. */
import { targetOf } from '../origin.ts'
import { Chains, isRedirect, MOST_HOPS } from './chains.ts'
import type { Exchanges } from './columns.ts'
import { Heap } from './heap.ts'
import type { Lane } from './lanes.ts'
import type { Meter } from './meter.ts'

/** A request that comes later than this after a redirect is none of its hops. */
const HOP_WITHIN_MS = 60_000

type Redirect = { row: number; chain: number; target: string; gone: boolean }

/** Redirects of one agent that no hop has followed yet. */
type Waiting = {
  /** not answered yet at the row that is looked at, by their ends */
  open: Heap<Redirect>
  /** answered, by the URL they lead to, each list in the order of ends */
  byTarget: Map<string, Queue<Redirect>>
  /** all that are answered, in the order of ends: what is too old is dropped from the front */
  aging: Queue<Redirect>
  /** the one redirect that a chain waits by */
  ofChain: Map<number, Redirect>
  /** the chain that this agent has begun last for an origin, if it was redirected */
  latestChain: Map<string, number>
}

/** @param order  all rows, by start */
export function findChains(exchanges: Exchanges, order: Uint32Array, lanes: Lane[], meter: Meter): Chains {
  const chains = new Chains(exchanges.length)
  /** chain → further origins whose /robots.txt it came by */
  const further = new Map<number, string[]>()
  const originOf = (row: number): string => (lanes[exchanges.lane[row] as number] as Lane).origin
  const waitingOf = new Map<number, Waiting>()

  for (const row of order) {
    const lane = lanes[exchanges.lane[row] as number] as Lane
    const isRobots = exchanges.isRobots(row)
    if (!exchanges.isGet(row) || !(isRobots || waitingOf.has(lane.agentId))) continue
    const waiting = waitingOf.get(lane.agentId)
    const followed = waiting && takeFollowed(waiting, exchanges, row, lane.origin, meter)
    let chain = followed?.chain ?? -1
    if (followed !== undefined) {
      chains.join(chain, row)
      waiting?.ofChain.delete(chain)
    } else if (isRobots) {
      chain = chains.begin(row)
      giveUp(waiting, lane.origin)
    } else continue
    const home = originOf(chains.first(chain))
    if (isRobots && (followed === undefined || isFurther(further, chain, home, lane.origin)))
      lane.place.addFetch(chains.beginFetch(chain, row))
    if (!isRedirect(exchanges.status[row] as number)) {
      if (followed !== undefined && waiting?.latestChain.get(home) === chain) waiting.latestChain.delete(home)
      continue
    }
    if (isRobots)
      lane.redirectedAt = Math.min(lane.redirectedAt ?? Number.POSITIVE_INFINITY, exchanges.endMin[row] as number)
    const location = exchanges.header(row)
    if (location === undefined || exchanges.isCut(row) || chains.hops(chain) >= MOST_HOPS) continue
    const target = targetOf(location, lane.origin, exchanges.path(row))
    if (target === undefined) continue
    const redirect = { row, chain, target, gone: false }
    const holder = waiting ?? newWaiting()
    waitingOf.set(lane.agentId, holder)
    holder.open.push(exchanges.endMin[row] as number, redirect)
    holder.ofChain.set(chain, redirect)
    holder.latestChain.set(home, chain)
  }
  return chains
}

const newWaiting = (): Waiting => ({
  open: new Heap(),
  byTarget: new Map(),
  aging: new Queue(),
  ofChain: new Map(),
  latestChain: new Map(),
})

/** The redirect that this request follows: of those that lead there, the one that has waited longest. */
function takeFollowed(
  waiting: Waiting,
  exchanges: Exchanges,
  row: number,
  origin: string,
  meter: Meter,
): Redirect | undefined {
  const { open, byTarget, aging } = waiting
  const latest = exchanges.startMax[row] as number
  for (let redirect = open.popUntil(latest); redirect !== undefined; redirect = open.popUntil(latest)) {
    meter.steps++
    if (redirect.gone) continue
    const queue = byTarget.get(redirect.target) ?? new Queue()
    byTarget.set(redirect.target, queue)
    queue.push(redirect)
    aging.push(redirect)
  }
  const old = (exchanges.startMin[row] as number) - HOP_WITHIN_MS
  for (let redirect = aging.first(); redirect !== undefined; redirect = aging.first()) {
    if (!redirect.gone && (exchanges.endMax[redirect.row] as number) >= old) break
    meter.steps++
    aging.shift()
    drop(byTarget, redirect)
  }
  if (aging.first() === undefined) return undefined
  const queue = byTarget.get(origin + exchanges.path(row))
  for (let found = queue?.first(); queue !== undefined && found !== undefined; found = queue.first()) {
    meter.steps++
    queue.shift()
    if (found.gone) continue
    found.gone = true
    return found
  }
  return undefined
}

function drop(byTarget: Map<string, Queue<Redirect>>, redirect: Redirect): void {
  redirect.gone = true
  const queue = byTarget.get(redirect.target)
  while (queue?.first()?.gone) queue.shift()
  if (queue?.first() === undefined) byTarget.delete(redirect.target)
}

/** Who asks for a robots.txt anew no longer follows the redirects of the fetch before. */
function giveUp(waiting: Waiting | undefined, origin: string): void {
  const before = waiting?.latestChain.get(origin)
  if (waiting === undefined || before === undefined) return
  waiting.latestChain.delete(origin)
  const redirect = waiting.ofChain.get(before)
  if (redirect !== undefined) redirect.gone = true
  waiting.ofChain.delete(before)
}

/** Does this /robots.txt, a hop, belong to an origin that the chain has not asked yet? At most six requests make a chain. */
function isFurther(further: Map<number, string[]>, chain: number, home: string, origin: string): boolean {
  const known = further.get(chain) ?? []
  if (origin === home || known.includes(origin)) return false
  further.set(chain, [...known, origin])
  return true
}

/** First in, first out, without moving what stays. */
class Queue<T> {
  #items: T[] = []
  #from = 0
  push(item: T): void {
    this.#items.push(item)
  }
  first(): T | undefined {
    return this.#items[this.#from]
  }
  shift(): void {
    if (++this.#from * 2 < this.#items.length) return
    this.#items = this.#items.slice(this.#from)
    this.#from = 0
  }
}
