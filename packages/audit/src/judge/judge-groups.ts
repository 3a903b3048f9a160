/**
 * Pace groups: lanes that share a delay and one or more places, by the operator's PACE_GROUPS. A request takes one of the places from its
 * start until its delay has ended.
 */
import type { AuditedAgent } from '../agents.ts'
import { hostOf } from '../origin.ts'
import type { Exchanges } from './columns.ts'
import type { Findings } from './findings.ts'
import type { SiteJudge } from './judge-sites.ts'
import type { Knowledge, RequestFacts } from './knowledge.ts'
import type { Lanes } from './lanes.ts'
import type { Meter } from './meter.ts'

/** Finds the pace groups of a lane. Names of agents are in lower case. */
export type PaceGroups = {
  /** The lane whose delay all lanes of this host share; undefined: it is this lane itself. */
  hostLane(agent: string, origin: string): { agent: string; origin: string } | undefined
  /** The groups of a lane besides its host: the places of each, as lanes, and the operator's delay. */
  above(
    agent: string,
    origin: string,
    address: string | undefined,
  ): readonly { lanes: readonly { agent: string; origin: string }[]; delayMs: number | undefined }[]
  /** Whether `above` needs the address. */
  needsAddress: boolean
}

type Taken = { row: number; endMin: number; agent: AuditedAgent; agentId: number; host: string; chain: number }

type Group = {
  name: string
  places: number
  /** ms; undefined: the longest known delay of any origin of the host */
  delayMs: number | undefined
  /** the first origin requested in the group, '' before; and whether another was: a group with one origin is only a lane */
  origin: string
  isShared: boolean
  /** the requests that end latest, latest first; at most `places` + KEPT_BESIDE */
  taken: readonly Taken[]
}

const NONE: readonly Taken[] = []

/** Number of requests kept beyond the number of places: for a hop, the requests of its own chain do not count. */
const KEPT_BESIDE = 16

type Of = {
  exchanges: Exchanges
  lanes: Lanes
  knowledge: Knowledge
  findings: Findings
  groups: PaceGroups
  sites: SiteJudge | undefined
  meter: Meter
}

export class GroupJudge {
  readonly #groups = new Map<string, Group>()
  /** by lane if the address is unknown or does not matter; else by lane and address */
  readonly #ofLane: Group[][] = []
  readonly #ofAddress = new Map<string, Group[]>()
  readonly #hosts = new Map<string, string>()
  /** agent, host → (party, origin) places whose rules may demand more than the agent's minimum delay, longest first */
  readonly #slow = new Map<string, { place: number; longest: number }[]>()
  /** party, host → (party, origin) places */
  readonly #placesOf = new Map<string, number[]>()
  readonly #of: Of

  constructor(of: Of) {
    this.#of = of
    const { lanes } = of
    for (let place = 0; place < lanes.places; place++) {
      const key = `${lanes.partyOfPlace(place)} ${this.#hostOf(lanes.originOfPlace(place))}`
      const places = this.#placesOf.get(key)
      if (places === undefined) this.#placesOf.set(key, [place])
      else places.push(place)
    }
  }

  /** To be called for every request before the first is judged. */
  note(row: number): void {
    const { exchanges, lanes } = this.#of
    const lane = exchanges.lane[row] as number
    const origin = lanes.origin(lane)
    for (const group of this.#groupsOf(row, lane)) {
      if (group.origin === '') group.origin = origin
      group.isShared ||= group.origin !== origin
    }
  }

  /** Number of groups in which more than one origin was requested: the others are the same as their lane. */
  get shared(): number {
    return [...this.#groups.values()].filter(({ isShared }) => isShared).length
  }

  judge(row: number, facts: RequestFacts): void {
    for (const group of this.#groupsOf(row, facts.lane)) if (group.isShared) this.#judgeOne(row, group, facts)
  }

  #judgeOne(row: number, group: Group, facts: RequestFacts): void {
    const { exchanges, lanes, findings, meter } = this.#of
    // All requests of one redirected robots fetch count as one exchange.
    const taken = group.taken.filter(({ chain }) => chain < 0 || chain !== facts.chain)
    const untils = taken
      .map((one) => ({ one, until: one.endMin + this.#delayOf(group, one, facts) }))
      .sort((a, b) => b.until - a.until)
    meter.steps += untils.length
    const decisive = untils[group.places - 1]
    if (decisive !== undefined && facts.startMax < decisive.until) {
      const { one, until } = decisive
      const early = until - facts.startMax
      findings.blame({
        row,
        offence: 'pace-group',
        share: Math.min(1, early / Math.max(until - one.endMin, 1)),
        after: one.row,
        since: one.endMin,
        because: () => `${group.name} was taken for another ${early.toFixed(1)} ms, by ${exchanges.path(one.row)}`,
      })
    }
    const endMin = exchanges.endMin(row)
    const host = this.#hostOf(lanes.origin(facts.lane))
    taken.push({ row, endMin, agent: facts.agent, agentId: facts.agentId, host, chain: facts.chain })
    taken.sort((a, b) => b.endMin - a.endMin)
    taken.length = Math.min(taken.length, group.places + KEPT_BESIDE)
    // A request that ended longer ago than any delay takes no place.
    while ((taken.at(-1)?.endMin ?? facts.startMin) < facts.startMin - LONGEST_MS) taken.pop()
    group.taken = taken
  }

  #delayOf(group: Group, { agent, agentId, host, endMin }: Taken, facts: RequestFacts): number {
    if (group.delayMs !== undefined) return group.delayMs
    const { lanes, knowledge, meter } = this.#of
    const key = `${agentId} ${host}`
    let slow = this.#slow.get(key)
    if (slow === undefined) {
      slow = (this.#placesOf.get(`${lanes.agents.partyOf(agentId)} ${host}`) ?? [])
        .map((place) => ({ place, longest: knowledge.longestDelay(place, agent, agentId) }))
        .filter(({ longest }) => longest > agent.minDelayMs)
        .sort((a, b) => b.longest - a.longest)
      this.#slow.set(key, slow)
    }
    let delay = agent.minDelayMs
    for (const { place, longest } of slow) {
      if (longest <= delay) break
      meter.steps++
      const views = knowledge.views(place, { ...facts, agent, agentId })
      delay = Math.max(delay, knowledge.delay(views, agent, agentId))
    }
    // A shorter delay, to which the site consents, counts for its host; a site's longer delay is judged in the lane.
    return Math.min(delay, this.#of.sites?.delay(host, delay, endMin, facts.startMin) ?? delay)
  }

  #groupsOf(row: number, lane: number): Group[] {
    const { groups, exchanges, lanes } = this.#of
    const address = groups.needsAddress ? exchanges.address(row) : undefined
    const known = address === undefined ? this.#ofLane[lane] : this.#ofAddress.get(`${lane} ${address}`)
    if (known !== undefined) return known
    const agent = lanes.agent(lane).name.toLowerCase()
    const origin = lanes.origin(lane)
    const found = groups.above(agent, origin, address).map(({ lanes: places, delayMs }) => {
      const [first] = places
      return this.#groupOf(`${first?.agent} ${first?.origin}`, places.length, delayMs)
    })
    const host = groups.hostLane(agent, origin) ?? { agent, origin }
    found.push(this.#groupOf(`${host.agent} ${host.origin}`, 1, undefined))
    if (address === undefined) this.#ofLane[lane] = found
    else this.#ofAddress.set(`${lane} ${address}`, found)
    return found
  }

  #groupOf(name: string, places: number, delayMs: number | undefined): Group {
    const group = this.#groups.get(name) ?? { name, places, delayMs, origin: '', isShared: false, taken: NONE }
    this.#groups.set(name, group)
    return group
  }

  #hostOf(origin: string): string {
    const host = this.#hosts.get(origin) ?? hostOf(origin)
    this.#hosts.set(origin, host)
    return host
  }
}

/** Longest delay that a group or an agent can have, ms. */
const LONGEST_MS = 86_400_000
