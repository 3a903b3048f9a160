/**
 * One more request under the permit of an order: a page that a browser renders asks for more of its own origin, whose lane its order
 * holds. The request before it has ended; this one goes when the delay is over, if the rules allow it and neither operator nor site has asked for an end.
 */

import { betweenMs, exactly } from '@decorum/sending'
import type { z } from 'zod'
import { admit } from './admission.ts'
import { disallowed } from './attempt.ts'
import type { Token } from './config.ts'
import type { Desk } from './desk.ts'
import { leasesOf } from './end.ts'
import type { Holding } from './leased.ts'
import type { Permit } from './permit-id.ts'
import { Problem } from './problem.ts'
import type { RequestAnswer } from './schemas.ts'

/** Those of one permit go one after the other, and each waits for its delay. */
export class NextRequests {
  readonly #desk: Desk
  readonly #holding: Holding
  readonly #inTurn = new Map<string, Promise<unknown>>()

  constructor(desk: Desk, holding: Holding) {
    this.#desk = desk
    this.#holding = holding
  }

  /** @throws Problem · LedgerUnavailableError */
  async ask(id: string, url: string, token: Token): Promise<z.output<typeof RequestAnswer>> {
    const permit = await this.#desk.read(id, token)
    const before = this.#inTurn.get(id) ?? Promise.resolve()
    const own = before.catch(() => undefined).then(() => this.#next(id, permit, url, token))
    this.#inTurn.set(id, own)
    try {
      return await own
    } finally {
      if (this.#inTurn.get(id) === own) this.#inTurn.delete(id)
    }
  }

  async #next(id: string, permit: Permit, url: string, token: Token): Promise<z.output<typeof RequestAnswer>> {
    const desk = this.#desk
    const agent = desk.agentOf(permit.agent, token)
    if (permit.order === undefined) throw new Problem('bad-request', 'this permit is for one request')
    const wish = admit(url, agent, desk.config.guard)
    if (wish instanceof Problem) throw wish
    if (wish.origin !== permit.origin)
      throw new Problem('bad-request', `this order is of ${permit.origin}: ask for a permit of ${wish.origin}`)
    const delayMs = betweenMs(leasesOf(permit))
    if (delayMs >= desk.longestLeaseMs)
      throw new Problem('refused', `a delay of ${delayMs} ms is longer than a lease`, { url, reason: 'delay' })
    const endedAt = performance.now()
    await this.#stillWanted(id, token)
    await exactly(delayMs - (performance.now() - endedAt))
    const { judgement } = await desk.origins.judge(agent, wish.origin, wish.path)
    if (judgement.kind === 'refused') throw disallowed(judgement, { url })
    if (judgement.kind !== 'allowed')
      throw new Problem('refused', 'the rules of this origin are not known now', { url, reason: 'robots-unreachable' })
    return { permit: id, url: wish.url, ...(await this.#stillWanted(id, token)) }
  }

  /** @returns the lease from now on, and when the request may leave, ms */
  async #stillWanted(id: string, token: Token): Promise<{ sendWithinMs: number; leaseMs: number }> {
    const { stop, leaseMs = 0, sendWithinMs = 0 } = await this.#holding.extend(id, undefined, token)
    if (stop !== undefined) throw new Problem('refused', `no more requests now: ${stop}`, { reason: stop })
    return { sendWithinMs, leaseMs }
  }
}
