/**
 * Pace groups: lanes that share a delay, or a number of places, as the operator's PACE_GROUPS says. From the start of a
 * request until its delay is over it takes one of the places.
 */
import type { PaceGroups } from '@decorum/politeness'
import type { AuditedAgent } from '../agents.ts'
import { hostOf } from '../origin.ts'
import type { Exchanges } from './columns.ts'
import type { Findings } from './findings.ts'
import type { Asking, Knowledge } from './knowledge.ts'
import type { Lane, Place } from './lanes.ts'
import type { Meter } from './meter.ts'

type Taken = { row: number; endMin: number; agent: AuditedAgent; agentId: number; host: string; chain: number }

type Group = {
  name: string
  places: number
  /** ms; undefined: the longest delay that is known of any origin of the host */
  delayMs: number | undefined
  origins: Set<string>
  /** those that end latest, the latest first; no more than could matter */
  taken: Taken[]
}

/** Beyond the places: those that a hop does not count, for they are its own. */
const KEPT_BESIDE = 16

export class GroupJudge {
  readonly #groups = new Map<string, Group>()
  readonly #ofLane = new Map<string, Group[]>()
  readonly #hosts = new Map<string, string>()
  /** party, host → places whose rules may ask for more than the least delay, the longest first */
  readonly #slow = new Map<string, { place: Place; longest: number }[]>()
  readonly #placesOf: Map<string, Place[]>
  readonly #of: { exchanges: Exchanges; knowledge: Knowledge; findings: Findings; groups: PaceGroups; meter: Meter }

  constructor(
    of: { exchanges: Exchanges; knowledge: Knowledge; findings: Findings; groups: PaceGroups; meter: Meter },
    places: Place[],
  ) {
    this.#of = of
    this.#placesOf = Map.groupBy(places, (place) => `${place.party}\n${this.#hostOf(place.origin)}`)
  }

  /** To be told of every request before the first is judged. */
  note(row: number, lane: Lane, laneNumber: number): void {
    for (const { origins } of this.#groupsOf(row, lane, laneNumber)) if (origins.size < 2) origins.add(lane.origin)
  }

  /** Groups that were visited at more than one origin: the others are lanes. */
  get shared(): number {
    return [...this.#groups.values()].filter(({ origins }) => origins.size > 1).length
  }

  judge(row: number, lane: Lane, laneNumber: number, asking: Asking): void {
    for (const group of this.#groupsOf(row, lane, laneNumber))
      if (group.origins.size > 1) this.#judgeOne(row, lane, group, asking)
  }

  #judgeOne(row: number, lane: Lane, group: Group, asking: Asking): void {
    const { exchanges, findings, meter } = this.#of
    // What belongs to one redirected robots fetch is one exchange.
    group.taken = group.taken.filter(({ chain }) => chain < 0 || chain !== asking.chain)
    const untils = group.taken
      .map((taken) => ({ taken, until: taken.endMin + this.#delayOf(group, taken, asking) }))
      .sort((a, b) => b.until - a.until)
    meter.steps += untils.length
    const decisive = untils[group.places - 1]
    if (decisive !== undefined && asking.startMax < decisive.until) {
      const { taken, until } = decisive
      const early = until - asking.startMax
      findings.blame({
        row,
        offence: 'pace-group',
        share: Math.min(1, early / Math.max(until - taken.endMin, 1)),
        after: taken.row,
        since: taken.endMin,
        because: () => `${group.name} was taken for another ${early.toFixed(1)} ms, by ${exchanges.path(taken.row)}`,
      })
    }
    const endMin = exchanges.endMin[row] as number
    const host = this.#hostOf(lane.origin)
    group.taken.push({ row, endMin, agent: lane.agent, agentId: lane.agentId, host, chain: asking.chain })
    group.taken.sort((a, b) => b.endMin - a.endMin)
    group.taken.length = Math.min(group.taken.length, group.places + KEPT_BESIDE)
    // What ended longer ago than any delay takes no place.
    while ((group.taken.at(-1)?.endMin ?? asking.startMin) < asking.startMin - LONGEST_MS) group.taken.pop()
  }

  #delayOf(group: Group, { agent, agentId, host }: Taken, asking: Asking): number {
    if (group.delayMs !== undefined) return group.delayMs
    const key = `${agent.name}\n${host}`
    let slow = this.#slow.get(key)
    if (slow === undefined) {
      slow = (this.#placesOf.get(`${agent.party}\n${host}`) ?? [])
        .map((place) => ({ place, longest: this.#of.knowledge.longestDelay(place, agent) }))
        .filter(({ longest }) => longest > agent.minDelayMs)
        .sort((a, b) => b.longest - a.longest)
      this.#slow.set(key, slow)
    }
    let delay = agent.minDelayMs
    for (const { place, longest } of slow) {
      if (longest <= delay) break
      this.#of.meter.steps++
      const views = this.#of.knowledge.views(place, { ...asking, agent, agentId })
      delay = Math.max(delay, this.#of.knowledge.delay(views, agent))
    }
    return delay
  }

  #groupsOf(row: number, lane: Lane, laneNumber: number): Group[] {
    const { groups, exchanges } = this.#of
    const address = groups.needsAddress ? exchanges.address(row) : undefined
    const key = `${laneNumber} ${address ?? ''}`
    const known = this.#ofLane.get(key)
    if (known !== undefined) return known
    const agent = lane.agent.name.toLowerCase()
    const found = groups.above(agent, lane.origin, address).map(({ lanes, delayMs }) => {
      const [first] = lanes
      return this.#groupOf(`${first?.agent} ${first?.origin}`, lanes.length, delayMs)
    })
    const host = groups.hostLane(agent, lane.origin) ?? { agent, origin: lane.origin }
    found.push(this.#groupOf(`${host.agent} ${host.origin}`, 1, undefined))
    this.#ofLane.set(key, found)
    return found
  }

  #groupOf(name: string, places: number, delayMs: number | undefined): Group {
    const group = this.#groups.get(name) ?? { name, places, delayMs, origins: new Set(), taken: [] }
    this.#groups.set(name, group)
    return group
  }

  #hostOf(origin: string): string {
    const host = this.#hosts.get(origin) ?? hostOf(origin)
    this.#hosts.set(origin, host)
    return host
  }
}

/** No delay of a group or of an agent is longer. */
const LONGEST_MS = 86_400_000
