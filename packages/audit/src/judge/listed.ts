/** The lanes and agents that a report lists: all, or the worst when there are too many to read. */
import { OFFENCE_NAMES } from '../offences.ts'
import type { AgentReport, LaneReport } from '../report.ts'
import type { Exchanges } from './columns.ts'
import type { Findings } from './findings.ts'
import type { LaneEnds } from './judge-lane.ts'
import type { Lanes } from './lanes.ts'
import { byWorst } from './lanes-shown.ts'
import { everyNumber } from './numbers.ts'

/** Largest number of lanes, and of agents, that are listed. */
const MOST_LISTED = 10_000

type Of = { exchanges: Exchanges; lanes: Lanes; findings: Findings; ends: LaneEnds }

/** Number of requests and of requests for /robots.txt, by lane. */
export class LaneCounts {
  readonly requests: Uint32Array
  readonly robots: Uint32Array
  readonly #of: Of

  constructor(of: Of) {
    this.#of = of
    const { exchanges, lanes } = of
    this.requests = new Uint32Array(lanes.length)
    this.robots = new Uint32Array(lanes.length)
    for (let row = 0; row < exchanges.length; row++) {
      const lane = exchanges.lane[row] as number
      this.requests[lane] = (this.requests[lane] as number) + 1
      if (exchanges.isRobots(row)) this.robots[lane] = (this.robots[lane] as number) + 1
    }
  }

  /** The worst lanes, up to this number. */
  worst(most: number): number[] {
    const { lanes, findings, ends } = this.#of
    const order = byWorst<number>({
      violations: findings.inLane,
      slack: ends.smallestSlack,
      requests: (lane) => this.requests[lane] as number,
    })
    return firstOf(lanes.length, most, order)
  }

  lanes(): LaneReport[] {
    const { lanes, ends } = this.#of
    const chosen = lanes.length <= MOST_LISTED ? everyNumber(lanes.length) : this.worst(MOST_LISTED)
    const reports = new Map<number, LaneReport>()
    for (const lane of chosen) {
      const { name, minDelayMs } = lanes.agent(lane)
      const slack = ends.smallestSlack(lane)
      reports.set(lane, {
        agent: name,
        origin: lanes.origin(lane),
        requests: this.requests[lane] as number,
        robots: this.robots[lane] as number,
        delayMs: { least: ends.leastDelay(lane) ?? minDelayMs, most: ends.mostDelay(lane) ?? minDelayMs },
        cut: 0,
        offences: {},
        ...(slack === undefined ? {} : { smallestSlackMs: slack }),
      })
    }
    this.#countRows(reports)
    return [...reports.values()]
  }

  /** Counts offences and cut exchanges of the lanes that are listed. */
  #countRows(reports: Map<number, LaneReport>): void {
    const { exchanges, findings } = this.#of
    for (let row = 0; row < exchanges.length; row++) {
      const found = exchanges.found[row] as number
      if (found === 0 && !exchanges.isCut(row)) continue
      const report = reports.get(exchanges.lane[row] as number)
      if (report === undefined) continue
      if (exchanges.isCut(row)) report.cut++
      for (const [bit, offence] of OFFENCE_NAMES.entries())
        if ((found & (1 << bit)) !== 0) report.offences[offence] = (report.offences[offence] ?? 0) + 1
    }
    for (const [lane, { offences }] of reports)
      for (const offence of OFFENCE_NAMES) {
        const times = offences[offence]
        if (times !== undefined) offences[offence] = times + findings.again(lane, offence)
      }
  }

  /** All agents or, if there are too many, those with most violations, then most requests. */
  agents(): AgentReport[] {
    const { lanes, findings, ends } = this.#of
    const { agents } = lanes
    const counts = { requests: 0, origins: 0, robots: 0, violations: 0 }
    const columns = Object.fromEntries(
      Object.keys(counts).map((name) => [name, new Uint32Array(agents.length)]),
    ) as Record<keyof typeof counts, Uint32Array>
    const slacks = new Float64Array(agents.length).fill(Number.POSITIVE_INFINITY)
    const add = (column: Uint32Array, agent: number, value: number): void => {
      column[agent] = (column[agent] as number) + value
    }
    for (let lane = 0; lane < lanes.length; lane++) {
      const agent = lanes.agentOf(lane)
      add(columns.requests, agent, this.requests[lane] as number)
      add(columns.origins, agent, 1)
      add(columns.robots, agent, this.robots[lane] as number)
      add(columns.violations, agent, findings.inLane(lane))
      slacks[agent] = Math.min(slacks[agent] as number, ends.smallestSlack(lane) ?? Number.POSITIVE_INFINITY)
    }
    const { requests, violations } = columns
    const order = (a: number, b: number): number =>
      (violations[b] as number) - (violations[a] as number) || (requests[b] as number) - (requests[a] as number)
    const chosen =
      agents.length <= MOST_LISTED ? everyNumber(agents.length) : firstOf(agents.length, MOST_LISTED, order)
    return Array.from(chosen, (agent): AgentReport => {
      const slack = slacks[agent] as number
      return {
        agent: agents.get(agent).name,
        requests: requests[agent] as number,
        origins: columns.origins[agent] as number,
        robots: columns.robots[agent] as number,
        violations: violations[agent] as number,
        ...(slack === Number.POSITIVE_INFINITY ? {} : { smallestSlackMs: slack }),
      }
    })
  }
}

/**
 * The first `most` of the numbers below `length` in an order, without sorting them all. Among equals the lesser number comes first.
 */
function firstOf(length: number, most: number, order: (a: number, b: number) => number): number[] {
  const ordered = (a: number, b: number): number => order(a, b) || a - b
  let first: number[] = []
  let last: number | undefined
  for (let number = 0; number < length; number++) {
    if (last !== undefined && ordered(last, number) < 0) continue
    first.push(number)
    if (first.length < 2 * most) continue
    first = first.sort(ordered).slice(0, most)
    last = first.at(-1)
  }
  return first.sort(ordered).slice(0, most)
}
