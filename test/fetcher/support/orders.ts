/** Orders and leases as a gateway and the ledger would give them. */

import type { Agent } from '@decorum/config'
import {
  type AskTools,
  askRobots,
  type Fetched,
  fetchPage,
  type HopLane,
  type Lease,
  noSink,
  type PageTools,
  type RobotsAnswer,
  siteAnswers,
} from '@decorum/fetcher/testing'
import type { Order } from '@decorum/protocol'
import type { RobotsState } from '@decorum/robots'
import { agentsOf, polite, type testConnections } from './tools.ts'

/** A fixed clock of Redis, ms: 2026-11-20T12:00:00Z. */
export const NOW = Date.UTC(2026, 10, 20, 12)

/** @param deadlineMs  default: none that a busy machine reaches */
export function leaseOf(deadlineMs = 120_000): Lease {
  const start = performance.now()
  const age = () => performance.now() - start
  return {
    isOver: () => false,
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
  over: Partial<PageTools> & { agent?: Agent; lease?: Lease } = {},
): Promise<Fetched> {
  const { agent = polite, lease = leaseOf(), ...tools } = over
  const held = { lease, groups: { wrongAddress: () => undefined } }
  return fetchPage(order, agent, held, {
    connections,
    ledger: { wall: () => NOW, partitionOf: () => 0 },
    siteAnswers: siteAnswers(agentsOf()),
    sink: noSink,
    pageMaxBytes: 1_000_000,
    maxAttempts: 5,
    honourNoarchive: false,
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
  fence: 1,
  isShared: false,
  lastCheck: () => undefined,
  confirm: () => undefined,
  complete: async () => {},
  release: async () => {},
}

export async function robots(
  connections: Connections,
  origin: string,
  over: Partial<AskTools> & { agent?: Agent; state?: RobotsState; lease?: Lease } = {},
): Promise<RobotsAnswer> {
  const { agent = polite, state = {}, lease = leaseOf(), ...tools } = over
  const answer = await askRobots(origin, '/robots.txt', agent, state, lease, {
    connections,
    acquireHop: async () => dueLane,
    endRobotsFetch: async () => {},
    forbidsHop: async () => undefined,
    wrongAddress: () => undefined,
    now: () => NOW,
    jitter: () => 0.5,
    ...tools,
  })
  for (const { answer: hop } of answer.hops) await hop.body.discard()
  return answer
}
