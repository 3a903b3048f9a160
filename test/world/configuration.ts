/**
 * The fleet's configuration as the world plays it: the document that processes read from Redis every few seconds is here, and each goes
 * by it as its `main` does: the ledger is given least delays and policies, and the agents of the process their delays.
 */
import type { SitePolicies } from '@decorum/audit'
import { type Agents, loadAgents, readSitePolicies, type SitePolicy, takeOverDelays } from '@decorum/config'
import { ratesOf } from '@decorum/config/fleet-config'
import type { Ledger, Rates } from '@decorum/ledger'
import { policyHistory } from '@decorum/politeness'
import type { Instant } from '@decorum/protocol'
import type { Wire } from './link.ts'
import { DELAY_MS } from './manners.ts'
import type { Process } from './process.ts'
import type { Timeline } from './timeline.ts'

/** The first is that of the fleet; pages of the second are fetched by the workers of a pool (crawlers.ts). */
export const POOL = 'workers'
export const POOL_AGENT = 'poolbot'
const AGENTS = [
  { name: 'worldbot', userAgent: 'worldbot/1.0 (+https://bot.example/)', honourVisitTime: true },
  { name: POOL_AGENT, userAgent: 'poolbot/1.0 (+https://bot.example/)', honourVisitTime: true, pool: POOL },
]
export const MAX_DELAY_MS = 10_000
const LOOK_MS = 2_000

export type Values = { minDelayMs: number; policies: Record<string, SitePolicy> }
const FIRST: Values = { minDelayMs: DELAY_MS, policies: {} }

/** A delay that an operator has set for a host with one origin, and the time for which it was surely in force. */
type ByHand = { host: string; delayMs: number; from: Instant; to: Instant }

export class Configuration {
  /** where the time of Redis is right */
  readonly byHand: ByHand[] = []
  version = 1
  values: Values = FIRST
  readonly #inForce: { at: Instant; values: Values }[] = [{ at: 0, values: FIRST }]
  readonly #timeline: Timeline

  constructor(timeline: Timeline) {
    this.#timeline = timeline
  }

  /** Agents of one process, as it starts. */
  agents(): Agents {
    return agentsWith(this.values)
  }

  change(values: Partial<Values>): void {
    this.values = { ...this.values, ...values }
    this.version++
  }

  /** The values of now count from this instant on: what is stricter since the ledger has it, what is milder since it may have it. */
  counts(at: Instant): void {
    this.#inForce.push({ at, values: this.values })
  }

  /** What the ledger is given of it. */
  rates(): Rates {
    const { values, version } = this
    const document = { version, values: { SITE_POLICIES: values.policies } }
    return ratesOf(document as unknown as Parameters<typeof ratesOf>[0], agentsWith(values))
  }

  /** A process goes by it: from its start on, and a look later each time that it changes, unless it cannot reach Redis. */
  follow({ clock }: Process, wire: Wire, ledger: Pick<Ledger, 'setRates'>, agents: Agents): void {
    let known = 0 // what its ledger has of it: nothing
    const look = (isReachable: boolean): void => {
      if (known === this.version || !isReachable) return
      const before = known
      known = this.version
      takeOverDelays(agents, agentsWith(this.values))
      ledger.setRates(this.rates()).catch(() => {
        known = before
      })
    }
    look(true)
    clock.interval(() => look(wire.cutUntil <= this.#timeline.now), LOOK_MS)
  }

  /** For the auditor: a least delay of the fleet, and delays by hand, are judged as policies of hosts. */
  judged(): SitePolicies {
    const all = this.#inForce
    const history = all.map(({ values }) =>
      policyHistory([{ at: 0, policies: readSitePolicies(JSON.stringify(values.policies)) }]),
    )
    return (host, from, to) => {
      const first = all.findLastIndex(({ at }) => at <= from)
      const last = all.findLastIndex(({ at }) => at <= to)
      const ofHost = this.byHand.filter((one) => one.host === host && one.from <= from && to <= one.to)
      const handMs = ofHost.map(({ delayMs }) => delayMs)
      return all.slice(Math.max(first, 0), last + 1).map(({ values: { minDelayMs } }, n) => {
        const [policy] = history[Math.max(first, 0) + n]?.(host, from, to) ?? []
        return {
          site: policy?.site ?? 'the fleet',
          delayMs: (owedMs) => Math.max(minDelayMs, policy?.delayMs(owedMs) ?? owedMs, ...handMs),
          isOpenAt: (at) => policy?.isOpenAt(at) ?? true,
          requestsPerDay: policy?.requestsPerDay,
        }
      })
    }
  }
}

export function agentsWith({ minDelayMs }: Pick<Values, 'minDelayMs'>): Agents {
  return loadAgents({
    agents: JSON.stringify(AGENTS.map((agent) => ({ ...agent, minDelayMs }))),
    defaultDelayMs: DELAY_MS,
    maxDelayMs: MAX_DELAY_MS,
  })
}
