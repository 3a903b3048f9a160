/** Turns an order that waited for a worker of its pool into a lease, as in a fetcher; or releases its lane. */
import { UNKNOWN_AGENT_WAIT_MS } from '@decorum/config'
import { type Order, ordersIn } from '@decorum/protocol'
import type { Since } from '@decorum/runtime'
import { orderTurn, releaseOrder } from '@decorum/sending'
import type { Desk } from './desk.ts'
import type { GrantedLeases } from './permit-id.ts'

/** An order that runs under its leases from now on. */
export type StartedOrder = { order: Order; leases: GrantedLeases; since: Since }

/** @returns undefined when the order cannot be carried out now: its URL stays in its lane. @throws LedgerUnavailableError */
export async function startOrder(text: string, pool: string, desk: Desk): Promise<StartedOrder | undefined> {
  const read = ordersIn({ orders: [JSON.parse(text)] })?.[0]
  if (read?.ok !== true) return undefined // from a gateway of another version: the reservation expires
  const { order } = read
  const agent = desk.agents.find(order.agent)
  if (agent === undefined) {
    await releaseOrder(desk.ledger, order, { waitMs: UNKNOWN_AGENT_WAIT_MS, why: 'unknown-agent' })
    return undefined
  }
  const turn = await orderTurn(order, agent, desk)
  if (turn.kind === 'held') {
    const { agent, origin, fence, delayMs, version, attempt, priority, crawl, id } = order
    const { paceLeases } = turn.leases
    const of = { pool, priority, attempt, version, crawl, id }
    const leases = { agent, origin, fence, delayMs, paceLeases, order: of }
    return { order, leases, since: turn.requested.first }
  }
  if (turn.kind === 'later') await releaseOrder(desk.ledger, order, { waitMs: turn.waitMs, why: turn.gate })
  else if (turn.kind === 'unused') await releaseOrder(desk.ledger, order)
  return undefined
}
