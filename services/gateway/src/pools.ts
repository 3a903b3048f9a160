/**
 * Orders for the workers of pools: pages of a crawl or an agent that names a pool are fetched by its workers, and no more orders wait for
 * them than they have requested at once. robots.txt is always fetched by the fleet's fetchers.
 */
import type { Agents } from '@decorum/config'
import type { Ledger, PoolDemand, ReservedLane } from '@decorum/ledger'
import { namesRobotsTxt, type Order, writtenOrder } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import type { Decision } from './decide.ts'

/** Shortest and longest time before a lane that waits for workers of its pool is tried again. */
const SOON_MS = 1_000
const LATE_MS = 30_000

export type Pools = ReturnType<typeof openPools>

export type PoolsOptions = {
  ledger: Ledger
  partition: number
  agents: Agents
  /** the demand of each pool's workers */
  demand: () => ReadonlyMap<string, PoolDemand>
}

export function openPools({ ledger, partition, agents, demand }: PoolsOptions) {
  const poolOf = (order: Order | undefined): string | undefined =>
    order === undefined || order.kind !== 'page' || namesRobotsTxt(order.path)
      ? undefined
      : (ledger.crawlBook.recordOf(order.crawl).settings?.pool ?? agents.find(order.agent)?.pool)
  /** per pool: number of lanes turned away since it last had room, and when its workers last announced themselves */
  const known = new Map<string, { turnedAway: number; seenAt: number }>()

  const roomIn = async (pool: string): Promise<number> => {
    const wanted = demand().get(pool)?.wanted ?? 0
    return wanted === 0 ? 0 : wanted - (await ledger.pool(partition, pool).waiting())
  }
  const waitMsFor = (pool: string): number => {
    const about = known.get(pool) ?? { turnedAway: 0, seenAt: ledger.clock.monotonic() }
    known.set(pool, about)
    const wanted = demand().get(pool)?.wanted ?? 0
    if (wanted > 0) about.seenAt = ledger.clock.monotonic()
    about.turnedAway++
    return waitMs({ wanted, turnedAway: about.turnedAway, absentMs: ledger.clock.monotonic() - about.seenAt })
  }
  return {
    /** Replaces decisions for pools: if the pool of an order has no room, its lane waits instead. The result is in the order of `lanes`. */
    async admit(decisions: Decision[], lanes: readonly ReservedLane[]): Promise<Decision[]> {
      const pools = new Set(decisions.flatMap(({ order }) => poolOf(order) ?? []))
      if (pools.size === 0) return decisions
      const rooms = new Map<string, number>()
      for (const pool of pools) {
        const room = await roomIn(pool)
        rooms.set(pool, room)
        if (room > 0) known.set(pool, { turnedAway: 0, seenAt: ledger.clock.monotonic() })
      }
      return decisions.map((decision, at) => {
        const pool = poolOf(decision.order)
        if (pool === undefined) return decision
        const room = rooms.get(pool) ?? 0
        rooms.set(pool, room - 1)
        return room > 0 ? ofPool(decision) : deferred(decision, lanes[at] as ReservedLane, waitMsFor(pool))
      })
    },
    /** sends the orders of pools to their workers, and returns the others */
    async offer(orders: Order[]): Promise<Order[]> {
      const byPool = Map.groupBy(orders, poolOf)
      for (const [pool, some] of byPool) {
        if (pool === undefined) continue
        const now = ledger.now(partition)
        await ledger.pool(partition, pool).offer(some.map((order) => JSON.stringify(writtenOrder(order, now))))
      }
      return byPool.get(undefined) ?? []
    },
  }
}

/** Marks the reservation, and so its later lease, as one of a pool. */
const ofPool = ({ resolution, order }: Decision): Decision => ({
  resolution: { ...resolution, next: { kind: 'pool' } },
  ...defined({ order }),
})

/** Drops the order: its lane waits for `ms`, or until its URL expires. */
function deferred({ resolution, order }: Decision, { now, wallAt }: ReservedLane, ms: number): Decision {
  const expires = order?.expiresAt === undefined ? Infinity : order.expiresAt - wallAt + now
  return { resolution: { ...resolution, next: { kind: 'defer', until: Math.min(now + ms, expires), why: 'pool' } } }
}

/**
 * Retrying a lane costs the same whether or not anything has changed. So the lanes of a pool without workers are retried more and more
 * rarely, and those of busy workers about when their turn may come.
 * @param turnedAway  number of earlier lanes that found no room
 * @param absentMs    time since workers last announced themselves
 */
export function waitMs({ wanted, turnedAway, absentMs }: Record<'wanted' | 'turnedAway' | 'absentMs', number>): number {
  const ms = wanted === 0 ? absentMs / 2 : (turnedAway / wanted) * SOON_MS
  return Math.min(LATE_MS, Math.max(SOON_MS, ms))
}

/** The demand of workers, over all permits processes. */
export function demandOf(
  members: readonly { about?: { pools?: Record<string, PoolDemand> } }[],
): Map<string, PoolDemand> {
  const demand = new Map<string, PoolDemand>()
  for (const { about } of members)
    for (const [pool, { wanted }] of Object.entries(about?.pools ?? {}))
      demand.set(pool, { wanted: wanted + (demand.get(pool)?.wanted ?? 0) })
  return demand
}
