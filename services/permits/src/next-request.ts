/**
 * Further requests under an order: a page that a worker renders loads more from its own origin, whose lane the order holds. The previous
 * request has ended; the next one may be sent after the delay, if the rules allow it and neither an operator nor the site asks for a stop.
 */

import { confirm, exactly, lanesOf, type NextTurns, next } from '@decorum/sending'
import { admit, closedSince, Problem, type Token } from '@decorum/sending/granting'
import type { Desk } from './desk.ts'
import { leasesOf } from './end.ts'
import type { Holding } from './leased.ts'
import type { Gate, RequestAnswer } from './schemas.ts'

/**
 * A permit has one request in progress at a time: a call for the next request reports that the previous one has ended.
 * @throws Problem · LedgerUnavailableError
 */
export async function nextRequest(
  id: string,
  url: string,
  token: Token,
  desk: Desk,
  holding: Holding,
): Promise<RequestAnswer> {
  /** extends the lease; returns its new length and the time within which the request must be sent, ms. Throws if a gate has closed */
  const stillWanted = async (): Promise<{ sendWithinMs: number; leaseMs: number }> => {
    const { stop, leaseMs = 0, sendWithinMs = 0 } = await holding.extend(id, undefined, token)
    if (stop !== undefined) throw noMore(stop)
    return { sendWithinMs, leaseMs }
  }
  const permit = await desk.read(id, token)
  const agent = desk.agentOf(permit.agent, token)
  const { origin, delayMs } = permit
  if (permit.order === undefined) throw new Problem('bad-request', 'this permit is for one request')
  const wish = admit(url, agent, token, desk.config.guard)
  if (wish instanceof Problem) throw wish
  if (wish.origin !== origin)
    throw new Problem('bad-request', `this order is of ${origin}: ask for a permit of ${wish.origin}`)
  await stillWanted()
  const held = lanesOf(leasesOf(permit))
  const lane = { agent: permit.agent, origin }
  const turns: NextTurns = new Map()
  for (let isGranted = false; !isGranted;) {
    const requested = await next(desk.ledger, held, { kind: 'further', lane, elapsedMs: 0, delayMs }, turns)
    if (requested.kind === 'stale') throw desk.gone(id)
    if (requested.kind === 'wait') throw noMore(requested.gate)
    if (requested.kind !== 'granted' && requested.kind !== 'turn')
      throw noMore(requested.kind === 'busy' ? 'lane-busy' : requested.kind)
    if (requested.waitMs >= desk.longestLeaseMs)
      throw new Problem('refused', `a delay of ${requested.waitMs} ms is longer than a lease`, { url, reason: 'delay' })
    await exactly(desk.ledger.clock, requested.waitMs)
    isGranted = requested.kind === 'granted'
  }
  const closed = await closedSince({ ...wish, url }, desk)
  if (closed instanceof Problem) throw closed
  if (closed !== undefined) throw noMore(closed)
  const answer = { permit: id, url: wish.url, ...(await stillWanted()) }
  const gate = await confirm(desk.ledger, held)
  if (gate === 'stale') throw desk.gone(id)
  if (gate !== undefined) throw noMore(gate)
  return answer
}

const noMore = (gate: Gate): Problem => new Problem('refused', `no more requests now: ${gate}`, { reason: gate })
