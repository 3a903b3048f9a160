/** Orders and leases as a gateway and the ledger would give them. */

import type { Agent } from '@decorum/config'
import { fetchPage, noSink, type PageTools } from '@decorum/fetcher/testing'
import type { Order } from '@decorum/protocol'
import { systemClock } from '@decorum/protocol'
import type { RobotsState } from '@decorum/robots'
import type { Fetched, UsedLease } from '@decorum/sending'
import { type RobotsAnswer, siteAnswers } from '@decorum/sending/robots'
import { type HopLane, type RequestTools, requestRobots } from '@decorum/sending/testing'
import { agentsOf, polite, type testConnections } from './tools.ts'

/** A fixed clock of Redis, ms: 2026-11-20T12:00:00Z. */
export const NOW = Date.UTC(2026, 10, 20, 12)

/** @param deadlineMs  default: none that a busy machine reaches */
export function leaseOf(deadlineMs = 120_000): UsedLease {
  const start = performance.now()
  const age = () => performance.now() - start
  return {
    deadlineMs: () => deadlineMs - age(),
    keepMs: () => 5_000,
    lastCheck: () => undefined,
    stillHeld: () => undefined,
    confirm: () => undefined,
  }
}

export { pageOrder } from './page-order.ts'

type Connections = ReturnType<typeof testConnections>

export function page(
  connections: Connections,
  order: Order,
  over: Partial<PageTools> & { agent?: Agent; lease?: UsedLease } = {},
): Promise<Fetched> {
  const { agent = polite, lease = leaseOf(), ...tools } = over
  return fetchPage(order, agent, lease, {
    connections,
    ledger: { clock: systemClock, wall: () => NOW, partitionOf: () => 0 },
    siteAnswers: siteAnswers(agentsOf()),
    sink: noSink,
    pageMaxBytes: 1_000_000,
    maxAttempts: 5,
    stats: {
      sinkFailed: (error) => {
        throw error
      },
    },
    log: { error: () => {} },
    ...tools,
  })
}

/** A lane that is due at once, and that nobody else wants. */
const dueLane: HopLane = {
  delayMs: 0,
  isShared: false,
  lastCheck: () => undefined,
  confirm: () => undefined,
  owe: () => {},
  complete: async () => {},
  release: async () => {},
}

export async function robots(
  connections: Connections,
  origin: string,
  over: Partial<RequestTools> & { agent?: Agent; state?: RobotsState; lease?: UsedLease } = {},
): Promise<RobotsAnswer> {
  const { agent = polite, state = {}, lease = leaseOf(), ...tools } = over
  const answer = await requestRobots(origin, '/robots.txt', agent, state, lease, {
    connections,
    acquireHop: async () => dueLane,
    forbidsHop: async () => undefined,
    wall: () => NOW,
    now: () => NOW,
    clock: { ...systemClock, random: () => 0.5 },
    ...tools,
  })
  for (const { answer: hop } of answer.hops) await hop.body.discard()
  return answer
}
