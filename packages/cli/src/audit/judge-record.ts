/**
 * Judges a record of visits: pure, and it knows nothing of who made them but what the sites wrote down. Time is counted as
 * the sites saw it: from the end of one exchange to the start of the next.
 */
import type { PaceGroups } from '@decorum/protocol'
import { judgeBackOff } from './judge-back-off.ts'
import { judgeGroups } from './judge-groups.ts'
import { judgeLane } from './judge-lane.ts'
import { judgeRobots } from './judge-robots.ts'
import { type Knowledge, knowledgeOf, rulesReader } from './knowledge.ts'
import type { Evidence } from './record.ts'
import { type LaneReport, OFFENCES, type Offence, type Report, type Violation } from './report.ts'
import { type RobotsFetch, robotsFetches, type Visit } from './robots-fetches.ts'
import type { Visitors } from './visitors.ts'

export type JudgeOptions = {
  visitors: Visitors
  /** how long after an answer a request may still rest on what was known before it, ms */
  ruleChangeMs?: number
  /** how late a site may notice that a visitor has gone in mid-answer, ms */
  afterCutMs?: number
  /** first retry of an unreachable robots.txt, when not the policy's, ms */
  robotsRetryMs?: number
  /** lanes that share a clock; absent: each lane is judged by itself alone */
  paceGroups?: PaceGroups
  /** examples kept of each offence */
  examples?: number
}

const RULE_CHANGE_MS = 1_000
const AFTER_CUT_MS = 25
const EXAMPLES = 20

export function judgeRecord(evidence: Evidence, options: JudgeOptions): Report {
  const {
    visitors,
    ruleChangeMs = RULE_CHANGE_MS,
    afterCutMs = AFTER_CUT_MS,
    robotsRetryMs,
    paceGroups,
    examples = EXAMPLES,
  } = options
  const visits = visitsOf(evidence, visitors)
  const fetches = robotsFetches(visits, evidence)
  const rulesOf = rulesReader()

  const violations = Object.fromEntries(Object.keys(OFFENCES).map((offence) => [offence, 0])) as Record<Offence, number>
  const kept: Violation[] = []
  const lanes = new Map<string, LaneReport>()
  const blame = (visit: Visit, offence: Offence, because: string): void => {
    const lane = lanes.get(laneKey(visit))
    if (lane) lane.offences[offence] = (lane.offences[offence] ?? 0) + 1
    if (++violations[offence] > examples) return
    const { origin, path, start } = visit.line
    kept.push({ offence, visitor: visit.visitor.name, origin, path, at: start, because })
  }

  // A party at an origin shares what was learnt there.
  const fetchesOf = Map.groupBy(fetches, ({ first }) => partyKey(first))
  const knowledge = new Map<string, Knowledge>()
  const known = (key: string): Knowledge => {
    const found = knowledge.get(key) ?? knowledgeOf(fetchesOf.get(key) ?? [], ruleChangeMs, rulesOf)
    knowledge.set(key, found)
    return found
  }
  const isGuest = ({ line, hop }: Visit): boolean => hop !== undefined && hop.first.line.origin !== line.origin
  const hosts = visits.filter((visit) => !isGuest(visit))
  const byLane = Map.groupBy(hosts, laneKey)
  let unjudged = 0
  for (const [key, own] of byLane) {
    const [first] = own as [Visit]
    const report: LaneReport = {
      visitor: first.visitor.name,
      origin: first.line.origin,
      requests: own.length,
      robots: own.filter(({ line }) => line.path === '/robots.txt').length,
      owedMs: { least: first.visitor.floorMs, most: first.visitor.floorMs },
      cut: own.filter(({ line }) => line.cut).length,
      offences: {},
    }
    lanes.set(key, report)
    const sums = judgeLane(own, { knowledge: known(partyKey(first)), afterCutMs, blame, unjudged: () => unjudged++ })
    if (sums.smallestSlackMs !== undefined) report.smallestSlackMs = sums.smallestSlackMs
    if (sums.most > 0) report.owedMs = { least: sums.least, most: sums.most }
  }
  for (const own of Map.groupBy(hosts, partyKey).values()) judgeBackOff(own, ruleChangeMs, blame)
  for (const own of fetchesOf.values()) judgeRobots(own, robotsRetryMs, afterCutMs, blame)

  const shared = paceGroups === undefined ? undefined : judgeGroups(visits, paceGroups, afterCutMs, blame)
  const guests = visits.filter(isGuest)
  const slackMs = [...lanes.values()].reduce(
    (least, lane) => Math.min(least, lane.smallestSlackMs ?? least),
    Number.POSITIVE_INFINITY,
  )
  return {
    requests: visits.length,
    leftOut: evidence.requests.length - visits.length + (evidence.notHttp ?? 0),
    unjudged,
    guests: {
      requests: guests.length,
      atBadTime: guests.filter((guest) => disturbs(guest, byLane.get(laneKey(guest)) ?? [])).length,
    },
    visitors: [...new Set(visits.map(({ visitor }) => visitor.name))],
    origins: new Set(visits.map(({ line }) => line.origin)).size,
    spanMs: visits.reduce((end, { line }) => Math.max(end, line.end), 0) - (visits[0]?.line.start ?? 0),
    robotsFetches: mostFetched(fetchesOf, fetches.length),
    ...(shared === undefined ? {} : { paceGroups: shared }),
    statuses: countBy(visits.map(({ line }) => String(line.status))),
    ...(Number.isFinite(slackMs) ? { smallestSlackMs: slackMs } : {}),
    tolerance: { silenceMs: 0, afterCutMs, ruleChangeMs },
    violations,
    total: Object.values(violations).reduce((sum, count) => sum + count, 0),
    examples: kept.sort((a, b) => a.at - b.at),
    lanes: [...lanes.values()],
  }
}

const laneKey = ({ visitor, line }: Visit): string => `${visitor.name}\n${line.origin}`
const partyKey = ({ visitor, line }: Visit): string => `${visitor.party}\n${line.origin}`

/** Requests of known visitors, by start. */
function visitsOf(evidence: Evidence, visitors: Visitors): Visit[] {
  const visits: Visit[] = []
  for (const line of evidence.requests) {
    const visitor = visitors(line.agent)
    if (visitor) visits.push({ line, visitor })
  }
  return visits.sort((a, b) => a.line.start - b.line.start)
}

/** A guest that came while the lane's own request was open, or less than its least silence beside one. */
function disturbs({ line, visitor }: Visit, lane: Visit[]): boolean {
  return lane.some((own) => line.start < own.line.end + visitor.floorMs && own.line.start < line.end + visitor.floorMs)
}

function mostFetched(fetchesOf: Map<string, RobotsFetch[]>, all: number): Report['robotsFetches'] {
  let most = 0
  let mostAt: string | undefined
  for (const [key, own] of fetchesOf) {
    if (own.length <= most) continue
    most = own.length
    mostAt = key.slice(key.indexOf('\n') + 1)
  }
  return { all, most, ...(mostAt === undefined ? {} : { mostAt }) }
}

function countBy(values: string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}
