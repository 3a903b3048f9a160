/**
 * Further requests under an order: a page that a worker renders requests more of its own origin, whose lane its order
 * holds. The previous request has ended; this one goes when the delay is over, if the rules allow it and neither operator nor site has asked for an end.
 */

import { confirm, exactly, lanesOf, type NextTurns, next } from '@decorum/sending'
import { admit, closedSince, Problem, type Token } from '@decorum/sending/granting'
import type { Desk } from './desk.ts'
import { leasesOf } from './end.ts'
import type { Holding } from './leased.ts'
import type { Gate, RequestAnswer } from './schemas.ts'

/**
 * A permit has one request in progress at a time: a call for the next one reports that it has ended.
 * @throws Problem · LedgerUnavailableError
 */
export async function nextRequest(
  id: string,
  url: string,
  token: Token,
  desk: Desk,
  holding: Holding,
): Promise<RequestAnswer> {
  /** the lease from now on, and when the request may leave, ms */
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
    const asked = await next(desk.ledger, held, { kind: 'further', lane, elapsedMs: 0, delayMs }, turns)
    if (asked.kind === 'stale') throw desk.gone(id)
    if (asked.kind === 'wait') throw noMore(asked.gate)
    if (asked.kind !== 'granted' && asked.kind !== 'turn')
      throw noMore(asked.kind === 'busy' ? 'lane-busy' : asked.kind)
    if (asked.waitMs >= desk.longestLeaseMs)
      throw new Problem('refused', `a delay of ${asked.waitMs} ms is longer than a lease`, { url, reason: 'delay' })
    await exactly(desk.ledger.clock, asked.waitMs)
    isGranted = asked.kind === 'granted'
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
