/** What the HTTP side does, without HTTP: asks, completes, extends and gives back permits. */
import { randomUUID } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import type { Agent } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import { passed, type Since, sinceNow } from '@decorum/runtime'
import type { z } from 'zod'
import { mayBe } from './access.ts'
import { admit, type Wish } from './admission.ts'
import { attempt, type Granted, giveBack } from './attempt.ts'
import type { PermitsConfig, Token } from './config.ts'
import { complete, type Ended, extend, returnUnused, type Said } from './end.ts'
import { Origins } from './origins.ts'
import type { Permit, PermitIds } from './permit-id.ts'
import { Problem } from './problem.ts'
import type { RobotsOrders } from './robots-orders.ts'
import type { AskFor, GrantedAnswer, HeldAnswer, RefusedAnswer, RobotsAnswer, WaitAnswer } from './schemas.ts'
import { isShadow } from './shadow.ts'
import { ShadowPermits } from './shadow-permits.ts'
import { type Caller, Lines } from './waiting.ts'

/** An answer of the ledger (rules, pauses, stops, fence) is relied on for so long, as the fleet's fetchers do. */
const SEND_WITHIN_MS = 1_000
/** The ledger's lease is longer than the permit by this, or by less when leases are short: time for the completion to arrive. */
const MARGIN_MS = 5_000
/** How many ended permits are remembered, so that a second completion is not taken for a late one. */
const MOST_ENDED = 20_000
const AGES_MS = [86_400_000, 21_600_000, 3_600_000, 600_000, 60_000, 5_000]

export type Asked =
  | { status: 201; body: z.output<typeof GrantedAnswer>; permit?: Permit }
  | { status: 200; body: z.output<typeof WaitAnswer> }
type RefusedUrl = { index: number; problem: Problem }

export type PermitsOptions = {
  config: PermitsConfig
  ledger: Ledger
  ids: PermitIds
  robots: RobotsOrders
  fetchers: () => number
}

export class Permits {
  readonly #options: PermitsOptions
  readonly #lines: Lines
  readonly #origins: Origins
  readonly #ended = new Map<string, Ended>()
  readonly #waiting = new Map<string, number>()
  readonly shadow: ShadowPermits
  readonly #marginMs: number
  readonly longestLeaseMs: number

  constructor(options: PermitsOptions) {
    const { config, ledger, robots, fetchers } = options
    this.#options = options
    this.#marginMs = Math.min(MARGIN_MS, config.LEASE_MS / 10)
    this.longestLeaseMs = Math.floor(config.LEASE_MS - this.#marginMs)
    this.#origins = new Origins(ledger, config.ROBOTS_RETRY_MS)
    const tools = {
      ledger,
      origins: this.#origins,
      robots,
      groups: config.paceGroups,
      fetchers,
      id: randomUUID().slice(0, 8),
      addressOf: (host: string) =>
        lookup(host.replace(/^\[|\]$/g, '')).then(
          ({ address }) => address,
          () => undefined,
        ),
    }
    this.shadow = new ShadowPermits({ ...options, origins: this.#origins, longestLeaseMs: this.longestLeaseMs })
    this.#lines = new Lines({
      attempt: (wish, leaseMs) => attempt(wish, leaseMs + this.#marginMs, tools),
      release: (granted) => void this.#release(granted),
      refusedAlready: ({ agent, origin, path, url }) => {
        const known = this.#origins.gate.atIntake(agent, origin, path)
        if (known?.kind !== 'disallowed') return undefined
        const { rule, line, group } = known
        return new Problem('disallowed', `line ${line} of robots.txt says ${rule}`, { url, rule, line, group })
      },
    })
  }

  /** another first retry of an unreachable robots.txt, from the next verdict on */
  setRobotsRetry(retryMs: number | undefined): void {
    this.#origins.gate.setRetry(retryMs)
  }

  get waiting(): number {
    return this.#lines.waiting
  }

  /** @throws Problem · LedgerUnavailableError · GoneError when the caller has closed its connection */
  async ask(asked: AskFor, token: Token, caller: Caller): Promise<Asked> {
    const { config, ledger, ids } = this.#options
    const agent = this.#agentOf(asked.agent, token)
    this.#checkCrawl(asked.crawl, token)
    if (asked.shadow) return { status: 201, body: await this.shadow.ask(asked, agent, token) }
    const wishes: Wish[] = []
    const refusals: RefusedUrl[] = []
    for (const [index, text] of (asked.urls ?? [asked.url as string]).entries()) {
      const admitted = admit(text, agent, config.guard, index)
      if (admitted instanceof Problem) refusals.push({ index, problem: admitted })
      else wishes.push(admitted)
    }
    if (wishes.length === 0) throw allRefused(refusals)
    const leaseMs = Math.min(asked.leaseMs ?? this.longestLeaseMs, this.longestLeaseMs)
    this.#checkRoom(token)
    this.#waiting.set(token.name, (this.#waiting.get(token.name) ?? 0) + 1)
    const answer = await this.#lines.ask(wishes, leaseMs, asked.waitMs, caller).finally(() => {
      this.#waiting.set(token.name, (this.#waiting.get(token.name) ?? 1) - 1)
    })
    refusals.push(...answer.refused.map(({ wish, problem }) => ({ index: wish.index, problem })))
    if (answer.kind === 'refused') throw allRefused(refusals)
    const ofSeveral =
      asked.urls === undefined ? {} : { index: answer.wish.index, ...(refusals.length > 0 ? told(refusals) : {}) }
    if (answer.kind === 'wait') {
      const { kind, wish, waitMs, refused: _, ...more } = answer
      return { status: 200, body: { decision: kind, url: wish.url, retryAfterMs: waitMs, ...more, ...ofSeveral } }
    }
    const { waitMs, wish } = answer
    const permit: Permit = { ...answer.permit, holder: token.name }
    if (waitMs > 0) await exactly(waitMs)
    const id = await ids.write({ ...permit, grantedAt: ledger.now(ledger.partitionOf(permit.origin)) })
    if (this.#isTooLate(answer.since)) {
      await this.#release(answer)
      throw tooLate()
    }
    const sendWithinMs = Math.min(SEND_WITHIN_MS, leaseMs)
    return {
      status: 201,
      permit,
      body: {
        decision: 'granted',
        permit: id,
        url: wish.url,
        agent: agent.name,
        userAgent: agent.userAgent,
        sendWithinMs,
        leaseMs,
        delayMs: permit.delayMs,
        ...ofSeveral,
      },
    }
  }

  /**
   * The holder counts its lease from our answer, the ledger from its own. When the ledger's came so late, or this process was
   * frozen, that more than the margin has passed, the holder would rely on a lease that has ended.
   */
  #isTooLate(since: Since): boolean {
    return passed(since) > this.#marginMs
  }

  /** The answer did not reach the caller. */
  async giveBackUnheard({ agent, origin, fence, clocks }: Permit): Promise<void> {
    await giveBack(this.#options.ledger, [{ agent, origin, fence }, ...clocks], 'unused').catch(() => undefined)
  }

  async complete(id: string, said: Said, token: Token): Promise<Ended> {
    if (isShadow(id)) return this.shadow.end(id, said, token)
    const permit = await this.#read(id, token)
    const { ledger, config } = this.#options
    if (this.#ended.get(id) === 'completed') return 'completed'
    const { told, delayMs } = await complete(permit, said, ledger, config.agents)
    if (told === 'stale') throw this.#gone(id)
    this.#note(id, 'completed')
    this.#lines.ended(permit.agent, permit.origin, delayMs)
    return 'completed'
  }

  async unused(id: string, token: Token): Promise<Ended> {
    if (isShadow(id)) return this.shadow.end(id, undefined, token)
    const permit = await this.#read(id, token)
    if (this.#ended.get(id) === 'unused') return 'unused'
    if ((await returnUnused(permit, this.#options.ledger)) === 'stale') throw this.#gone(id)
    this.#note(id, 'unused')
    this.#lines.ended(permit.agent, permit.origin, permit.delayMs)
    return 'unused'
  }

  async extend(id: string, asked: number | undefined, token: Token): Promise<z.output<typeof HeldAnswer>> {
    if (isShadow(id)) return this.shadow.extend(id, token)
    const permit = await this.#read(id, token)
    const { ledger, config } = this.#options
    const leftMs = permit.grantedAt + config.PERMIT_MAX_MS - ledger.now(ledger.partitionOf(permit.origin))
    const leaseMs = Math.floor(Math.min(asked ?? this.longestLeaseMs, this.longestLeaseMs, leftMs))
    if (leaseMs <= 0)
      throw new Problem('gone', `a permit lasts ${config.PERMIT_MAX_MS} ms at most, however often it is extended`)
    const since = sinceNow()
    const answer = await extend(permit, leaseMs + this.#marginMs, ledger)
    if (answer.kind === 'stale') throw this.#gone(id)
    if (this.#isTooLate(since)) throw tooLate()
    const { agent, origin } = permit
    return { permit: id, agent, origin, leaseMs, ...('stop' in answer ? { stop: answer.stop } : {}) }
  }

  async view(id: string, token: Token): Promise<z.output<typeof HeldAnswer>> {
    if (isShadow(id)) return this.shadow.extend(id, token)
    const permit = await this.#read(id, token)
    const { agent, origin, fence } = permit
    const told = await this.#options.ledger.confirm([{ agent, origin, fence }])
    if (told === 'stale') throw this.#gone(id)
    const stop = told === 'back-off' || told === 'startup-hold' || told === 'stopped' ? { stop: told } : {}
    return { permit: id, agent, origin, ...stop }
  }

  /** What robots.txt says; where nobody knows it, a fetcher is told to ask. */
  async robots(url: string, name: string | undefined, token: Token): Promise<z.output<typeof RobotsAnswer>> {
    const { config, ledger, robots, fetchers } = this.#options
    const agent = this.#agentOf(name, token)
    const wish = admit(url, agent, config.guard)
    if (wish instanceof Problem) throw wish
    const { origin, path } = wish
    const judged = await this.#origins.judge(agent, origin, path)
    const { judgement, delayMs, version, state } = judged
    const base = { url: wish.url, agent: agent.name, delayMs }
    if (judgement.kind === 'ask' && fetchers() > 0) await robots.ask(agent.key, origin, version, delayMs)
    if (judgement.kind === 'ask' || judgement.kind === 'wait')
      return { ...base, verdict: 'unknown', why: judgement.kind === 'ask' ? 'unknown' : judgement.why, maxAgeMs: 0 }
    const now = ledger.now(ledger.partitionOf(origin))
    const found = this.#origins.gate.rules(agent, origin, state, now)
    const rules = found instanceof Promise ? await found : found
    const { question: _, ...known } = state
    const isSame = (ms: number): boolean => {
      const then = this.#origins.gate.judge(agent, origin, path, known, rules, now + ms)
      return then.kind === judgement.kind && 'stale' in then && then.stale === judgement.stale
    }
    const maxAgeMs = AGES_MS.find((ms) => isSame(ms)) ?? 0
    if (judgement.kind === 'allowed') return { ...base, verdict: 'allowed', why: judgement.why, maxAgeMs }
    const { rule, group } = judgement
    return {
      ...base,
      verdict: 'disallowed',
      rule: `${rule.type}: ${rule.pattern}`,
      line: rule.line,
      group: [...group.agents],
      maxAgeMs,
    }
  }

  #agentOf(name: string | undefined, token: Token): Agent {
    const { agents } = this.#options.config
    const agent = name === undefined ? agents.list.find(({ key }) => mayBe(token, key)) : agents.find(name)
    if (agent === undefined)
      throw new Problem('unknown-agent', `agents are: ${agents.list.map((one) => one.name).join(', ')}`)
    if (!mayBe(token, agent.key)) throw new Problem('forbidden', `this token is not for the agent ${agent.name}`)
    return agent
  }

  #checkCrawl(crawl: string | undefined, { crawls }: Token): void {
    if (crawls === undefined || (crawl !== undefined && crawls.includes(crawl))) return
    throw new Problem('forbidden', `this token is for the crawls ${crawls.join(', ')}`)
  }

  #checkRoom({ name, maxWaiting }: Token): void {
    if (maxWaiting !== undefined && (this.#waiting.get(name) ?? 0) >= maxWaiting)
      throw new Problem('quota', `${maxWaiting} callers of this token wait already`, { retryAfterMs: 1_000 })
    const most = this.#options.config.PERMITS_MAX_WAITING
    if (this.waiting >= most) throw new Problem('busy', `${most} callers wait already`, { retryAfterMs: 1_000 })
  }

  /** @throws Problem: a permit that was not given to this holder is none */
  async #read(id: string, token: Token): Promise<Permit> {
    const permit = await this.#options.ids.read(id)
    if (permit === undefined || permit.holder !== token.name || !mayBe(token, permit.agent))
      throw new Problem('not-found', 'this fleet has not given this permit to this holder')
    return permit
  }

  #gone(id: string): Problem {
    const ended = this.#ended.get(id)
    return new Problem(
      'gone',
      ended === undefined ? 'its lease is over' : `it was ${ended === 'unused' ? 'given back' : ended} before`,
    )
  }

  #note(id: string, how: Ended): void {
    if (this.#ended.size >= MOST_ENDED) this.#ended.delete(this.#ended.keys().next().value as string)
    this.#ended.set(id, how)
  }

  async #release({ permit }: Granted): Promise<void> {
    const { agent, origin, fence, clocks } = permit
    await giveBack(this.#options.ledger, [{ agent, origin, fence }, ...clocks], 'release').catch(() => undefined)
    this.#lines.ended(agent, origin, 0)
  }
}

const tooLate = (): Problem => new Problem('ledger-away', 'Redis answered too late: ask again', { retryAfterMs: 1_000 })

const told = (refusals: RefusedUrl[]): { refused: z.output<typeof RefusedAnswer>[] } => ({
  refused: refusals.map(({ index, problem }) => ({ ...problem.toJSON(), index }) as z.output<typeof RefusedAnswer>),
})

/** The answer when none of the URLs will ever be granted: the first refusal, and of several URLs all of them. */
function allRefused(refusals: RefusedUrl[]): Problem {
  const [first] = refusals
  if (first === undefined) return new Problem('bad-request', 'a URL is needed')
  const { type, message, more } = first.problem
  return refusals.length === 1 ? first.problem : new Problem(type, message, { ...more, ...told(refusals) })
}

/** Waits at least that long, and as little more as a timer of whole milliseconds allows. */
async function exactly(ms: number): Promise<void> {
  const until = performance.now() + ms
  for (let left = ms; left > 0; left = until - performance.now()) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(1, Math.floor(left))))
  }
}
