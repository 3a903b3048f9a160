/** The report, from what was judged. */
import { OFFENCE_NAMES } from '../offences.ts'
import type { AgentReport, LaneReport, Report, RulesReport } from '../report.ts'
import { NO_BODY } from './answers.ts'
import type { Judged } from './audit.ts'
import type { Chains } from './chains.ts'
import type { Findings } from './findings.ts'
import type { Knowledge } from './knowledge.ts'
import type { Lane } from './lanes.ts'
import { timelinesOf, violationsIn, worstLanes } from './lanes-shown.ts'

export const AFTER_CUT_MS = 25
/** Of lanes and of agents. */
const MOST_LISTED = 10_000
const RULES_SHOWN = 20
const RULE_LINES_SHOWN = 200
const RULE_LINE_CHARS = 300

export type Sums = {
  order: Uint32Array
  chains: Chains
  knowledge: Knowledge
  findings: Findings
  noRules: number
  hops: { requests: number; elsewhere: number }
  /** body → line → how often it disallowed a request */
  broken: Map<number, Map<number, number>>
  paceGroups?: number
  graceMs: number
}

export function summary(judged: Judged, sums: Sums): Report {
  const { exchanges, lanes, leftOut, options, files } = judged
  const { order, findings, noRules, hops, graceMs } = sums
  const fileOf = (file: number): string => files[file] ?? ''
  const reports = reportsOf(lanes.all)
  const total = OFFENCE_NAMES.reduce((sum, name) => sum + findings.counts[name], 0)
  const from = exchanges.length === 0 ? 0 : (exchanges.startMin[order[0] as number] as number)
  let to = from
  const statuses: Record<string, number> = {}
  for (let row = 0; row < exchanges.length; row++) {
    to = Math.max(to, exchanges.endMax[row] as number)
    const status = exchanges.status[row] as number
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  const slack = leastSlack(lanes.all)
  const unjudged = noRules + findings.byClock
  return {
    version: 1,
    verdict: total > 0 ? 'violations' : unjudged > 0 ? 'partly-judged' : 'clean',
    requests: exchanges.length,
    leftOut,
    unjudged,
    unjudgedBecause: { noRules, clock: findings.byClock },
    setAside: { lines: 0, byReason: {}, examples: [] },
    noRequest: 0,
    logs: [],
    agents: agentsIn(lanes.all),
    origins: new Set(lanes.all.map(({ origin }) => origin)).size,
    from,
    to,
    spanMs: to - from,
    robotsFetches: fetchesIn(judged, sums),
    hops,
    ...(sums.paceGroups === undefined ? {} : { paceGroups: sums.paceGroups }),
    statuses,
    ...(slack === undefined ? {} : { smallestSlackMs: slack }),
    tolerance: { delayMs: 0, afterCutMs: AFTER_CUT_MS, ruleChangeMs: graceMs },
    violations: { ...findings.counts },
    total,
    examples: findings.examples(fileOf),
    worst: findings.worst(fileOf),
    lanes: reports,
    lanesLeftOut: lanes.all.length - reports.length,
    rules: rulesIn(judged, sums),
    ...(options.timelines ? { timelines: timelinesOf(judged, options.timelines, order) } : {}),
  }
}

function leastSlack(reports: { smallestSlackMs?: number | undefined }[]): number | undefined {
  let least: number | undefined
  for (const { smallestSlackMs: slack } of reports)
    if (slack !== undefined && (least === undefined || slack < least)) least = slack
  return least
}

/** Lanes of a report: all, or, of more than anybody could read, the worst. */
function reportsOf(lanes: Lane[]): LaneReport[] {
  const chosen = lanes.length <= MOST_LISTED ? lanes : worstLanes(lanes, MOST_LISTED)
  return chosen.map((lane): LaneReport => {
    const { agent, origin, requests, robots, cut, offences = {}, smallestSlackMs: slack } = lane
    const delayMs = { least: lane.leastDelayMs ?? agent.minDelayMs, most: lane.mostDelayMs ?? agent.minDelayMs }
    const report = { agent: agent.name, origin, requests, robots, delayMs, cut, offences }
    return slack === undefined ? report : { ...report, smallestSlackMs: slack }
  })
}

/** The same for agents: those with most violations, then those that came most. */
function agentsIn(reports: Lane[]): AgentReport[] {
  const byName = new Map<string, AgentReport>()
  for (const lane of reports) {
    let agent = byName.get(lane.agent.name)
    if (agent === undefined) {
      agent = { agent: lane.agent.name, requests: 0, origins: 0, robots: 0, violations: 0 }
      byName.set(lane.agent.name, agent)
    }
    agent.requests += lane.requests
    agent.origins++
    agent.robots += lane.robots
    agent.violations += violationsIn(lane)
    const slack = leastSlack([agent, lane])
    if (slack !== undefined) agent.smallestSlackMs = slack
  }
  const all = [...byName.values()]
  if (all.length <= MOST_LISTED) return all
  return all.sort((a, b) => b.violations - a.violations || b.requests - a.requests).slice(0, MOST_LISTED)
}

/** A hop to another /robots.txt belongs to the fetch that it is a part of. */
function fetchesIn({ lanes }: Judged, { chains }: Sums): Report['robotsFetches'] {
  let all = 0
  let most = 0
  let mostAt: string | undefined
  for (const { origin, fetches } of lanes.places) {
    let own = 0
    for (const fetch of fetches) if (chains.hopsBefore(fetch) === 0) own++
    all += own
    if (own <= most) continue
    most = own
    mostAt = origin
  }
  return { all, most, ...(mostAt === undefined ? {} : { mostAt }) }
}

/** The bodies that pages were judged by, those that something broke first. */
function rulesIn({ bodies, lanes }: Judged, { knowledge, broken }: Sums): RulesReport[] {
  const seen = new Map<string, { origin: string; body: number; at: number }>()
  for (const place of lanes.places) {
    const known = knowledge.knownOf(place)
    let before = NO_BODY
    for (let index = 0; index < known.length; index++) {
      const { body } = known.answer(index)
      // All that something broke, and the first of the others.
      if (body === before || (seen.size >= RULES_SHOWN && !broken.has(body))) continue
      before = body
      const key = `${place.origin} ${body}`
      if (body !== NO_BODY && !seen.has(key)) seen.set(key, { origin: place.origin, body, at: known.from(index) })
    }
  }
  const timesOf = (body: number): number => [...(broken.get(body)?.values() ?? [])].reduce((a, b) => a + b, 0)
  // An empty file says the least.
  const sizeOf = (body: number): number => Math.min(bodies.get(body)?.length ?? 0, 1)
  return [...seen.values()]
    .sort((a, b) => timesOf(b.body) - timesOf(a.body) || sizeOf(b.body) - sizeOf(a.body))
    .slice(0, RULES_SHOWN)
    .flatMap(({ origin, body, at }) => {
      const content = bodies.get(body)
      if (content === undefined) return []
      const text = typeof content === 'string' ? content : new TextDecoder().decode(content)
      const lines = text.split(/\r\n|\r|\n/)
      if (lines.at(-1) === '') lines.pop()
      return [
        {
          origin,
          at,
          lines: lines.slice(0, RULE_LINES_SHOWN).map((line) => line.slice(0, RULE_LINE_CHARS)),
          linesLeftOut: Math.max(0, lines.length - RULE_LINES_SHOWN),
          broken: [...(broken.get(body) ?? [])].map(([line, times]) => ({ line, times })),
        },
      ]
    })
}
