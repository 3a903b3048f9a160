/** What every verb of the service works with, and what all of them check. */
import { randomUUID } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import type { Agent } from '@decorum/config'
import type { Ledger } from '@decorum/ledger'
import { hostOf } from '@decorum/protocol'
import { passed, type Since, type Traces } from '@decorum/runtime'
import { mayBe } from './access.ts'
import type { AttemptTools } from './attempt.ts'
import type { PermitsConfig, Token } from './config.ts'
import type { Ended } from './end.ts'
import { Origins } from './origins.ts'
import type { Pages } from './pages.ts'
import type { Permit, PermitIds } from './permit-id.ts'
import { Problem } from './problem.ts'
import type { RobotsOrders } from './robots-orders.ts'

/** An answer of the ledger (rules, pauses, stops, fence) is relied on for so long, as the fleet's fetchers do. */
const SEND_WITHIN_MS = 1_000
/** The ledger's lease is longer than the permit by this, or by less when leases are short: time for the completion to arrive. */
const MARGIN_MS = 5_000
/** How many ended permits are remembered, so that a second completion is not treated as a late one. */
const MOST_ENDED = 20_000

export type DeskOptions = {
  config: PermitsConfig
  ledger: Ledger
  ids: PermitIds
  robots: RobotsOrders
  fetchers: () => number
  pages: Pages
  traces: Traces
}

export class Desk {
  readonly config: PermitsConfig
  readonly ledger: Ledger
  readonly ids: PermitIds
  readonly pages: Pages
  readonly traces: Traces
  readonly origins: Origins
  readonly tools: AttemptTools
  readonly marginMs: number
  readonly #ended = new Map<string, Ended>()

  constructor({ config, ledger, ids, robots, fetchers, pages, traces }: DeskOptions) {
    this.config = config
    this.ledger = ledger
    this.ids = ids
    this.pages = pages
    this.traces = traces
    this.marginMs = Math.min(MARGIN_MS, config.LEASE_MS / 10)
    this.origins = new Origins(ledger, config.ROBOTS_RETRY_MS)
    this.tools = {
      ledger,
      origins: this.origins,
      robots,
      groups: config.paceGroups,
      fetchers,
      id: randomUUID().slice(0, 8),
      addressOf: (host) =>
        lookup(host.replace(/^\[|\]$/g, '')).then(
          ({ address }) => address,
          () => undefined,
        ),
    }
  }

  /** of a permit, until it is extended, ms */
  get longestLeaseMs(): number {
    const { LEASE_MS, PERMIT_MAX_MS } = this.config
    return Math.floor(Math.min(LEASE_MS - this.marginMs, PERMIT_MAX_MS))
  }

  /** @throws Problem */
  agentOf(name: string | undefined, token: Token): Agent {
    const { agents } = this.config
    const agent = name === undefined ? agents.list.find(({ key }) => mayBe(token, key)) : agents.find(name)
    if (agent === undefined)
      throw new Problem('unknown-agent', `agents are: ${agents.list.map((one) => one.name).join(', ')}`)
    if (!mayBe(token, agent.key)) throw new Problem('forbidden', `this token is not for the agent ${agent.name}`)
    return agent
  }

  /** @throws Problem: a permit that was not given to this holder is none */
  async read(id: string, token: Token): Promise<Permit> {
    const permit = await this.ids.read(id)
    if (permit === undefined || permit.holder !== token.name || !mayBe(token, permit.agent))
      throw new Problem('not-found', 'this fleet has not given this permit to this holder')
    return permit
  }

  /** the ledger's time in the partition of a lane */
  now({ origin }: { origin: string }): number {
    return this.ledger.now(this.ledger.partitionOf(origin))
  }

  /**
   * The holder counts its lease from our answer, the ledger from its own. When the ledger's came so late, or this process was
   * frozen, that more than the margin has passed, the holder would rely on a lease that has ended.
   */
  isTooLate(since: Since): boolean {
    return passed(since) > Math.min(this.marginMs, SEND_WITHIN_MS)
  }

  /** How long after our answer the holder may send, whole ms: what is left of the time for which the ledger's answer is relied on. */
  sendWithinMs(since: Since, leaseMs: number): number {
    return Math.max(0, Math.min(Math.floor(SEND_WITHIN_MS - passed(since)), leaseMs))
  }

  /** Whether the address that the name of an origin has is stopped; the ledger knows stopped names alone. */
  async isStoppedThere(origin: string): Promise<boolean> {
    const { stops } = this.ledger
    return stops.hasAddresses() && stops.why(origin, await this.tools.addressOf(hostOf(origin))) !== undefined
  }

  endOf(id: string): Ended | undefined {
    return this.#ended.get(id)
  }

  note(id: string, how: Ended): void {
    if (this.#ended.size >= MOST_ENDED) this.#ended.delete(this.#ended.keys().next().value as string)
    this.#ended.set(id, how)
  }

  gone(id: string): Problem {
    const ended = this.#ended.get(id)
    return new Problem(
      'gone',
      ended === undefined ? 'its lease is over' : `it was ${ended === 'unused' ? 'given back' : ended} before`,
    )
  }
}

export const tooLate = (): Problem =>
  new Problem('ledger-away', 'Redis answered too late: ask again', { retryAfterMs: 1_000 })

/** Waits at least that long, and as little more as a timer of whole milliseconds allows. */
export async function exactly(ms: number): Promise<void> {
  const until = performance.now() + ms
  for (let left = ms; left > 0; left = until - performance.now()) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(1, Math.floor(left))))
  }
}
