/**
 * One more request under the permit of an order: a page that a browser renders asks for more of its own origin, whose lane its order
 * holds. The request before it has ended; this one goes when the delay is over, if the rules allow it and neither operator nor site has asked for an end.
 */
import { confirm, exactly, lanesOf, next } from '@decorum/sending'
import type { z } from 'zod'
import { admit } from './admission.ts'
import { disallowed, type Gate } from './attempt.ts'
import type { Token } from './config.ts'
import type { Desk } from './desk.ts'
import { leasesOf } from './end.ts'
import type { Holding } from './leased.ts'
import { gateOf } from './origins.ts'
import type { Permit } from './permit-id.ts'
import { Problem } from './problem.ts'
import type { RequestAnswer } from './schemas.ts'

/** Of one permit one is under way at a time: asking for the next says that it has ended. */
export class NextRequests {
  readonly #desk: Desk
  readonly #holding: Holding

  constructor(desk: Desk, holding: Holding) {
    this.#desk = desk
    this.#holding = holding
  }

  /** @throws Problem · LedgerUnavailableError */
  async ask(id: string, url: string, token: Token): Promise<z.output<typeof RequestAnswer>> {
    const permit = await this.#desk.read(id, token)
    return this.#next(id, permit, url, token)
  }

  async #next(id: string, permit: Permit, url: string, token: Token): Promise<z.output<typeof RequestAnswer>> {
    const desk = this.#desk
    const agent = desk.agentOf(permit.agent, token)
    if (permit.order === undefined) throw new Problem('bad-request', 'this permit is for one request')
    const wish = admit(url, agent, desk.config.guard)
    if (wish instanceof Problem) throw wish
    if (wish.origin !== permit.origin)
      throw new Problem('bad-request', `this order is of ${permit.origin}: ask for a permit of ${wish.origin}`)
    await this.#stillWanted(id, token)
    const held = lanesOf(leasesOf(permit))
    const { origin, delayMs } = permit
    const asked = await next(desk.ledger, held, {
      kind: 'further',
      lane: { agent: permit.agent, origin },
      elapsedMs: 0,
      delayMs,
    })
    if (asked.kind === 'stale') throw desk.gone(id)
    if (asked.kind === 'wait') throw noMore(asked.gate)
    if (asked.kind !== 'granted') throw noMore(asked.kind === 'busy' ? 'lane-busy' : asked.kind)
    if (asked.waitMs >= desk.longestLeaseMs)
      throw new Problem('refused', `a delay of ${asked.waitMs} ms is longer than a lease`, { url, reason: 'delay' })
    await exactly(asked.waitMs)
    const judged = await desk.origins.judge(agent, wish.origin, wish.path)
    if (judged.judgement.kind === 'refused') throw disallowed(judged.judgement, { url })
    const closed = gateOf(judged)
    if (closed !== undefined) throw noMore(closed)
    const answer = { permit: id, url: wish.url, ...(await this.#stillWanted(id, token)) }
    const gate = await confirm(desk.ledger, held)
    if (gate === 'stale') throw desk.gone(id)
    if (gate !== undefined) throw noMore(gate)
    return answer
  }

  /** @returns the lease from now on, and when the request may leave, ms */
  async #stillWanted(id: string, token: Token): Promise<{ sendWithinMs: number; leaseMs: number }> {
    const { stop, leaseMs = 0, sendWithinMs = 0 } = await this.#holding.extend(id, undefined, token)
    if (stop !== undefined) throw noMore(stop)
    return { sendWithinMs, leaseMs }
  }
}

const noMore = (gate: Gate): Problem => new Problem('refused', `no more requests now: ${gate}`, { reason: gate })
