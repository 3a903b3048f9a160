/** Collects findings: counts all, and keeps a bounded number with their figures. */
import { OFFENCE_NAMES, type Offence } from '../offences.ts'
import type { ClockStep } from '../record.ts'
import type { LogLine, Violation } from '../report.ts'
import type { Exchanges } from './columns.ts'
import type { Lanes } from './lanes.ts'

export type Finding = {
  row: number
  offence: Offence
  because: () => string
  /** severity within its kind: 0 to 1 */
  share: number
  /** the earlier exchange that makes this one an offence */
  after?: number
  /** start of the stretch of the record on which the finding relies, ms since 1970; absent: only the request itself */
  since?: number
}

/** Number of the worst findings kept of each kind, to choose the worst of all. */
const WORST_KEPT = 5
const WORST_SHOWN = 5
/** Largest number of the worst findings shown for one kind, and for one lane. */
const WORST_ALIKE = 2
/** The weight of each kind: the offences that harm a site most have the largest. */
const WEIGHTS: Record<Offence, number> = {
  stopped: 10,
  overlap: 9,
  'in-back-off': 8,
  disallowed: 7,
  'short-delay': 6,
  'outside-hours': 6,
  'rules-unreachable': 5,
  'before-rules': 4,
  'robots-overlap': 3,
  'robots-too-often': 2,
  'pace-group': 2,
  'over-budget': 2,
  'rules-too-old': 1,
}

type Kept = { finding: Finding; because: string }

export class Findings {
  readonly counts = Object.fromEntries(OFFENCE_NAMES.map((name) => [name, 0])) as Record<Offence, number>
  /** number of findings dropped because the clock had been set back */
  byClock = 0
  readonly #ofLane: Uint32Array
  /** lane and offence → number of repeated findings against the same request, as from several pace groups */
  readonly #again = new Map<string, number>()
  readonly #kept: Kept[] = []
  readonly #worst = new Map<Offence, Kept[]>()
  readonly #exchanges: Exchanges
  readonly #lanes: Lanes
  readonly #steps: readonly ClockStep[]
  readonly #examples: number

  constructor(of: { exchanges: Exchanges; lanes: Lanes; clockSteps: readonly ClockStep[]; examples: number }) {
    this.#exchanges = of.exchanges
    this.#lanes = of.lanes
    this.#ofLane = new Uint32Array(of.lanes.length)
    this.#steps = of.clockSteps
    this.#examples = of.examples
  }

  blame(finding: Finding): void {
    const { row, offence } = finding
    const at = this.#exchanges.startMin(row)
    const since = finding.since ?? at
    if (this.#steps.some(({ from, to }) => at >= from && since <= to)) {
      this.byClock++
      return
    }
    this.#count(row, offence)
    let kept: Kept | undefined
    if (this.counts[offence] <= this.#examples) {
      kept = { finding, because: finding.because() }
      this.#kept.push(kept)
    }
    const worst = this.#worst.get(offence) ?? []
    this.#worst.set(offence, worst)
    if (worst.length === WORST_KEPT && (worst.at(-1)?.finding.share ?? 0) >= finding.share) return
    worst.push(kept ?? { finding, because: finding.because() })
    worst.sort((a, b) => b.finding.share - a.finding.share)
    worst.length = Math.min(worst.length, WORST_KEPT)
  }

  /** Number of violations in a lane. */
  inLane = (lane: number): number => this.#ofLane[lane] as number

  /** Number of a lane's findings of an offence beyond the first of each request, which is in `found` of the exchanges. */
  again = (lane: number, offence: Offence): number => this.#again.get(`${lane} ${offence}`) ?? 0

  #count(row: number, offence: Offence): void {
    const { lane: lanes, found } = this.#exchanges
    const lane = lanes[row] as number
    const bit = 1 << OFFENCE_NAMES.indexOf(offence)
    if (((found[row] as number) & bit) !== 0) this.#again.set(`${lane} ${offence}`, this.again(lane, offence) + 1)
    found[row] = (found[row] as number) | bit
    this.#ofLane[lane] = this.inLane(lane) + 1
    this.counts[offence]++
  }

  /** @param fileOf  names of logs by number */
  examples(fileOf: (file: number) => string): Violation[] {
    return this.#kept.map((kept) => this.#violation(kept, fileOf)).sort((a, b) => a.at - b.at)
  }

  worst(fileOf: (file: number) => string): Violation[] {
    const all = [...this.#worst.values()].flat()
    all.sort((a, b) => WEIGHTS[b.finding.offence] - WEIGHTS[a.finding.offence] || b.finding.share - a.finding.share)
    // First at most two of each kind and two of each lane; then two of each kind; then the rest.
    const chosen: Kept[] = []
    for (const most of [{ ofLane: WORST_ALIKE }, { ofLane: WORST_SHOWN }]) {
      for (const kept of all) {
        const { row, offence } = kept.finding
        const lane = this.#exchanges.lane[row]
        const alike = chosen.filter(({ finding }) => finding.offence === offence).length
        const inLane = chosen.filter(({ finding }) => this.#exchanges.lane[finding.row] === lane).length
        if (!chosen.includes(kept) && alike < WORST_ALIKE && inLane < most.ofLane) chosen.push(kept)
      }
    }
    const more = all.filter((kept) => !chosen.includes(kept))
    return [...chosen, ...more].slice(0, WORST_SHOWN).map((kept) => this.#violation(kept, fileOf))
  }

  #violation({ finding: { row, offence, after }, because }: Kept, fileOf: (file: number) => string): Violation {
    const exchanges = this.#exchanges
    const lane = exchanges.lane[row] as number
    const agent = this.#lanes.agent(lane)
    const origin = this.#lanes.origin(lane)
    const lineOf = (of: number): LogLine => ({
      file: fileOf(exchanges.file[of] as number),
      line: exchanges.line[of] as number,
    })
    const at = exchanges.startMin(row)
    const path = exchanges.path(row)
    const violation: Violation = { offence, agent: agent.name, origin, path, at, because, line: lineOf(row) }
    return after === undefined ? violation : { ...violation, after: lineOf(after) }
  }
}
