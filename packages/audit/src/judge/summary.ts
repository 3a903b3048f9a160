/** Makes the report from the findings. */
import { OFFENCE_NAMES } from '../offences.ts'
import type { Report, RulesReport } from '../report.ts'
import { NO_BODY } from './answers.ts'
import type { Chains } from './chains.ts'
import type { Findings } from './findings.ts'
import type { LaneEnds } from './judge-lane.ts'
import type { Judged } from './judged.ts'
import type { Knowledge } from './knowledge.ts'
import { timelinesOf } from './lanes-shown.ts'
import { LaneCounts } from './listed.ts'

export const AFTER_CUT_MS = 25
const RULES_SHOWN = 20
const RULE_LINES_SHOWN = 200
const RULE_LINE_CHARS = 300

export type Sums = {
  order: Uint32Array
  chains: Chains
  knowledge: Knowledge
  findings: Findings
  ends: LaneEnds
  noRules: number
  hops: { requests: number; elsewhere: number }
  /** body → line → how often it disallowed a request */
  broken: Map<number, Map<number, number>>
  paceGroups?: number
  stops?: number
  sitePolicies?: true
  graceMs: number
}

export function summary(judged: Judged, sums: Sums): Report {
  const { exchanges, lanes, leftOut, options, files } = judged
  const { order, findings, noRules, hops, graceMs } = sums
  const fileOf = (file: number): string => files[file] ?? ''
  const counts = new LaneCounts({ exchanges, lanes, findings, ends: sums.ends })
  const reports = counts.lanes()
  const total = OFFENCE_NAMES.reduce((sum, name) => sum + findings.counts[name], 0)
  const from = exchanges.length === 0 ? 0 : exchanges.startMin(order[0] as number)
  let to = from
  const statuses: Record<string, number> = {}
  for (let row = 0; row < exchanges.length; row++) {
    to = Math.max(to, exchanges.endMax(row))
    const status = exchanges.status[row] as number
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  const slack = smallestSlack(lanes.length, sums.ends)
  const drawn = options.timelines
    ? counts.worst(options.timelines).map((lane) => ({ lane, requests: counts.requests[lane] as number }))
    : []
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
    agents: counts.agents(),
    origins: originsIn(judged),
    from,
    to,
    spanMs: to - from,
    robotsFetches: fetchesIn(judged, sums),
    hops,
    ...(sums.paceGroups === undefined ? {} : { paceGroups: sums.paceGroups }),
    ...(sums.stops === undefined ? {} : { stops: sums.stops }),
    ...(sums.sitePolicies === undefined ? {} : { sitePolicies: true as const }),
    statuses,
    ...(slack === undefined ? {} : { smallestSlackMs: slack }),
    tolerance: { delayMs: 0, afterCutMs: AFTER_CUT_MS, ruleChangeMs: graceMs },
    violations: { ...findings.counts },
    total,
    examples: findings.examples(fileOf),
    worst: findings.worst(fileOf),
    lanes: reports,
    lanesLeftOut: lanes.length - reports.length,
    rules: rulesIn(judged, sums),
    ...(options.timelines ? { timelines: timelinesOf({ exchanges, lanes, order }, drawn) } : {}),
  }
}

function smallestSlack(lanes: number, ends: LaneEnds): number | undefined {
  let least: number | undefined
  for (let lane = 0; lane < lanes; lane++) {
    const slack = ends.smallestSlack(lane)
    if (slack !== undefined && (least === undefined || slack < least)) least = slack
  }
  return least
}

/** Number of origins; an origin that several parties requested counts once. */
function originsIn({ lanes }: Judged): number {
  const seen = new Uint8Array(lanes.places)
  let origins = 0
  for (let place = 0; place < lanes.places; place++) {
    const origin = lanes.originNumber(place)
    if (seen[origin] !== 1) origins++
    seen[origin] = 1
  }
  return origins
}

/** Counts robots fetches; a hop to another /robots.txt belongs to the fetch of its chain. */
function fetchesIn({ lanes }: Judged, { chains, knowledge: { fetches } }: Sums): Report['robotsFetches'] {
  let all = 0
  let most = 0
  let mostAt: string | undefined
  for (let place = 0; place < lanes.places; place++) {
    let own = 0
    for (let at = fetches.first(place); at < fetches.beyond(place); at++)
      if (chains.hopsBefore(fetches.started(at)) === 0) own++
    all += own
    if (own <= most) continue
    most = own
    mostAt = lanes.originOfPlace(place)
  }
  return { all, most, ...(mostAt === undefined ? {} : { mostAt }) }
}

/** The bodies by which pages were judged, those with broken rules first. */
function rulesIn({ bodies, lanes }: Judged, { knowledge, broken }: Sums): RulesReport[] {
  const { fetches } = knowledge
  const seen = new Map<string, { origin: string; body: number; at: number }>()
  for (let place = 0; place < lanes.places; place++) {
    let before = NO_BODY
    for (let at = fetches.first(place); at < fetches.beyond(place); at++) {
      const { body } = knowledge.answer(at, place)
      // All bodies with broken rules, and the first of the others.
      if (body === before || (seen.size >= RULES_SHOWN && !broken.has(body))) continue
      before = body
      const origin = lanes.originOfPlace(place)
      const key = `${origin} ${body}`
      if (body !== NO_BODY && !seen.has(key)) seen.set(key, { origin, body, at: fetches.from(at) })
    }
  }
  const timesOf = (body: number): number => [...(broken.get(body)?.values() ?? [])].reduce((a, b) => a + b, 0)
  // An empty file is the least informative.
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
