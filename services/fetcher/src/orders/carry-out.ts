/**
 * Carries one order from its slot to its end: wait for the lane, take the turn, fetch, end the lease. A page and a robots fetch differ only
 * in how the answer is read and recorded. Nothing is sent without a lease, and every lease expires, so an order that breaks off anywhere
 * holds nothing permanently.
 */
import { LedgerUnavailableError } from '@decorum/ledger'
import { type Order, orderUrl } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import { type Fetched, type Later, Lease, orderTurn, type Refused, type Unused } from '@decorum/sending'
import { START_AHEAD_MS } from '../limits.ts'
import { fetchPage } from '../page/fetch-page.ts'
import { fetchAndKeepRobots } from '../page/keep-robots.ts'
import type { Tools } from '../tools.ts'
import { release } from './release.ts'
import type { Outside } from './slots.ts'
import { waitUntilDue } from './wait.ts'

/** A lane is deferred by this time when the ledger did not answer. */
const AGAIN_MS = 250

/**
 * Never rejects.
 * @param receivedAt  when this process received the order, by `clock.monotonic()`
 * @param outside     frees the slot during a wait
 */
export async function carryOut(
  order: Order,
  tools: Tools,
  receivedAt = tools.ledger.clock.monotonic(),
  outside?: Outside,
): Promise<void> {
  const { ledger, stats, log, traces } = tools
  const { clock } = ledger
  const span = traces?.span('decorum.fetch', order.request, () => ({
    'decorum.id': order.id,
    'decorum.kind': order.kind,
    'decorum.attempt': order.attempt,
    'url.full': orderUrl(order),
  }))
  let broken: Error | undefined
  const dueInMs = order.notBefore === 0 ? 0 : order.notBefore - ledger.now(ledger.partitionOf(order.origin))
  const dueAt = Math.max(receivedAt, clock.monotonic() + dueInMs)
  try {
    const agent = await waitUntilDue(order, tools)
    if (agent === undefined) return
    const turn = await orderTurn(order, agent, tools).catch(whenAnswers)
    if (turn.kind !== 'held') return await notNow(order, turn, tools)
    stats.started++
    const startedAt = clock.monotonic()
    stats.late(Math.max(0, startedAt - dueAt))
    try {
      const lease = new Lease(agent, turn, tools, tools)
      const fetched =
        order.kind === 'robots'
          ? await fetchAndKeepRobots(order, lease, { ...tools, ...defined({ outside }) })
          : await fetchPage(order, agent, lease, tools)
      span?.set(attributesOf(fetched))
      stats.exchanged(order.kind, fetched.what, fetched.bytes)
      await lease.end(fetched, () => warnOfNoRoom(order, log))
    } finally {
      stats.ended++
      stats.took(order.kind, clock.monotonic() - startedAt)
    }
  } catch (error) {
    broken = error as Error
    stats.broken++
    log.error({ err: error, origin: order.origin, kind: order.kind }, 'an order broke off; its lease expires')
  } finally {
    span?.end(broken)
  }
}

/** Ends an order whose turn was not granted. */
async function notNow(order: Order, turn: Later | Refused | Unused, tools: Tools): Promise<void> {
  if (turn.kind === 'refused') return tools.stats.refused(turn.why)
  if (turn.kind === 'unused') return release(order, tools, turn.why)
  if (turn.gate === 'stopped') return release(order, tools, 'stopped', turn.waitMs) // lifting the stop wakes the lane
  // A lane is started slightly early, a pace group is not: a request that arrives early loses its place in line.
  return release(order, tools, 'paced', turn.waitMs + START_AHEAD_MS)
}

function warnOfNoRoom({ origin }: Order, log: Tools['log']): void {
  const sentence = 'no room for this robots.txt (docs/robots.md): it is fetched again later'
  log.warn({ origin }, sentence)
}

/** If the ledger does not answer, the order is released; its URL is sent again with the next order of its lane. */
function whenAnswers(error: unknown): Later {
  if (error instanceof LedgerUnavailableError) return { kind: 'later', gate: 'pace-group', waitMs: AGAIN_MS }
  throw error
}

/** Attributes of the exchange for its span. */
function attributesOf({ what, bytes, outcome }: Fetched): Record<string, string | number> {
  const status = outcome !== undefined && 'status' in outcome ? outcome.status : undefined
  return {
    'decorum.answer': what,
    'http.response.body.size': bytes,
    ...defined({ 'decorum.outcome': outcome?.kind, 'http.response.status_code': status }),
  }
}
