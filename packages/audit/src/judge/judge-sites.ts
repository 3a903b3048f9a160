/**
 * Policies of sites from the fleet's configuration: a longer delay is owed, a delay with consent replaces the usual one, and visiting hours
 * and budgets must be kept.
 */
import { hostOf } from '../origin.ts'
import type { Exchanges } from './columns.ts'
import type { Findings } from './findings.ts'
import type { RequestFacts } from './knowledge.ts'
import type { Lanes } from './lanes.ts'

/** How long a change of the configuration may take to reach every process, ms. */
export const CHANGE_WITHIN_MS = 2_000
/** Longest time between the ledger's grant and the first byte of a request, ms. */
const SENT_WITHIN_MS = 1_000
const DAY_MS = 86_400_000

/** The policy of a host in one version of the configuration. */
export type SitePolicy = {
  site: string
  /** @param owedMs  the delay that the agent's settings and robots.txt demand @returns the delay owed under this policy, ms */
  delayMs(owedMs: number): number
  isOpenAt(at: number): boolean
  requestsPerDay?: number | undefined
}

/** @returns the policies of a host that were in force at any time within a stretch, at least one: undefined for no policy */
export type SitePolicies = (host: string, from: number, to: number) => readonly (SitePolicy | undefined)[]

type Of = { exchanges: Exchanges; lanes: Lanes; findings: Findings; policies: SitePolicies }

export class SiteJudge {
  readonly #of: Of
  /** host → the current day, and the requests of that day */
  readonly #spent = new Map<string, { day: number; requests: number }>()
  readonly #hosts: string[] = []

  constructor(of: Of) {
    this.#of = of
  }

  /**
   * The delay owed between two instants, ms: the shortest that may have been in force at the first instant, or the shortest at the second,
   * whichever is longer, because a longer delay applies at once.
   * @param owedMs  the delay that the agent's settings and robots.txt demand
   */
  delay(host: string, owedMs: number, began: number, ended: number): number {
    return Math.max(this.#mildest(host, owedMs, began), this.#mildest(host, owedMs, ended))
  }

  /** The same for the host of a lane. */
  delayOf(lane: number, owedMs: number, began: number, ended: number): number {
    return this.delay(this.#hostOf(lane), owedMs, began, ended)
  }

  judge(row: number, { lane, startMin, startMax }: RequestFacts): void {
    const host = this.#hostOf(lane)
    const found = this.#around(host, startMin)
    const isClosed = (policy: SitePolicy | undefined): boolean =>
      policy !== undefined && !policy.isOpenAt(startMin - SENT_WITHIN_MS) && !policy.isOpenAt(startMax)
    if (found.every(isClosed)) {
      const because = (): string => `at ${new Date(startMin).toISOString()}, outside the hours of ${found[0]?.site}`
      this.#of.findings.blame({ row, offence: 'outside-hours', share: 1, because })
    }
    const budgets = found.map((policy) => policy?.requestsPerDay ?? Number.POSITIVE_INFINITY)
    const budget = Math.max(...budgets)
    if (!Number.isFinite(budget)) return
    const day = Math.floor((startMin - SENT_WITHIN_MS) / DAY_MS) // a request granted before midnight counts for the previous day
    const spent = this.#spent.get(host)
    const requests = spent?.day === day ? spent.requests + 1 : 1
    this.#spent.set(host, { day, requests })
    if (requests <= budget) return
    this.#of.findings.blame({
      row,
      offence: 'over-budget',
      share: 1 - budget / requests,
      because: () => `request ${requests} of the day, and ${found[0]?.site} has ${budget}`,
    })
  }

  #mildest(host: string, owedMs: number, at: number): number {
    return Math.min(...this.#around(host, at).map((policy) => policy?.delayMs(owedMs) ?? owedMs))
  }

  #around(host: string, at: number): readonly (SitePolicy | undefined)[] {
    return this.#of.policies(host, at - CHANGE_WITHIN_MS, at + SENT_WITHIN_MS)
  }

  #hostOf(lane: number): string {
    const host = this.#hosts[lane] ?? hostOf(this.#of.lanes.origin(lane))
    this.#hosts[lane] = host
    return host
  }
}
