/** The wait before an order: until its lane is due, and until the pace groups of its lane are held. */
import { type Agent, type Agents, UNKNOWN_AGENT_WAIT_MS } from '@decorum/config'
import type { Order } from '@decorum/protocol'
import { pause } from '@decorum/runtime'
import { START_AHEAD_MS, START_TOGETHER_MS, START_TRIP_MS } from '../limits.ts'
import { endUnused } from './end-unused.ts'
import type { HeldGroups } from './pace.ts'
import type { Tools } from './tools.ts'

/** The longest wait in a slot. A gateway sends orders milliseconds ahead, so only a wrong order reaches it. */
const LONGEST_WAIT_MS = 60_000

/** An origin at a stopped address is looked up again after so long, as lib/stops.lua does with stopped hosts. */
const STOPPED_WAIT_MS = 30_000

/** @returns the order's agent and pace groups; undefined when its turn does not come now and the lane has been given back */
export async function waitForTurn(
  order: Order,
  tools: Tools,
): Promise<{ agent: Agent; groups: HeldGroups } | undefined> {
  const { agents, connections, ledger, log, pace, isStopping } = tools
  const agent = agents.find(order.agent)
  if (agent === undefined) {
    if (isFirstOf(agents, order.agent))
      log.error(
        { agent: order.agent, origin: order.origin },
        'orders of an agent that this fetcher does not know are given back: DECORUM_AGENTS differs within the fleet',
      )
    return await endUnused(order, tools, 'unknown-agent', UNKNOWN_AGENT_WAIT_MS)
  }
  const opensInMs = order.notBefore - ledger.now(ledger.partitionOf(order.origin)) - START_TRIP_MS
  const waitMs = pace.hostsAlone ? togetherIn(opensInMs) : opensInMs
  if (waitMs > 0) await pause(Math.min(waitMs, LONGEST_WAIT_MS))
  const egressWaitMs = connections.egressWaitMs(agent)
  if (egressWaitMs > 0) return await endUnused(order, tools, 'egress', egressWaitMs)
  if (isStopping()) return await endUnused(order, tools, 'stopping')
  if (await isStoppedThere(order.origin, agent, tools)) return await endUnused(order, tools, 'stopped', STOPPED_WAIT_MS)
  const acquired = pace.acquire(agent, order.origin, order.delayMs)
  const groups = acquired instanceof Promise ? await acquired : acquired
  // A lane is started a little ahead, a group is not: a request that arrives early loses its place in line.
  if ('waitMs' in groups) return await endUnused(order, tools, 'paced', groups.waitMs + START_AHEAD_MS)
  return { agent, groups }
}

/**
 * The same instants for all orders of this process, so that those of about the same time are started by one call. A pace group is not
 * started ahead of its time, so lanes with groups do not use it.
 * @returns ms from now, at most START_TOGETHER_MS less than `ms`
 */
function togetherIn(ms: number): number {
  const now = performance.now()
  return Math.floor((now + ms) / START_TOGETHER_MS) * START_TOGETHER_MS - now
}

/** The ledger knows stopped hosts; which address a host is at is known here alone. Nothing is connected to at a stopped one. */
async function isStoppedThere(origin: string, agent: Agent, { ledger, connections }: Tools): Promise<boolean> {
  if (!ledger.stops.hasAddresses()) return false
  return ledger.stops.why(origin, await connections.addressOf(agent, origin)) !== undefined
}

/** Agent names that have been reported once; their orders come again and again. */
const reported = new WeakMap<Agents, Set<string>>()
function isFirstOf(agents: Agents, name: string): boolean {
  const names = reported.get(agents) ?? new Set<string>()
  reported.set(agents, names)
  if (names.has(name)) return false
  names.add(name)
  return true
}
