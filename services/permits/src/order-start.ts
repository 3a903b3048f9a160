/** An order that waited for a worker of its pool becomes a lease, as in a fetcher; or its lane is released. */
import { UNKNOWN_AGENT_WAIT_MS } from '@decorum/config'
import { type Order, ordersIn } from '@decorum/protocol'
import type { Since } from '@decorum/runtime'
import { orderTurn, type PaceLease, releaseOrder } from '@decorum/sending'
import type { Desk } from './desk.ts'

/** Under its lease from now on. */
export type StartedOrder = { order: Order; paceLeases: PaceLease[]; since: Since }

/** @returns undefined when it cannot be carried out now: its URL stays in its lane. @throws LedgerUnavailableError */
export async function startOrder(text: string, { config, ledger, tools }: Desk): Promise<StartedOrder | undefined> {
  const read = ordersIn({ orders: [JSON.parse(text)] })?.[0]
  if (read?.ok !== true) return undefined // of a gateway of another version: the reservation ends by itself
  const { order } = read
  const agent = config.agents.find(order.agent)
  if (agent === undefined) {
    await releaseOrder(ledger, order, { waitMs: UNKNOWN_AGENT_WAIT_MS, why: 'unknown-agent' })
    return undefined
  }
  const turn = await orderTurn(order, agent, tools)
  if (turn.kind === 'held') return { order, paceLeases: [...turn.leases.paceLeases], since: turn.asked.first }
  if (turn.kind === 'later') await releaseOrder(ledger, order, { waitMs: turn.waitMs, why: turn.gate })
  else if (turn.why === 'too-early') await releaseOrder(ledger, order)
  return undefined
}
