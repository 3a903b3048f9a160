/** Permits in shadow mode: given at once, whatever the rules say, and without a lane. What they would have met is in shadow.ts. */
import type { Agent } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import { parseRetryAfter } from '@decorum/robots'
import type { z } from 'zod'
import { mayBe } from './access.ts'
import { admit } from './admission.ts'
import type { PermitsConfig, Token } from './config.ts'
import { type Ended, loadOf, type Said } from './end.ts'
import type { Origins } from './origins.ts'
import { Problem } from './problem.ts'
import type { RobotsOrders } from './robots-orders.ts'
import type { AskFor, GrantedAnswer, HeldAnswer, ShadowAnswer } from './schemas.ts'
import { rulesOf, Shadow } from './shadow.ts'

type Options = {
  config: PermitsConfig
  ledger: Ledger
  robots: RobotsOrders
  fetchers: () => number
  origins: Origins
  longestLeaseMs: () => number
}

export class ShadowPermits {
  readonly #options: Options
  readonly #shadow = new Shadow()

  constructor(options: Options) {
    this.#options = options
  }

  /** @throws Problem when the URL cannot be read · LedgerUnavailableError */
  async ask({ url, urls, leaseMs }: AskFor, agent: Agent, token: Token): Promise<z.output<typeof GrantedAnswer>> {
    const { config, ledger, robots, fetchers, origins } = this.#options
    const longestLeaseMs = this.#options.longestLeaseMs()
    const wish = admit(url ?? (urls?.[0] as string), agent, config.guard)
    if (wish instanceof Problem && wish.type === 'bad-request') throw wish
    const heldMs = Math.min(leaseMs ?? longestLeaseMs, longestLeaseMs)
    const { name, userAgent } = agent
    const held = { decision: 'granted' as const, agent: name, userAgent, sendWithinMs: heldMs, leaseMs: heldMs }
    if (wish instanceof Problem) {
      const { url: at, reason } = wish.more as { url: string; reason: string }
      const asked = { agent: agent.key, origin: new URL(at).origin, holder: token.name, leaseMs: heldMs }
      const { id, would } = this.#shadow.ask({ ...asked, rules: { delayMs: 0, pace: 'delay', refusal: reason } })
      return { ...held, permit: id, url: at, delayMs: 0, would }
    }
    const { origin, path } = wish
    const judged = await origins.judge(agent, origin, path)
    const { judgement, delayMs, version } = judged
    if (judgement.kind === 'ask' && fetchers() > 0)
      void robots.ask({ agent: agent.key, origin }, version, delayMs).catch(() => undefined)
    const rules = rulesOf(judged, agent.minDelayMs, ledger.now(ledger.partitionOf(origin)))
    const asked = { agent: agent.key, origin, holder: token.name, leaseMs: heldMs, rules }
    const { id, would } = this.#shadow.ask(asked)
    return { ...held, permit: id, url: wish.url, delayMs, would }
  }

  /**
   * @param said  undefined: nothing was sent
   * @throws Problem
   */
  end(id: string, said: Said | undefined, token: Token): Ended {
    const asksForLess = loadOf(said ?? {}).kind === 'asked-for-less'
    const closedMs = asksForLess
      ? (parseRetryAfter(said?.retryAfter, Date.now()) ?? this.#options.config.BACK_OFF_MS)
      : 0
    if (!this.#shadow.end(id, token.name, said !== undefined, closedMs)) throw notHeld()
    return said === undefined ? 'unused' : 'completed'
  }

  /** @throws Problem */
  extend(id: string, token: Token): z.output<typeof HeldAnswer> {
    const leaseMs = this.#options.longestLeaseMs()
    const lane = this.#shadow.extend(id, token.name, leaseMs)
    if (lane === undefined) throw notHeld()
    return { permit: id, ...lane, leaseMs }
  }

  report(token: Token): z.output<typeof ShadowAnswer> {
    return this.#shadow.report((agent) => mayBe(token, agent))
  }

  clear(token: Token): void {
    this.#shadow.clear((agent) => mayBe(token, agent))
  }
}

const notHeld = (): Problem => new Problem('gone', 'this process has no such exchange any more')
