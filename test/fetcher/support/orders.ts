/** Orders and leases as a gateway and the ledger would give them. */
import type { Agent } from '@decorum/config'
import type { Order } from '@decorum/protocol'
import type { RobotsState } from '@decorum/robots'
import type { Lease } from '../../../services/fetcher/src/orders/lease.ts'
import type { HopLane } from '../../../services/fetcher/src/orders/pace.ts'
import { fetchPage, type PageResult, type PageTools } from '../../../services/fetcher/src/page/fetch-page.ts'
import { fetchRobots, type HopTools, type RobotsAnswer } from '../../../services/fetcher/src/robots/fetch-robots.ts'
import { noSink } from '../../../services/fetcher/src/sink/sink.ts'
import { polite, type testConnections } from './tools.ts'

/** A fixed clock of Redis, ms: 2026-11-20T12:00:00Z. */
export const NOW = Date.UTC(2026, 10, 20, 12)

export function leaseOf(deadlineMs = 5_000): Lease {
  const start = performance.now()
  const age = () => performance.now() - start
  return {
    leaseMs: 45_000,
    age,
    deadlineMs: () => deadlineMs - age(),
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
): Promise<PageResult> {
  const { agent = polite, lease = leaseOf(), ...tools } = over
  return fetchPage(order, agent, lease, {
    connections,
    sink: noSink,
    pageMaxBytes: 1_000_000,
    maxAttempts: 5,
    now: () => NOW,
    onSinkError: (error) => {
      throw error
    },
    ...tools,
  })
}

/** A lane that is open at once, and that nobody else wants. */
const openLane: HopLane = {
  fence: 1,
  shared: false,
  astray: () => undefined,
  confirm: () => undefined,
  leave: async () => {},
  release: async () => {},
}

export async function robots(
  connections: Connections,
  origin: string,
  over: Partial<HopTools> & { agent?: Agent; state?: RobotsState; lease?: Lease } = {},
): Promise<RobotsAnswer> {
  const answer = await fetchRobots(
    origin,
    '/robots.txt',
    over.agent ?? polite,
    over.state ?? {},
    over.lease ?? leaseOf(),
    {
      connections,
      acquireHop: over.acquireHop ?? (async () => openLane),
      endRobotsFetch: over.endRobotsFetch ?? (async () => {}),
      forbidsHop: over.forbidsHop ?? (async () => undefined),
      astray: over.astray ?? (() => undefined),
      now: () => NOW,
      jitter: () => 0.5,
    },
  )
  for (const { answer: hop } of answer.hops) await hop.body.discard()
  return answer
}
