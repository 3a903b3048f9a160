/** Grants a permit for the first of some URLs that may be requested, at once or in its turn. */

import { defined, sinceNow } from '@decorum/runtime'
import { exactly } from '@decorum/sending'
import {
  admit,
  type Caller,
  checkCrawl,
  closedSince,
  GoneError,
  type Lines,
  openLines,
  Problem,
  type Refusal,
  STOPPED_WAIT_MS,
  type Token,
  type Wish,
} from '@decorum/sending/granting'
import { type Desk, tooLate } from './desk.ts'
import { leftOf } from './end.ts'
import { grantedLeases, type Permit } from './permit-id.ts'
import type { PermitBody, GrantedAnswer, RefusedAnswer, WaitAnswer } from './schemas.ts'
import type { ShadowPermits } from './shadow-permits.ts'

export type PermitAnswer = { status: 201; body: GrantedAnswer; permit?: Permit } | { status: 200; body: WaitAnswer }

export class Granter {
  readonly #desk: Desk
  readonly #shadow: ShadowPermits
  readonly #lines: Lines

  constructor(desk: Desk, shadow: ShadowPermits) {
    this.#desk = desk
    this.#shadow = shadow
    this.#lines = openLines(desk, desk.marginMs)
  }

  get waiting(): number {
    return this.#lines.waiting
  }

  /** An exchange in this lane has ended: the lane is due in `delayMs`. */
  ended({ agent, origin }: { agent: string; origin: string }, delayMs: number): void {
    this.#lines.ended(agent, origin, delayMs)
  }

  /** @throws Problem · LedgerUnavailableError · GoneError when the caller has closed its connection */
  async grant(requested: PermitBody, token: Token, caller: Caller): Promise<PermitAnswer> {
    const desk = this.#desk
    const agent = desk.agentOf(requested.agent, token)
    checkCrawl(requested.crawl, token)
    if (requested.shadow) return { status: 201, body: await this.#shadow.grant(requested, agent, token) }
    const wishes: Wish[] = []
    const refusals: Refusal[] = []
    for (const [index, text] of (requested.urls ?? [requested.url as string]).entries()) {
      const admitted = admit(text, agent, token, desk.config.guard, index)
      if (admitted instanceof Problem) refusals.push({ index, problem: admitted })
      else wishes.push({ ...admitted, ...defined({ crawl: requested.crawl }) })
    }
    const [first, ...others] = wishes
    if (first === undefined) throw allRefused(refusals)
    await desk.ids.ready()
    if (caller.isGone) throw new GoneError()
    const leaseMs = Math.min(requested.leaseMs ?? desk.longestLeaseMs, desk.longestLeaseMs)
    const answer = await this.#lines.request([first, ...others], leaseMs, requested.waitMs, caller)
    refusals.push(...answer.refused)
    if (answer.kind === 'refused') throw allRefused(refusals)
    const ofSeveral =
      requested.urls === undefined
        ? {}
        : { index: answer.wish.index, ...(refusals.length > 0 ? refusedField(refusals) : {}) }
    if (answer.kind === 'wait') {
      const { kind, wish, waitMs, refused: _, ...more } = answer
      return { status: 200, body: { decision: kind, url: wish.url, retryAfterMs: waitMs, ...more, ...ofSeveral } }
    }
    const { turn, wish } = answer
    if (turn.waitMs > 0) await exactly(desk.ledger.clock, turn.waitMs)
    const leases = grantedLeases(turn)
    const permit: Permit = { ...leases, holder: token.name, grantedAt: desk.now(leases) }
    const id = await desk.ids.write(permit)
    const since = turn.requested.first
    if (desk.isTooLate(since)) {
      await this.#lines.release(answer)
      throw tooLate()
    }
    return {
      status: 201,
      permit,
      body: {
        decision: 'granted',
        permit: id,
        url: wish.url,
        agent: agent.name,
        userAgent: agent.userAgent,
        sendWithinMs: desk.sendWithinMs(since, leaseMs),
        leaseMs,
        delayMs: permit.delayMs,
        ...ofSeveral,
      },
    }
  }

  /**
   * Answers a request that is repeated after its permit was granted: with the rest of that permit, or the gate that has closed since.
   * @returns a Problem when the permit has ended, or when new rules forbid its URL
   * @throws  Problem when Redis answers too late · LedgerUnavailableError
   */
  async again(answer: PermitAnswer, token: Token): Promise<PermitAnswer | Problem> {
    const desk = this.#desk
    if (answer.status !== 201 || answer.permit === undefined) return answer // shadow mode reserves no lane
    const { permit, body } = answer
    const since = sinceNow(desk.ledger.clock)
    const left = await leftOf(permit, desk.ledger)
    if (left.kind === 'stale') return desk.gone(body.permit)
    const endsAt = Math.min(left.endsAt - desk.marginMs, permit.grantedAt + desk.config.PERMIT_MAX_MS)
    const leaseMs = Math.floor(endsAt - desk.now(permit))
    if (leaseMs <= 0) return desk.gone(body.permit)
    const wish = admit(body.url, desk.agentOf(body.agent, token), token, desk.config.guard)
    if (wish instanceof Problem) return wish
    const gate = left.stop ?? (await closedSince(wish, desk)) ?? (await desk.stopAt(wish))
    if (gate instanceof Problem) return gate
    if (desk.isTooLate(since)) throw tooLate()
    if (gate === undefined)
      return { ...answer, body: { ...body, leaseMs, sendWithinMs: desk.sendWithinMs(since, leaseMs) } }
    const retryAfterMs = Math.min(leaseMs, STOPPED_WAIT_MS)
    return { status: 200, body: { decision: 'wait', url: body.url, retryAfterMs, gate, ahead: 0 } }
  }
}

const refusedField = (refusals: Refusal[]): { refused: RefusedAnswer[] } => ({
  refused: refusals.map(({ index, problem }) => ({ ...problem.toJSON(), index }) as RefusedAnswer),
})

/** The answer when none of the URLs will ever be granted: for one URL its refusal, for several all refusals. */
function allRefused(refusals: Refusal[]): Problem {
  const [first] = refusals
  if (first === undefined) return new Problem('bad-request', 'a URL is needed')
  const { type, message, more } = first.problem
  return refusals.length === 1 ? first.problem : new Problem(type, message, { ...more, ...refusedField(refusals) })
}
