/** One request in its lane: one at a time, then the delay owed, and nothing that the rules in force disallow. */
import type { Exchanges } from './columns.ts'
import type { Findings } from './findings.ts'
import type { Asking, Knowledge, View } from './knowledge.ts'
import type { Lane, LatestEnd } from './lanes.ts'

export type LaneJudge = {
  exchanges: Exchanges
  knowledge: Knowledge
  findings: Findings
  /** lines of bodies that disallowed something: body, line */
  broken: (body: number, line: number) => void
  /** the chain that the row is part of, and whether it is a hop of it: to another origin than the one first asked? */
  hop: 'none' | 'at-home' | 'elsewhere'
  noRules: () => void
  /** the record may go on where an older one ended: what was known then is not held against anybody before this */
  mayKnowUntil: number
}

/** RFC 9309 §2.4: rules older than a day are asked for again. */
const RULES_LAST_MS = 86_400_000
const ms = (value: number): string => `${value.toFixed(1)} ms`

export function judgeInLane(row: number, lane: Lane, asking: Asking, judge: LaneJudge): void {
  const { exchanges, knowledge } = judge
  const views = knowledge.views(lane.place, asking)
  if (!exchanges.isRobots(row)) {
    if (judge.hop === 'none') judgePage(row, lane, asking, views, judge)
    else if (judge.hop === 'elsewhere') judgeHop(row, lane, views, judge)
  }
  judgeDelay(row, lane, asking, knowledge.delay(views, lane.agent), judge)
  remember(row, lane, asking.chain, exchanges)
}

function judgePage(row: number, lane: Lane, asking: Asking, views: View[], judge: LaneJudge): void {
  const { exchanges, findings, knowledge } = judge
  if (views.length === 0) {
    // Whether it gave up following, no record tells; nor what it knew before the record began.
    const redirected = (lane.redirectedAt ?? Number.POSITIVE_INFINITY) <= asking.startMax
    if (redirected || asking.startMin < judge.mayKnowUntil) judge.noRules()
    else {
      const because = (): string => `no answer to ${lane.origin}/robots.txt had been received`
      findings.blame({ row, offence: 'before-rules', share: 1, because })
    }
    return
  }
  const url = lane.origin + exchanges.path(row)
  const allowed = letIn(row, lane, views, false, judge)
  if (allowed && views.every((view) => view.kind === 'unknown' || !allows(view, url, lane))) judge.noRules()
  tooOld(row, lane, asking, knowledge, findings)
}

function tooOld(row: number, lane: Lane, asking: Asking, knowledge: Knowledge, findings: Findings): void {
  const answered = knowledge.answeredAt(lane.place, asking)
  const age = answered === undefined ? 0 : asking.startMin - answered
  if (age <= RULES_LAST_MS) return
  findings.blame({
    row,
    offence: 'rules-too-old',
    share: 1 - RULES_LAST_MS / age,
    since: answered as number,
    because: () => `robots.txt had last been answered ${(age / 3_600_000).toFixed(1)} h before`,
  })
}

/** A hop to another origin obeys the rules that are known there; where none are known, it goes before them. */
function judgeHop(row: number, lane: Lane, views: View[], judge: LaneJudge): void {
  if (views.length > 0) letIn(row, lane, views, true, judge)
}

function letIn(row: number, lane: Lane, views: View[], throughOutage: boolean, judge: LaneJudge): boolean {
  const url = lane.origin + judge.exchanges.path(row)
  if (views.some((view) => (throughOutage && view.kind === 'refused') || allows(view, url, lane))) return true
  const rules = views.find((view) => view.kind === 'rules')
  if (rules === undefined) {
    judge.findings.blame({
      row,
      offence: 'rules-unreachable',
      share: 1,
      because: () => 'the last answer to robots.txt means that nothing may be fetched for now',
    })
    return false
  }
  const { rule } = rules.rules.decide(url, lane.agent.tokens)
  if (rule) judge.broken(rules.body, rule.line)
  judge.findings.blame({
    row,
    offence: 'disallowed',
    share: 1,
    because: () =>
      rule ? `line ${rule.line} of robots.txt: ${rule.type}: ${rule.pattern}` : 'robots.txt disallows it',
  })
  return false
}

function allows(view: View, url: string, lane: Lane): boolean {
  return view.kind === 'rules' ? view.rules.isAllowed(url, lane.agent.tokens) : view.kind !== 'refused'
}

function judgeDelay(row: number, lane: Lane, asking: Asking, owed: number, judge: LaneJudge): void {
  const { exchanges, findings } = judge
  // What belongs to one redirected robots fetch is one exchange: no delay inside it.
  const before = asking.chain >= 0 && lane.latest?.chain === asking.chain ? lane.latestOther : lane.latest
  if (before === undefined) return
  const kept = asking.startMax - before.endMin
  const resolution = Math.max(
    asking.startMax - asking.startMin,
    (exchanges.startMax[before.row] as number) - (exchanges.startMin[before.row] as number),
  )
  // In a coarse log the two may have come the other way round.
  const certain = (exchanges.startMin[before.row] as number) + resolution <= asking.startMin || resolution === 0
  if (!certain && owed <= resolution) return
  if (lane.leastDelayMs === undefined || owed < lane.leastDelayMs) lane.leastDelayMs = owed
  if (lane.mostDelayMs === undefined || owed > lane.mostDelayMs) lane.mostDelayMs = owed
  const because = (): string => `${ms(kept)} of ${ms(owed)} after ${exchanges.path(before.row)}`
  if (kept < 0 && certain) {
    findings.blame({
      row,
      offence: 'overlap',
      share: Math.min(1, -kept / Math.max(owed, 1)),
      after: before.row,
      since: before.endMin,
      because: () => `${exchanges.path(before.row)} was open for another ${ms(-kept)}`,
    })
    return
  }
  if (lane.smallestSlackMs === undefined || kept - owed < lane.smallestSlackMs) lane.smallestSlackMs = kept - owed
  if (kept < owed)
    findings.blame({
      row,
      offence: 'short-delay',
      share: 1 - kept / owed,
      after: before.row,
      since: before.endMin,
      because,
    })
}

/** Keeps the latest end, and the latest end outside the chain of that one. */
function remember(row: number, lane: Lane, chain: number, exchanges: Exchanges): void {
  const ended: LatestEnd = { row, endMin: exchanges.endMin[row] as number, chain }
  const { latest, latestOther } = lane
  if (latest === undefined) lane.latest = ended
  else if (chain >= 0 && chain === latest.chain) {
    if (ended.endMin >= latest.endMin) lane.latest = ended
  } else if (ended.endMin >= latest.endMin) {
    lane.latestOther = latest
    lane.latest = ended
  } else if (latestOther === undefined || ended.endMin >= latestOther.endMin) lane.latestOther = ended
}
