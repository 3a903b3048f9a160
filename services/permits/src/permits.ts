/**
 * What the HTTP side does, without HTTP. ask.ts grants, held.ts completes and extends, verdict.ts answers what robots.txt says, pools.ts
 * hands out the orders of pools; desk.ts is what they share.
 */
import type { z } from 'zod'
import { type Asked, Asking } from './ask.ts'
import type { Token } from './config.ts'
import { Desk, type DeskOptions } from './desk.ts'
import type { Ended } from './end.ts'
import { Holding } from './leased.ts'
import { NextRequests } from './next-request.ts'
import type { Permit } from './permit-id.ts'
import { Pools } from './pools.ts'
import type { Problem } from './problem.ts'
import { readBody } from './read-body.ts'
import { type AskFor, CompletionBody, type HeldAnswer, type RequestAnswer, type RobotsAnswer } from './schemas.ts'
import { isShadow } from './shadow.ts'
import { ShadowPermits } from './shadow-permits.ts'
import { verdict } from './verdict.ts'
import type { Caller } from './waiting.ts'

type Held = z.output<typeof HeldAnswer>

export class Permits {
  readonly #desk: Desk
  readonly #asking: Asking
  readonly #holding: Holding
  readonly #next: NextRequests
  readonly shadow: ShadowPermits
  readonly pools: Pools

  constructor(options: DeskOptions) {
    const desk = new Desk(options)
    const { origins } = desk
    this.#desk = desk
    this.shadow = new ShadowPermits({ ...options, origins, longestLeaseMs: () => desk.longestLeaseMs })
    this.#asking = new Asking(desk, this.shadow)
    this.pools = new Pools(desk)
    this.#holding = new Holding(desk, (permit, delayMs) => this.#asking.ended(permit, delayMs))
    this.#next = new NextRequests(desk, this.#holding)
  }

  /** another first retry of an unreachable robots.txt, from the next verdict on */
  setRobotsRetry(retryMs: number | undefined): void {
    this.#desk.origins.robots.setRetry(retryMs)
  }

  get waiting(): number {
    return this.#asking.waiting
  }

  /** @throws Problem · LedgerUnavailableError · GoneError, as all that follow */
  ask(asked: AskFor, token: Token, caller: Caller): Promise<Asked> {
    return this.#asking.ask(asked, token, caller)
  }

  /** The same question again, after this answer to it. @returns a Problem when nothing is left of what it granted */
  again(answer: Asked, token: Token): Promise<Asked | Problem> {
    return this.#asking.again(answer, token)
  }

  releaseUndelivered(permit: Permit): Promise<void> {
    return this.#asking.releaseUndelivered(permit)
  }

  /** @param body  what the request carried */
  async complete(id: string, body: unknown, token: Token): Promise<Ended> {
    if (isShadow(id)) return this.shadow.end(id, readBody(CompletionBody, body), token)
    return this.#holding.complete(id, body, token)
  }

  async unused(id: string, token: Token): Promise<Ended> {
    if (isShadow(id)) return this.shadow.end(id, undefined, token)
    return this.#holding.unused(id, token)
  }

  async extend(id: string, leaseMs: number | undefined, token: Token): Promise<Held> {
    if (isShadow(id)) return this.shadow.extend(id, token)
    return this.#holding.extend(id, leaseMs, token)
  }

  async view(id: string, token: Token): Promise<Held> {
    if (isShadow(id)) return this.shadow.extend(id, token)
    return this.#holding.view(id, token)
  }

  /** one more request under the permit of an order */
  next(id: string, url: string, token: Token): Promise<z.output<typeof RequestAnswer>> {
    return this.#next.ask(id, url, token)
  }

  robots(url: string, agent: string | undefined, token: Token): Promise<z.output<typeof RobotsAnswer>> {
    return verdict(url, agent, token, this.#desk)
  }
}
