/** Waits until the lane of an order is due. */
import { type Agent, type Agents, UNKNOWN_AGENT_WAIT_MS } from '@decorum/config'
import type { Order } from '@decorum/protocol'

import { START_TOGETHER_MS, START_TRIP_MS } from '../limits.ts'
import type { Tools } from '../tools.ts'
import { release } from './release.ts'

/** The longest wait in a slot. A gateway sends orders milliseconds ahead, so only a faulty order waits this long. */
const LONGEST_WAIT_MS = 60_000

/** @returns the order's agent; undefined when the order is not carried out now, and its lane has been released */
export async function waitUntilDue(order: Order, tools: Tools): Promise<Agent | undefined> {
  const { agents, connections, ledger, log, groups, isStopping } = tools
  const released = async (why: Parameters<typeof release>[2], waitMs?: number): Promise<undefined> => {
    await release(order, tools, why, waitMs)
    return undefined
  }
  const agent = agents.find(order.agent)
  if (agent === undefined) {
    if (isFirstOf(agents, order.agent))
      log.error(
        { agent: order.agent, origin: order.origin },
        'orders of an unknown agent are returned: DECORUM_AGENTS differs within the fleet',
      )
    return await released('unknown-agent', UNKNOWN_AGENT_WAIT_MS)
  }
  const opensInMs = order.notBefore - ledger.now(ledger.partitionOf(order.origin)) - START_TRIP_MS
  const waitMs = groups.hostsAlone ? togetherIn(ledger.clock.monotonic(), opensInMs) : opensInMs
  if (waitMs > 0) await ledger.clock.sleep(Math.min(waitMs, LONGEST_WAIT_MS))
  const egressWaitMs = connections.egressWaitMs(agent, order.origin)
  if (egressWaitMs > 0) return await released('egress', egressWaitMs)
  if (isStopping()) return await released('stopping')
  return agent
}

/**
 * Rounds to instants common to all orders of this process, so that orders due at about the same time are started by one call. A pace group
 * is never started early, so lanes with groups do not use this.
 * @returns ms from now, at most START_TOGETHER_MS less than `ms`
 */
function togetherIn(now: number, ms: number): number {
  return Math.floor((now + ms) / START_TOGETHER_MS) * START_TOGETHER_MS - now
}

/** Agent names that have been reported once; their orders arrive repeatedly. */
const reported = new WeakMap<Agents, Set<string>>()
function isFirstOf(agents: Agents, name: string): boolean {
  const names = reported.get(agents) ?? new Set<string>()
  reported.set(agents, names)
  if (names.has(name)) return false
  names.add(name)
  return true
}
