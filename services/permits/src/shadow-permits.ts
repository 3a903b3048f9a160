/** Permits in shadow mode: granted at once, whatever the rules say, and without a lane. shadow.ts records their fate under real permits. */

import type { Agent } from '@decorum/config'
import { waitOf } from '@decorum/sending'
import { admit, mayBe, Problem, type Token } from '@decorum/sending/granting'
import type { Desk } from './desk.ts'
import { loadOf } from './end.ts'
import type { Holding } from './leased.ts'
import { readBody } from './read-body.ts'
import {
  type PermitBody,
  CompletionBody,
  type Ended,
  type GrantedAnswer,
  type HeldAnswer,
  type ShadowAnswer,
} from './schemas.ts'
import { rulesOf, Shadow } from './shadow.ts'

export class ShadowPermits implements Holding {
  readonly #desk: Desk
  readonly #shadow: Shadow

  constructor(desk: Desk) {
    this.#desk = desk
    this.#shadow = new Shadow(desk.ledger.clock)
  }

  /** @throws Problem when the URL cannot be read · LedgerUnavailableError */
  async grant({ url, urls, leaseMs }: PermitBody, agent: Agent, token: Token): Promise<GrantedAnswer> {
    const { config, robots, fetchers, origins, longestLeaseMs, now } = this.#desk
    const wish = admit(url ?? (urls?.[0] as string), agent, token, config.guard)
    if (wish instanceof Problem && wish.type === 'bad-request') throw wish
    const heldMs = Math.min(leaseMs ?? longestLeaseMs, longestLeaseMs)
    const { name, userAgent } = agent
    const held = { decision: 'granted' as const, agent: name, userAgent, sendWithinMs: heldMs, leaseMs: heldMs }
    if (wish instanceof Problem) {
      const { url: at, reason } = wish.more as { url: string; reason: string }
      const rules = { delayMs: 0, pace: 'delay', refusal: reason } as const
      const requested = { agent: agent.key, origin: new URL(at).origin, holder: token.name, leaseMs: heldMs, rules }
      const { id, would } = this.#shadow.grant(requested)
      return { ...held, permit: id, url: at, delayMs: 0, would }
    }
    const { origin, path } = wish
    const judged = await origins.judge(agent, origin, path)
    const { judgement, delayMs, version } = judged
    if (judgement.kind === 'ask' && fetchers() > 0)
      void robots.orderFetch({ agent: agent.key, origin }, token, version, delayMs).catch(() => undefined)
    const rules = rulesOf(judged, agent.minDelayMs, now(wish))
    const requested = { agent: agent.key, origin, holder: token.name, leaseMs: heldMs, rules }
    const { id, would } = this.#shadow.grant(requested)
    return { ...held, permit: id, url: wish.url, delayMs, would }
  }

  async complete(id: string, body: unknown, token: Token): Promise<Ended> {
    const completion = readBody(CompletionBody, body)
    const load = loadOf(completion)
    const requested = waitOf(load)
    const requestedMs = Math.max(requested.retryAfterMs ?? 0, (requested.retryAfterAt ?? 0) - this.#desk.wall())
    const closedMs = requestedMs > 0 ? requestedMs : load.kind === 'asked-for-less' ? this.#desk.config.BACK_OFF_MS : 0
    if (!this.#shadow.end(id, token.name, true, closedMs)) throw notHeld()
    return 'completed'
  }

  async unused(id: string, token: Token): Promise<Ended> {
    if (!this.#shadow.end(id, token.name, false, 0)) throw notHeld()
    return 'unused'
  }

  async extend(id: string, _requested: number | undefined, token: Token): Promise<HeldAnswer> {
    const leaseMs = this.#desk.longestLeaseMs
    const lane = this.#shadow.extend(id, token.name, leaseMs)
    if (lane === undefined) throw notHeld()
    return { permit: id, ...lane, leaseMs }
  }

  view(id: string, token: Token): Promise<HeldAnswer> {
    return this.extend(id, undefined, token)
  }

  report(token: Token): ShadowAnswer {
    return this.#shadow.report((agent) => mayBe(token, agent))
  }

  clear(token: Token): void {
    this.#shadow.clear((agent) => mayBe(token, agent))
  }
}

const notHeld = (): Problem => new Problem('gone', 'this process has no such exchange any more')
