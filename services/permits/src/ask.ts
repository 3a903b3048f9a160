/** Grants a permit for the first of some URLs that may be requested, at once or in its turn. */
import { defined, sinceNow } from '@decorum/runtime'
import { exactly, release } from '@decorum/sending'
import { admit, type Wish } from './admission.ts'
import { attempt, closedSince, forbidden, type Granted, STOPPED_WAIT_MS } from './attempt.ts'
import type { Token } from './config.ts'
import { type Desk, tooLate } from './desk.ts'
import { leftOf } from './end.ts'
import type { Permit } from './permit-id.ts'
import { Problem } from './problem.ts'
import type { AskBody, GrantedAnswer, RefusedAnswer, WaitAnswer } from './schemas.ts'
import type { ShadowPermits } from './shadow-permits.ts'
import { type Caller, GoneError, Lines, type Refusal } from './waiting.ts'

export type Asked = { status: 201; body: GrantedAnswer; permit?: Permit } | { status: 200; body: WaitAnswer }

export class Asking {
  readonly #desk: Desk
  readonly #shadow: ShadowPermits
  readonly #lines: Lines
  /** by the name of their token */
  readonly #waiting = new Map<string, number>()

  constructor(desk: Desk, shadow: ShadowPermits) {
    this.#desk = desk
    this.#shadow = shadow
    this.#lines = new Lines({
      attempt: (wish, leaseMs) => attempt(wish, leaseMs + desk.marginMs, desk),
      release: (granted) => void this.#release(granted),
      refusedAlready: ({ agent, origin, path, url }) => {
        const known = desk.origins.robots.atIntake(agent, origin, path)
        return known && forbidden(known, url)
      },
    })
  }

  get waiting(): number {
    return this.#lines.waiting
  }

  /** An exchange of this lane has ended: it is due in so many ms. */
  ended({ agent, origin }: { agent: string; origin: string }, delayMs: number): void {
    this.#lines.ended(agent, origin, delayMs)
  }

  /** @throws Problem · LedgerUnavailableError · GoneError when the caller has closed its connection */
  async ask(asked: AskBody, token: Token, caller: Caller): Promise<Asked> {
    const desk = this.#desk
    const agent = desk.agentOf(asked.agent, token)
    checkCrawl(asked.crawl, token)
    if (asked.shadow) return { status: 201, body: await this.#shadow.ask(asked, agent, token) }
    const wishes: Wish[] = []
    const refusals: Refusal[] = []
    for (const [index, text] of (asked.urls ?? [asked.url as string]).entries()) {
      const admitted = admit(text, agent, desk.config.guard, index)
      if (admitted instanceof Problem) refusals.push({ index, problem: admitted })
      else wishes.push({ ...admitted, ...defined({ crawl: asked.crawl }) })
    }
    if (wishes.length === 0) throw allRefused(refusals)
    await desk.ids.ready()
    if (caller.isGone) throw new GoneError()
    const leaseMs = Math.min(asked.leaseMs ?? desk.longestLeaseMs, desk.longestLeaseMs)
    const answer = await this.#inRoom(token, () => this.#lines.ask(wishes, leaseMs, asked.waitMs, caller))
    refusals.push(...answer.refused)
    if (answer.kind === 'refused') throw allRefused(refusals)
    const ofSeveral =
      asked.urls === undefined
        ? {}
        : { index: answer.wish.index, ...(refusals.length > 0 ? refusedField(refusals) : {}) }
    if (answer.kind === 'wait') {
      const { kind, wish, waitMs, refused: _, ...more } = answer
      return { status: 200, body: { decision: kind, url: wish.url, retryAfterMs: waitMs, ...more, ...ofSeveral } }
    }
    const { waitMs, wish, leases } = answer
    if (waitMs > 0) await exactly(waitMs)
    const permit: Permit = { ...leases, holder: token.name, grantedAt: desk.now(leases) }
    const id = await desk.ids.write(permit)
    if (desk.isTooLate(answer.since)) {
      await this.#release(answer)
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
        sendWithinMs: desk.sendWithinMs(answer.since, leaseMs),
        leaseMs,
        delayMs: permit.delayMs,
        ...ofSeveral,
      },
    }
  }

  /**
   * The same question again, after a permit was granted: what is left of that permit, or the gate that has closed since.
   * @returns a Problem when it has ended, and when rules have come to forbid its URL
   * @throws  Problem when Redis answers too late · LedgerUnavailableError
   */
  async again(answer: Asked, token: Token): Promise<Asked | Problem> {
    const desk = this.#desk
    if (answer.status !== 201 || answer.permit === undefined) return answer // shadow mode takes no lane
    const { permit, body } = answer
    const since = sinceNow()
    const left = await leftOf(permit, desk.ledger)
    if (left.kind === 'stale') return desk.gone(body.permit)
    const endsAt = Math.min(left.endsAt - desk.marginMs, permit.grantedAt + desk.config.PERMIT_MAX_MS)
    const leaseMs = Math.floor(endsAt - desk.now(permit))
    if (leaseMs <= 0) return desk.gone(body.permit)
    const wish = admit(body.url, desk.agentOf(body.agent, token), desk.config.guard)
    if (wish instanceof Problem) return wish
    const gate = left.stop ?? (await closedSince(wish, desk)) ?? (await desk.stopAt(wish))
    if (gate instanceof Problem) return gate
    if (desk.isTooLate(since)) throw tooLate()
    if (gate === undefined)
      return { ...answer, body: { ...body, leaseMs, sendWithinMs: desk.sendWithinMs(since, leaseMs) } }
    const retryAfterMs = Math.min(leaseMs, STOPPED_WAIT_MS)
    return { status: 200, body: { decision: 'wait', url: body.url, retryAfterMs, gate, ahead: 0 } }
  }

  /** @throws Problem when too many callers wait, of this token or of all */
  async #inRoom<T>({ name, maxWaiting }: Token, wait: () => Promise<T>): Promise<T> {
    const own = this.#waiting.get(name) ?? 0
    if (maxWaiting !== undefined && own >= maxWaiting)
      throw new Problem('quota', `${maxWaiting} callers of this token wait already`, { retryAfterMs: 1_000 })
    const most = this.#desk.config.PERMITS_MAX_WAITING
    if (this.waiting >= most) throw new Problem('busy', `${most} callers wait already`, { retryAfterMs: 1_000 })
    this.#waiting.set(name, own + 1)
    return wait().finally(() => {
      this.#waiting.set(name, (this.#waiting.get(name) ?? 1) - 1)
    })
  }

  async #release({ leases }: Granted): Promise<void> {
    await release(this.#desk.ledger, [leases, ...leases.paceLeases])
    this.ended(leases, 0)
  }
}

/** @throws Problem */
function checkCrawl(crawl: string | undefined, { crawls }: Token): void {
  if (crawls === undefined || (crawl !== undefined && crawls.includes(crawl))) return
  throw new Problem('forbidden', `this token is for the crawls ${crawls.join(', ')}`)
}

const refusedField = (refusals: Refusal[]): { refused: RefusedAnswer[] } => ({
  refused: refusals.map(({ index, problem }) => ({ ...problem.toJSON(), index }) as RefusedAnswer),
})

/** The answer when none of the URLs will ever be granted: the first refusal, and of several URLs all of them. */
function allRefused(refusals: Refusal[]): Problem {
  const [first] = refusals
  if (first === undefined) return new Problem('bad-request', 'a URL is needed')
  const { type, message, more } = first.problem
  return refusals.length === 1 ? first.problem : new Problem(type, message, { ...more, ...refusedField(refusals) })
}
