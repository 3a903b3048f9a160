/** Spans of this service: how long a caller waited for its permit, and how long a worker of a pool had its order. */

import { type Clock, type Outcome, orderUrl } from '@decorum/protocol'
import type { Traces } from '@decorum/runtime'
import { defined } from '@decorum/runtime'
import type { PageRead } from '@decorum/sending'
import { Problem } from '@decorum/sending/granting'
import type { AboutOrder } from './order-end.ts'
import type { PermitBody } from './schemas.ts'

/**
 * Covers the time from a request to its answer. Belongs to the trace of the caller.
 * @param traceparent  the header of that name; no span is made if it is absent or malformed
 */
export async function tracedGrant<T extends { status: number }>(
  traces: Traces,
  traceparent: string | undefined,
  { url, urls, agent }: PermitBody,
  grant: () => Promise<T>,
): Promise<T> {
  const span = traces.span('decorum.permit', { traceparent }, () => ({
    'url.full': url ?? urls?.[0] ?? '',
    ...defined({ 'decorum.agent': agent }),
  }))
  if (span === undefined) return grant()
  try {
    const answer = await grant()
    span.set({ 'decorum.decision': answer.status === 201 ? 'granted' : 'wait' })
    span.end()
    return answer
  } catch (error) {
    if (error instanceof Problem) span.set({ 'decorum.decision': error.type })
    span.end(error instanceof Problem ? undefined : (error as Error))
    throw error
  }
}

/**
 * Covers the time from handing out an order until its end is written. Belongs to the trace of the URL; any process of this service may
 * report it.
 */
export function traceOrder(
  clock: Clock,
  traces: Traces,
  pool: string,
  { order, heldMs }: AboutOrder,
  { outcome }: PageRead,
): void {
  const attributes = () => ({
    'decorum.id': order.id,
    'decorum.kind': 'page',
    'decorum.attempt': order.attempt,
    'decorum.pool': pool,
    'url.full': orderUrl(order),
    ...(outcome === undefined ? {} : attributesOfOutcome(outcome)),
  })
  traces.span('decorum.fetch', order.request, attributes, clock.machine() - heldMs)?.end()
}

const attributesOfOutcome = (outcome: Outcome): Record<string, string | number> => ({
  'decorum.outcome': outcome.kind,
  ...('status' in outcome && outcome.status !== undefined ? { 'http.response.status_code': outcome.status } : {}),
})
