/** Who meets whom: lanes (agent, origin), and places, where a party shares what it knows of one origin. */
import type { Policy } from '@decorum/robots'
import type { AgentFinder, AuditedAgent } from '../agents.ts'
import type { Offence } from '../offences.ts'
import type { Heap } from './heap.ts'
import type { Known, Timeline } from './timeline.ts'

/** The latest end in a lane, and the redirected robots fetch that the exchange belonged to (-1: none). */
export type LatestEnd = { row: number; endMin: number; chain: number }

/** Retry-After: what is told but not known yet, by the instant at which it is, and until when all that is known closes. */
export type Hearer = { toHear: Heap<Asked> | undefined; closed: Asked | undefined }
/** Until when, and the row whose answer said so. */
export type Asked = { until: number; row: number }

const NONE: number[] = []

/** There may be a million of these: what most do not need is made when it is. */
export class Place implements Hearer {
  readonly party: string
  readonly origin: string
  /** robots fetches of this origin by this party, in order */
  fetches = NONE
  toHear: Heap<Asked> | undefined
  closed: Asked | undefined
  known: Known | undefined
  timelines: { policy: Policy; timeline: Timeline }[] | undefined

  constructor(party: string, origin: string) {
    this.party = party
    this.origin = origin
    this.toHear = undefined
    this.closed = undefined
    this.known = undefined
    this.timelines = undefined
  }

  addFetch(fetch: number): void {
    if (this.fetches === NONE) this.fetches = [fetch]
    else this.fetches.push(fetch)
  }
}

export class Lane implements Hearer {
  readonly agent: AuditedAgent
  /** agents are compared by number */
  readonly agentId: number
  readonly place: Place
  requests = 0
  robots = 0
  cut = 0
  /** the exchange that ended latest, and the one that did so outside its redirected robots fetch */
  latest: LatestEnd | undefined
  latestOther: LatestEnd | undefined
  toHear: Heap<Asked> | undefined
  closed: Asked | undefined
  /** when a robots fetch of its own was first answered by a redirect */
  redirectedAt: number | undefined
  leastDelayMs: number | undefined
  mostDelayMs: number | undefined
  smallestSlackMs: number | undefined
  offences: Partial<Record<Offence, number>> | undefined

  constructor(agent: AuditedAgent, agentId: number, place: Place) {
    this.agent = agent
    this.agentId = agentId
    this.place = place
    this.latest = undefined
    this.latestOther = undefined
    this.toHear = undefined
    this.closed = undefined
    this.redirectedAt = undefined
    this.leastDelayMs = undefined
    this.mostDelayMs = undefined
    this.smallestSlackMs = undefined
    this.offences = undefined
  }

  get origin(): string {
    return this.place.origin
  }
}

const MOST_ORIGINS = 2 ** 26

export class Lanes {
  readonly all: Lane[] = []
  readonly places: Place[] = []
  readonly agents: AuditedAgent[] = []
  readonly #find: AgentFinder
  readonly #agentIds = new Map<string, number>()
  readonly #idsByName = new Map<string, number>()
  readonly #partyIds = new Map<string, number>()
  readonly #originIds = new Map<string, number>()
  readonly #byKey = new Map<number, number>()
  readonly #placesByKey = new Map<number, Place>()

  constructor(find: AgentFinder) {
    this.#find = find
  }

  /** @returns the lane's number, -1 for agents that are not to be judged */
  of(userAgent: string, origin: string): number {
    const agentId = this.#agentIdOf(userAgent)
    if (agentId < 0) return -1
    const originId = numberIn(this.#originIds, origin)
    const key = agentId * MOST_ORIGINS + originId
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    this.#byKey.set(key, this.all.length)
    const agent = this.agents[agentId] as AuditedAgent
    return this.all.push(new Lane(agent, agentId, this.#placeOf(agent.party, originId, origin))) - 1
  }

  #agentIdOf(userAgent: string): number {
    const known = this.#agentIds.get(userAgent)
    if (known !== undefined) return known
    const agent = this.#find(userAgent)
    const id = agent === undefined ? -1 : numberIn(this.#idsByName, agent.name)
    if (agent !== undefined && id === this.agents.length) this.agents.push(agent)
    this.#agentIds.set(userAgent, id)
    return id
  }

  #placeOf(party: string, originId: number, origin: string): Place {
    const key = numberIn(this.#partyIds, party) * MOST_ORIGINS + originId
    let place = this.#placesByKey.get(key)
    if (place === undefined) {
      place = new Place(party, origin)
      this.#placesByKey.set(key, place)
      this.places.push(place)
    }
    return place
  }
}

function numberIn(known: Map<string, number>, name: string): number {
  const number = known.get(name) ?? known.size
  if (number === known.size) known.set(name, number)
  return number
}
