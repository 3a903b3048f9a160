/** Who meets whom: lanes (agent, origin), and places, where a party shares what it knows of one origin. */
import type { AgentFinder, AuditedAgent } from '../agents.ts'
import type { LaneReport } from '../report.ts'
import { Heap } from './heap.ts'

/** The latest end in a lane, and the redirected robots fetch that the exchange belonged to (-1: none). */
export type LatestEnd = { row: number; endMin: number; chain: number }

export type Place = {
  party: string
  origin: string
  /** robots fetches of this origin by this party, in order */
  fetches: number[]
  /** Retry-After windows that are not known to everybody yet, by the instant at which they are */
  heardByAll: Heap<{ until: number }>
  /** until when every lane of the party has to wait */
  closedUntil: number
  lanes: Lane[]
}

export type Lane = {
  agent: AuditedAgent
  /** agents are compared by number */
  agentId: number
  origin: string
  place: Place
  report: LaneReport
  /** the exchange that ended latest, and the one that did so outside its redirected robots fetch */
  latest: LatestEnd | undefined
  latestOther: LatestEnd | undefined
  /** until when this lane has to wait by what it was told itself */
  heardByOwn: Heap<{ until: number }>
  closedUntil: number
  /** when a robots fetch of its own was first answered by a redirect */
  redirectedAt: number
  /** a delay has been owed in it: its report says which */
  measured: boolean
}

const MOST_ORIGINS = 2 ** 26

export class Lanes {
  readonly all: Lane[] = []
  readonly places: Place[] = []
  readonly agents: AuditedAgent[] = []
  readonly #find: AgentFinder
  readonly #agentIds = new Map<string, number>()
  readonly #idsByName = new Map<string, number>()
  readonly #originIds = new Map<string, number>()
  readonly #byKey = new Map<number, number>()
  readonly #placesByKey = new Map<string, Place>()

  constructor(find: AgentFinder) {
    this.#find = find
  }

  /** @returns the lane's number, -1 for agents that are not to be judged */
  of(userAgent: string, origin: string): number {
    const agentId = this.#agentIdOf(userAgent)
    if (agentId < 0) return -1
    let originId = this.#originIds.get(origin)
    if (originId === undefined) this.#originIds.set(origin, (originId = this.#originIds.size))
    const key = agentId * MOST_ORIGINS + originId
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    this.#byKey.set(key, this.all.length)
    this.all.push(this.#laneOf(agentId, origin))
    return this.all.length - 1
  }

  #agentIdOf(userAgent: string): number {
    const known = this.#agentIds.get(userAgent)
    if (known !== undefined) return known
    const agent = this.#find(userAgent)
    let id = -1
    if (agent !== undefined) {
      id = this.#idsByName.get(agent.name) ?? this.agents.push(agent) - 1
      this.#idsByName.set(agent.name, id)
    }
    this.#agentIds.set(userAgent, id)
    return id
  }

  #laneOf(agentId: number, origin: string): Lane {
    const agent = this.agents[agentId] as AuditedAgent
    const place = this.#placeOf(agent.party, origin)
    const lane: Lane = {
      agent,
      agentId,
      origin,
      place,
      report: {
        agent: agent.name,
        origin,
        requests: 0,
        robots: 0,
        delayMs: { least: agent.minDelayMs, most: agent.minDelayMs },
        cut: 0,
        offences: {},
      },
      latest: undefined,
      latestOther: undefined,
      heardByOwn: new Heap(),
      closedUntil: Number.NEGATIVE_INFINITY,
      redirectedAt: Number.POSITIVE_INFINITY,
      measured: false,
    }
    place.lanes.push(lane)
    return lane
  }

  #placeOf(party: string, origin: string): Place {
    const key = `${party}\n${origin}`
    let place = this.#placesByKey.get(key)
    if (place === undefined) {
      const closedUntil = Number.NEGATIVE_INFINITY
      place = { party, origin, fetches: [], heardByAll: new Heap(), closedUntil, lanes: [] }
      this.#placesByKey.set(key, place)
      this.places.push(place)
    }
    return place
  }
}
