/** The rules of origins as this process has them: read from the ledger, used for a few seconds, and always together with their version. */

import type { Agent } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import { effectiveDelay, visitTimeOpensAt } from '@decorum/politeness'
import { Recent, type RobotsJudge, robotsJudge, type SenderGate, senderGate } from '@decorum/politeness/admission'
import type { Judgement, RobotsState } from '@decorum/robots'
import { defined } from '@decorum/runtime'

/** A grant checks the version in the ledger; a refusal may rest on rules that are this old. */
const TRUST_MS = 5_000
/** Longest time from the verdict to the first byte of the request. */
const SENT_WITHIN_MS = 5_000
/** Most origins in the cache: as many as are looked up within TRUST_MS. */
const MOST_KNOWN = 10_000
const MOST_ORIGINS = 50_000
/** How long an origin stays claimed after a permit was granted: a day less than the ledger keeps the origin's state. */
const CLAIMED_MS = 30 * 86_400_000

export type Known = { version: number; state: RobotsState; at: number }
export type Judged = {
  judgement: Judgement
  delayMs: number
  version: number
  state: RobotsState
  /** why the URL may not be requested now; absent: the rules allow it, forbid it for good, or must be fetched first */
  closed?: SenderGate
}

/** none: the site has no robots.txt and answered with this status · unknown: it must be fetched first, or cannot be fetched */
export type RobotsFile =
  | { kind: 'file'; bytes: Uint8Array; ageMs: number }
  | { kind: 'none'; status: number; ageMs: number }
  | { kind: 'unknown' }

export class Origins {
  readonly #ledger: Ledger
  readonly #known = new Recent<string, Known>(MOST_KNOWN)
  readonly #answered = new Recent<string, Known>(MOST_ORIGINS)
  readonly #claimed = new Recent<string, number>(MOST_ORIGINS)
  readonly robots: RobotsJudge

  constructor(ledger: Ledger, retryMs: number | undefined) {
    this.#ledger = ledger
    this.robots = robotsJudge(ledger, retryMs)
  }

  /** A permit was granted: the ledger keeps the state of the origin as long as for an origin with URLs. */
  claim(origin: string, state: RobotsState): void {
    if (this.isClaimed(origin)) return
    this.#claimed.set(origin, this.#ledger.clock.monotonic())
    this.#ledger.keep(origin, state).catch(() => this.#claimed.delete(origin)) // repeated with the next permit
  }

  /** Whether this process has recently granted a permit for the origin. */
  isClaimed(origin: string): boolean {
    const at = this.#claimed.get(origin)
    return at !== undefined && this.#ledger.clock.monotonic() - at < CLAIMED_MS
  }

  /** The next call for this origin reads the ledger. */
  forget(origin: string): void {
    this.#known.delete(origin)
  }

  /** The verdict for one path. A cached state, at most TRUST_MS old, suffices to allow or refuse it; otherwise the ledger is read. */
  async judge(agent: Agent, origin: string, path: string): Promise<Judged> {
    const cached = this.#known.get(origin)
    if (cached !== undefined && this.#now(origin) - cached.at <= TRUST_MS) {
      const judged = await this.#judge(agent, origin, path, cached)
      const { kind } = judged.judgement
      if (kind === 'allowed' || kind === 'refused') return judged
    }
    return this.#judge(agent, origin, path, await this.#load(origin))
  }

  /**
   * The verdict for a caller without a permit. The ledger soon forgets an origin without permits and URLs. This process remembers it for
   * longer, so that repeated calls do not fetch its robots.txt again and again.
   */
  async verdict(agent: Agent, origin: string, path: string): Promise<Judged> {
    const known = await this.#load(origin)
    if (known.state.answer !== undefined) this.#answered.set(origin, known)
    const lately = this.#answered.get(origin)
    return this.#judge(
      agent,
      origin,
      path,
      known.state.answer === undefined && lately !== undefined
        ? { ...known, state: { ...lately.state, ...questionOf(known) } }
        : known,
    )
  }

  /** The robots.txt in force for an agent, even a stale one, with the verdict for the path `/`. */
  async file(agent: Agent, origin: string): Promise<{ judged: Judged } & RobotsFile> {
    const judged = await this.judge(agent, origin, '/')
    const { state, judgement } = judged
    if (judgement.kind === 'wait' || judgement.kind === 'ask') return { judged, kind: 'unknown' }
    const now = this.#now(origin)
    const { at = now, status = 404 } = state.answer ?? {}
    const hash = this.robots.inForce(agent, state, now)
    if (hash === undefined) return { judged, kind: 'none', status: status >= 400 ? status : 404, ageMs: now - at }
    const bytes = await this.#ledger.body(this.#ledger.partitionOf(origin), hash)
    if (bytes === undefined) return { judged, kind: 'unknown' }
    const copy = [state.copy, ...Object.values(state.olderCopies ?? {})].find((one) => one?.hash === hash)
    return { judged, kind: 'file', bytes, ageMs: now - (copy?.at ?? now) }
  }

  async #judge(agent: Agent, origin: string, path: string, { state, version }: Known): Promise<Judged> {
    const now = this.#now(origin)
    const rules = await this.robots.rules(agent, origin, state, now)
    const judgement = this.robots.judge(agent, origin, path, state, rules, now)
    const inForce = rules === 'lost' ? undefined : rules
    const wall = this.#ledger.wall(this.#ledger.partitionOf(origin))
    const closed = senderGate(judgement, visitTimeOpensAt(agent, inForce, wall, SENT_WITHIN_MS) - wall + now, now)
    return { judgement, delayMs: effectiveDelay(agent, inForce).delayMs, version, state, ...defined({ closed }) }
  }

  async #load(origin: string): Promise<Known> {
    const [found] = await this.#ledger.robotsStates(this.#ledger.partitionOf(origin), [origin])
    const known = { version: found?.version ?? 0, state: found?.state ?? {}, at: this.#now(origin) }
    this.#known.set(origin, known)
    this.robots.remember(origin, known.state, known.at)
    return known
  }

  #now(origin: string): number {
    return this.#ledger.now(this.#ledger.partitionOf(origin))
  }
}

const questionOf = ({ state: { question } }: Known): Pick<RobotsState, 'question'> => defined({ question })
