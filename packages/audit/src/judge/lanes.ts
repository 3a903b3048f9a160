/**
 * Agents, places and lanes, each numbered from 0. A lane is an agent at an origin; a place is a party at an origin, whose agents share
 * their knowledge of its rules. A log may contain a million of each, so none of them is an object.
 */
import type { AgentFinder, AuditedAgent } from '../agents.ts'
import { originOf } from '../origin.ts'
import { Names } from './names.ts'
import { Numbers } from './numbers.ts'
import { Pairs } from './pairs.ts'

/** Number of agents, the first of a log, that are kept as objects; others are made again for each request. */
const AT_HAND = 5_000

/** Values in the column of User-Agents: never seen, not to be judged, or the agent's number plus this. */
const UNSEEN = 0
const NOT_JUDGED = 1
const FIRST_AGENT = 2

export class Agents {
  readonly #names = new Names()
  /** number of a User-Agent → number of the agent that it names */
  readonly #byHeader = new Numbers()
  /** by the number of a name: the agent plus one */
  readonly #byName = new Numbers()
  /** for each agent one of its User-Agents, and its party */
  readonly #headers = new Numbers()
  readonly #parties = new Numbers()
  readonly #atHand: AuditedAgent[] = []
  readonly #find: AgentFinder

  constructor(find: AgentFinder) {
    this.#find = find
  }

  get length(): number {
    return this.#headers.length
  }

  /** @returns the agent's number, -1 if it is not to be judged */
  numberOf(userAgent: string): number {
    const header = this.#names.numberOf(userAgent)
    const known = this.#byHeader.get(header)
    if (known !== UNSEEN) return known === NOT_JUDGED ? -1 : known - FIRST_AGENT
    const agent = this.#find(userAgent)
    const number = agent === undefined ? -1 : this.#numberOfName(agent, header)
    this.#byHeader.set(header, number < 0 ? NOT_JUDGED : number + FIRST_AGENT)
    return number
  }

  get(number: number): AuditedAgent {
    return this.#atHand[number] ?? (this.#find(this.#names.get(this.#headers.get(number))) as AuditedAgent)
  }

  partyOf = (number: number): number => this.#parties.get(number)

  #numberOfName(agent: AuditedAgent, header: number): number {
    const name = this.#names.numberOf(agent.name)
    const known = this.#byName.get(name)
    if (known > 0) return known - 1
    const number = this.#headers.push(header)
    this.#parties.push(this.#names.numberOf(agent.party))
    this.#byName.set(name, number + 1)
    if (number < AT_HAND) this.#atHand.push(agent)
    return number
  }
}

export class Lanes {
  readonly agents: Agents
  readonly #origins = new Names(originOf)
  /** (party, origin) */
  readonly #places = new Pairs()
  /** (agent, place) */
  readonly #lanes = new Pairs()

  constructor(find: AgentFinder) {
    this.agents = new Agents(find)
  }

  get length(): number {
    return this.#lanes.length
  }
  /** Number of places. */
  get places(): number {
    return this.#places.length
  }

  /** @returns the lane's number, or why there is none: its agent is not to be judged, or its origin is invalid */
  of(userAgent: string, origin: string): number | 'left-out' | 'no-origin' {
    const originNumber = this.#origins.numberOf(origin)
    if (originNumber < 0) return 'no-origin'
    const agent = this.agents.numberOf(userAgent)
    if (agent < 0) return 'left-out'
    return this.#lanes.numberOf(agent, this.#places.numberOf(this.agents.partyOf(agent), originNumber))
  }

  agentOf = (lane: number): number => this.#lanes.first(lane)
  placeOf = (lane: number): number => this.#lanes.second(lane)
  agent = (lane: number): AuditedAgent => this.agents.get(this.agentOf(lane))
  origin = (lane: number): string => this.originOfPlace(this.placeOf(lane))
  partyOfPlace = (place: number): number => this.#places.first(place)
  originOfPlace = (place: number): string => this.#origins.get(this.originNumber(place))
  /** number of a place's origin, the same for every party */
  originNumber = (place: number): number => this.#places.second(place)
}
