import type { ClockStep, Evidence, RequestLine } from '../record.ts'
import type { Report } from '../report.ts'
import { Bodies, NO_BODY } from './answers.ts'
import { Exchanges } from './columns.ts'
import { findChains } from './find-chains.ts'
import { Findings } from './findings.ts'
import { BackOffJudge } from './judge-back-off.ts'
import { GroupJudge } from './judge-groups.ts'
import { judgeInLane, LaneEnds, type LaneJudge } from './judge-lane.ts'
import { judgeRobots } from './judge-robots.ts'
import { SiteJudge } from './judge-sites.ts'
import { StopJudge } from './judge-stops.ts'
import type { Judged, JudgeOptions } from './judged.ts'
import { Knowledge, type RequestFacts } from './knowledge.ts'
import { Lanes } from './lanes.ts'
import { summary } from './summary.ts'

export type Audit = {
  /**
   * Adds one exchange, which is line `number` of log `file`.
   * @returns false: its origin is invalid, so it was not added
   */
  request(line: RequestLine, file?: number, number?: number): boolean
  /** Adds a body of rules, before or after the requests that name it. */
  body(hash: string, body: string | Uint8Array): void
  /** Judges everything that was added. To be called once. */
  report(found?: { clockSteps?: readonly ClockStep[]; files?: readonly string[] }): Report
  readonly requests: number
}

const RULE_CHANGE_MS = 1_000
const EXAMPLES = 20
const RULES_LAST_MS = 86_400_000

export function openAudit(options: JudgeOptions): Audit {
  const exchanges = new Exchanges()
  const lanes = new Lanes(options.agents)
  const bodies = new Bodies(options.robotsByOrigin)
  let leftOut = 0
  return {
    request(line, file = 0, number = 0) {
      const lane = lanes.of(line.agent, line.origin)
      if (lane === 'no-origin') return false
      if (lane === 'left-out') leftOut++
      else exchanges.add(line, lane, line.robots === undefined ? NO_BODY : bodies.numberOf(line.robots), file, number)
      return true
    },
    body: (hash, body) => bodies.set(hash, body),
    report: ({ clockSteps = [], files = [] } = {}) =>
      judgeAll({ exchanges, lanes, bodies, options, leftOut, clockSteps, files }),
    get requests() {
      return exchanges.length + leftOut
    },
  }
}

/** Judges a complete record. */
export function judgeRecord({ requests, bodies, robotsByOrigin }: Evidence, options: JudgeOptions): Report {
  const audit = openAudit(robotsByOrigin === undefined ? options : { ...options, robotsByOrigin })
  for (const [hash, body] of bodies) audit.body(hash, body)
  let unusable = 0
  for (const [at, line] of requests.entries()) if (!audit.request(line, 0, at + 1)) unusable++
  const report = audit.report()
  if (unusable > 0) {
    report.setAside.lines += unusable
    report.setAside.byReason['no-origin'] = unusable
    if (report.verdict === 'clean') report.verdict = 'partly-judged'
  }
  return report
}

function judgeAll(judged: Judged): Report {
  const { exchanges, lanes, bodies, options, clockSteps } = judged
  const {
    ruleChangeMs: graceMs = RULE_CHANGE_MS,
    examples = EXAMPLES,
    meter = { steps: 0 },
    paceGroups,
    stops,
    sitePolicies,
  } = options
  const order = exchanges.inOrder()
  const chains = findChains(order, { exchanges, lanes, meter })
  const knowledge = new Knowledge({ chains, exchanges, bodies, lanes, graceMs, meter })
  const findings = new Findings({ exchanges, lanes, clockSteps, examples })
  const ends = new LaneEnds(lanes.length)
  const backOff = new BackOffJudge({ exchanges, lanes, findings, graceMs, meter })
  const sites = sitePolicies && new SiteJudge({ exchanges, lanes, findings, policies: sitePolicies })
  const ofGroups = { exchanges, lanes, knowledge, findings, sites, meter }
  const groups = paceGroups && new GroupJudge({ ...ofGroups, groups: paceGroups })
  const stopJudge = stops && new StopJudge({ exchanges, lanes, findings, stops })
  if (groups !== undefined) for (const row of order) groups.note(row)

  let noRules = 0
  let hops = 0
  let elsewhere = 0
  const broken = new Map<number, Map<number, number>>()
  const judge: LaneJudge = {
    exchanges,
    chains,
    lanes,
    ends,
    knowledge,
    findings,
    sites,
    hop: 'none',
    noRules: () => {
      noRules++
    },
    broken: (body, line) => {
      const lines = broken.get(body) ?? new Map<number, number>()
      broken.set(body, lines.set(line, (lines.get(line) ?? 0) + 1))
    },
    mayKnowUntil: options.continues ? exchanges.startMin(order[0] ?? 0) + RULES_LAST_MS : Number.NEGATIVE_INFINITY,
  }
  for (const row of order) {
    meter.steps++
    const lane = exchanges.lane[row] as number
    const chain = chains.ofRow(row)
    const facts: RequestFacts = {
      lane,
      agent: lanes.agent(lane),
      agentId: lanes.agentOf(lane),
      startMin: exchanges.startMin(row),
      startMax: exchanges.startMax(row),
      chain,
    }
    judge.hop = 'none'
    if (chains.isHop(row)) {
      const home = exchanges.lane[chains.first(chain)] as number
      judge.hop = lanes.placeOf(home) === lanes.placeOf(lane) ? 'at-home' : 'elsewhere'
      hops++
      if (judge.hop === 'elsewhere') elsewhere++
    }
    judgeInLane(row, facts, judge)
    backOff.judge(row, facts)
    groups?.judge(row, facts)
    stopJudge?.judge(row, facts)
    sites?.judge(row, facts)
  }
  const { fetches } = knowledge
  const robots = { exchanges, chains, bodies, fetches, findings, lanes, retryMs: options.robotsRetryMs, meter }
  for (let place = 0; place < lanes.places; place++) judgeRobots(place, robots)
  return summary(judged, {
    order,
    chains,
    knowledge,
    findings,
    ends,
    noRules,
    hops: { requests: hops, elsewhere },
    broken,
    ...(groups === undefined ? {} : { paceGroups: groups.shared }),
    ...(stops === undefined ? {} : { stops: stops.length }),
    ...(sites === undefined ? {} : { sitePolicies: true as const }),
    graceMs,
  })
}
