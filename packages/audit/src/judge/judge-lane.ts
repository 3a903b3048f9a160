/** Judges one request in its lane: one at a time, then the delay owed, and nothing that the rules in force disallow. */

import type { Chains } from './chains.ts'
import type { Exchanges } from './columns.ts'
import type { Findings } from './findings.ts'
import type { SiteJudge } from './judge-sites.ts'
import type { Knowledge, RequestFacts, View } from './knowledge.ts'
import type { Lanes } from './lanes.ts'

export type LaneJudge = {
  exchanges: Exchanges
  chains: Chains
  lanes: Lanes
  ends: LaneEnds
  knowledge: Knowledge
  findings: Findings
  /** the effect of site policies on a delay; undefined: no policies are known */
  sites: SiteJudge | undefined
  /** records that a line of a body disallowed a request */
  broken: (body: number, line: number) => void
  /** whether the row is a hop of a chain, and then to the origin of the chain's first request, or to another */
  hop: 'none' | 'at-home' | 'elsewhere'
  noRules: () => void
  /** ms since 1970: until then rules may be known from an older record that this one continues, so their absence is no offence */
  mayKnowUntil: number
}

/** RFC 9309 §2.4: rules older than a day must be fetched again. */
const RULES_LAST_MS = 86_400_000
const ms = (value: number): string => `${value.toFixed(1)} ms`

/** As many decimals as distinguish the two. @param isCoarse  the instants were rounded, so less may have been kept */
function tooSoon(kept: number, owed: number, path: string, isCoarse: boolean): string {
  const [per, unit] = owed < 1_000 ? [1, 'ms'] : [1_000, 's']
  const required = `${path}; ${Number((owed / per).toFixed(3))} ${unit} is required`
  if (isCoarse)
    return kept < 0 ? `before the end of ${required}` : `less than ${Math.ceil(kept) / per} ${unit} after ${required}`
  const digits = [3, 6, 9].find((one) => (kept / per).toFixed(one) !== (owed / per).toFixed(one)) ?? 12
  return `${Number((kept / per).toFixed(digits))} ${unit} after ${required}`
}

/** The data by which the delays of each lane are judged, and the results. */
export class LaneEnds {
  /** by lane: the row that ended latest, and the one outside of its chain that ended latest; each plus one, 0: none */
  readonly #latest: Uint32Array
  readonly #latestOther: Uint32Array
  /** three numbers per lane: least and most delay owed, smallest slack, ms; infinite: no delay was judged */
  #delays = new Float64Array(0)
  readonly #lanes: number

  constructor(lanes: number) {
    this.#lanes = lanes
    this.#latest = new Uint32Array(lanes)
    this.#latestOther = new Uint32Array(lanes)
  }

  leastDelay = (lane: number): number | undefined => known(this.#delays[lane * 3])
  mostDelay = (lane: number): number | undefined => known(this.#delays[lane * 3 + 1])
  smallestSlack = (lane: number): number | undefined => known(this.#delays[lane * 3 + 2])

  owed(lane: number, delay: number): void {
    // Allocated at the first delay to judge: there is none if no lane has two requests.
    if (this.#delays.length === 0) {
      this.#delays = new Float64Array(this.#lanes * 3).fill(Number.POSITIVE_INFINITY)
      for (let at = 1; at < this.#delays.length; at += 3) this.#delays[at] = Number.NEGATIVE_INFINITY
    }
    this.#delays[lane * 3] = Math.min(this.#delays[lane * 3] as number, delay)
    this.#delays[lane * 3 + 1] = Math.max(this.#delays[lane * 3 + 1] as number, delay)
  }
  /** Records how much longer than owed a delay was, ms; negative: it was too short. */
  slack(lane: number, slack: number): void {
    this.#delays[lane * 3 + 2] = Math.min(this.#delays[lane * 3 + 2] as number, slack)
  }

  /** The earlier row of the lane that ended latest, outside this row's chain: a chain is one exchange, without a delay inside. */
  before({ lane, chain }: RequestFacts, chains: Chains): number | undefined {
    const latest = (this.#latest[lane] as number) - 1
    const isOwn = latest >= 0 && chain >= 0 && chains.ofRow(latest) === chain
    const row = isOwn ? (this.#latestOther[lane] as number) - 1 : latest
    return row < 0 ? undefined : row
  }

  add(row: number, { lane, chain }: RequestFacts, chains: Chains, exchanges: Exchanges): void {
    const end = exchanges.endMin(row)
    const endOf = (of: number): number => (of === 0 ? Number.NEGATIVE_INFINITY : exchanges.endMin(of - 1))
    const latest = this.#latest[lane] as number
    if (latest > 0 && chain >= 0 && chains.ofRow(latest - 1) === chain) {
      if (end >= endOf(latest)) this.#latest[lane] = row + 1
    } else if (end >= endOf(latest)) {
      this.#latestOther[lane] = latest
      this.#latest[lane] = row + 1
    } else if (end >= endOf(this.#latestOther[lane] as number)) this.#latestOther[lane] = row + 1
  }
}

const known = (value: number | undefined): number | undefined => (Number.isFinite(value) ? value : undefined)

export function judgeInLane(row: number, facts: RequestFacts, judge: LaneJudge): void {
  const { exchanges, knowledge, chains, ends } = judge
  const views = knowledge.views(judge.lanes.placeOf(facts.lane), facts)
  if (!exchanges.isRobots(row)) {
    if (judge.hop === 'none') judgePage(row, facts, views, judge)
    else if (judge.hop === 'elsewhere') judgeHop(row, facts, views, judge)
  }
  judgeDelay(row, facts, knowledge.delay(views, facts.agent, facts.agentId), judge)
  ends.add(row, facts, chains, exchanges)
}

function judgePage(row: number, facts: RequestFacts, views: View[], judge: LaneJudge): void {
  const { chains, findings, lanes } = judge
  if (views.length === 0) {
    // The record shows neither whether the agent stopped following redirects, nor which rules it had before the record began.
    const redirected = chains.redirectedAt(facts.lane) <= facts.startMax
    if (redirected || facts.startMin < judge.mayKnowUntil) judge.noRules()
    else {
      const because = (): string => `no answer to ${lanes.origin(facts.lane)}/robots.txt had been received`
      findings.blame({ row, offence: 'before-rules', share: 1, because })
    }
    return
  }
  const url = urlOf(row, facts, judge)
  const allowed = letIn(row, facts, views, { url, throughOutage: false }, judge)
  if (allowed && views.every((view) => view.kind === 'unknown' || !allows(view, url, facts))) judge.noRules()
  tooOld(row, facts, judge)
}

const urlOf = (row: number, { lane }: RequestFacts, { exchanges, lanes }: LaneJudge): string =>
  lanes.origin(lane) + exchanges.path(row)

function tooOld(row: number, facts: RequestFacts, { knowledge, lanes, findings }: LaneJudge): void {
  const answered = knowledge.answeredAt(lanes.placeOf(facts.lane), facts)
  const age = answered === undefined ? 0 : facts.startMin - answered
  if (age <= RULES_LAST_MS) return
  findings.blame({
    row,
    offence: 'rules-too-old',
    share: 1 - RULES_LAST_MS / age,
    since: answered as number,
    because: () => `robots.txt had last been answered ${(age / 3_600_000).toFixed(1)} h before`,
  })
}

/** A hop to another origin must obey the known rules there; without known rules it is allowed. */
function judgeHop(row: number, facts: RequestFacts, views: View[], judge: LaneJudge): void {
  if (views.length > 0) letIn(row, facts, views, { url: urlOf(row, facts, judge), throughOutage: true }, judge)
}

function letIn(
  row: number,
  facts: RequestFacts,
  views: View[],
  { url, throughOutage }: { url: string; throughOutage: boolean },
  judge: LaneJudge,
): boolean {
  if (views.some((view) => (throughOutage && view.kind === 'refused') || allows(view, url, facts))) return true
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
  const { rule } = rules.rules.decide(url, facts.agent.tokens)
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

function allows(view: View, url: string, { agent }: RequestFacts): boolean {
  return view.kind === 'rules' ? view.rules.isAllowed(url, agent.tokens) : view.kind !== 'refused'
}

/** @param demandedMs  the delay that the agent's settings and robots.txt demand, ms */
function judgeDelay(row: number, facts: RequestFacts, demandedMs: number, judge: LaneJudge): void {
  const { exchanges, findings, chains, ends } = judge
  const before = ends.before(facts, chains)
  if (before === undefined) return
  const since = exchanges.endMin(before)
  const owed = judge.sites?.delayOf(facts.lane, demandedMs, since, facts.startMin) ?? demandedMs
  const kept = facts.startMax - since
  const resolution = Math.max(facts.startMax - facts.startMin, exchanges.startMax(before) - exchanges.startMin(before))
  // If instants were rounded, the two exchanges may have come in the opposite order.
  const certain = exchanges.startMin(before) + resolution <= facts.startMin || resolution === 0
  if (!certain && owed <= resolution) return
  ends.owed(facts.lane, owed)
  const because = (): string => tooSoon(kept, owed, exchanges.path(before), resolution > 0)
  if (kept < 0 && certain) {
    findings.blame({
      row,
      offence: 'overlap',
      share: Math.min(1, -kept / Math.max(owed, 1)),
      after: before,
      since,
      because: () => `${exchanges.path(before)} was open for another ${ms(-kept)}`,
    })
    return
  }
  ends.slack(facts.lane, kept - owed)
  if (kept < owed)
    findings.blame({
      row,
      offence: 'short-delay',
      share: 1 - kept / owed,
      after: before,
      since,
      because,
    })
}
