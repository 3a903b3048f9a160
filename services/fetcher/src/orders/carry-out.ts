/**
 * One order from its slot to its end: wait for the lane and its pace groups, start the lease, fetch, complete. A page and a
 * robots fetch differ only in what is read from the answer and recorded. Nothing is sent without a lease, and every lease ends
 * by itself, so an order that breaks off anywhere holds nothing for ever.
 */
import { type Order, orderUrl } from '@decorum/protocol'
import { fetchPage } from '../page/fetch-page.ts'
import { fetchRobots } from '../robots/fetch-robots.ts'
import { complete, type Fetched } from './complete.ts'
import { endUnused } from './end-unused.ts'
import { startLease } from './lease.ts'
import type { Tools } from './tools.ts'
import { waitForTurn } from './wait.ts'

/**
 * Never rejects.
 * @param receivedAt  when this process received the order, by `performance.now()`
 */
export async function carryOut(order: Order, tools: Tools, receivedAt = performance.now()): Promise<void> {
  const { ledger, stats, log, traces } = tools
  const span = traces?.span('decorum.fetch', order.request, () => ({
    'decorum.id': order.id,
    'decorum.kind': order.kind,
    'decorum.attempt': order.attempt,
    'url.full': orderUrl(order),
  }))
  let broken: Error | undefined
  const dueInMs = order.notBefore === 0 ? 0 : order.notBefore - ledger.now(ledger.partitionOf(order.origin))
  const dueAt = Math.max(receivedAt, performance.now() + dueInMs)
  try {
    const turn = await waitForTurn(order, tools)
    if (turn === undefined) return
    const { agent, groups } = turn
    const started = await startLease(ledger, order, tools, groups)
    if (started.kind === 'refused') {
      if (started.why === 'too-early') await endUnused(order, tools, started.why)
      else stats.refused(started.why)
      return await groups.release()
    }
    stats.started++
    const startedAt = performance.now()
    stats.late(Math.max(0, startedAt - dueAt))
    try {
      const held = { lease: started.lease, groups }
      const fetched =
        order.kind === 'robots'
          ? await fetchRobots(order, agent, held, tools)
          : await fetchPage(order, agent, held, tools)
      span?.set(attributesOf(fetched))
      await complete(order, agent, held, fetched, tools)
    } finally {
      stats.ended++
      stats.took(order.kind, performance.now() - startedAt)
    }
  } catch (error) {
    broken = error as Error
    stats.broken++
    log.error({ err: error, origin: order.origin, kind: order.kind }, 'an order broke off; its lease ends by itself')
  } finally {
    span?.end(broken)
  }
}

/** What a span says of the exchange. */
function attributesOf({ what, bytes, outcome }: Fetched): Record<string, string | number> {
  const status = outcome !== undefined && 'status' in outcome ? outcome.status : undefined
  return {
    'decorum.answer': what,
    'http.response.body.size': bytes,
    ...(outcome === undefined ? {} : { 'decorum.outcome': outcome.kind }),
    ...(status === undefined ? {} : { 'http.response.status_code': status }),
  }
}
