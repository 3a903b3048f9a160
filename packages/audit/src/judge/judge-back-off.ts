/** Judges back-off: after a page's 429 or 503 with Retry-After, no agent of the party may send this origin a request until it is over. */
import { parseRetryAfter } from '@decorum/robots'
import type { Exchanges } from './columns.ts'
import type { Findings } from './findings.ts'
import { Heap } from './heap.ts'
import type { RequestFacts } from './knowledge.ts'
import type { Lanes } from './lanes.ts'
import type { Meter } from './meter.ts'

type Of = { exchanges: Exchanges; lanes: Lanes; findings: Findings; graceMs: number; meter: Meter }

/** Rows come in the order of their starts, so a request is never within the back-off of its own answer. */
export class BackOffJudge {
  /** made for the first Retry-After; most records have none */
  #lanes: Closed | undefined
  #places: Closed | undefined
  readonly #of: Of

  /** `graceMs`: how long a Retry-After may take to reach the party's other lanes, ms; its own lane has no grace. */
  constructor(of: Of) {
    this.#of = of
  }

  judge(row: number, facts: RequestFacts): void {
    const { exchanges, lanes, findings, graceMs, meter } = this.#of
    const place = lanes.placeOf(facts.lane)
    this.#lanes?.apply(facts.startMin, meter)
    this.#places?.apply(facts.startMin, meter)
    const own = this.#lanes?.until(facts.lane) ?? Number.NEGATIVE_INFINITY
    const shared = this.#places?.until(place) ?? Number.NEGATIVE_INFINITY
    const until = Math.max(own, shared)
    if (facts.startMax < until) {
      const early = until - facts.startMax
      findings.blame({
        row,
        offence: 'in-back-off',
        share: early / (early + 60_000),
        after: (own >= shared ? this.#lanes?.row(facts.lane) : this.#places?.row(place)) as number,
        since: Number.NEGATIVE_INFINITY,
        because: () => `the site had asked for ${(early / 1_000).toFixed(3)} s more without a request`,
      })
    }
    const status = exchanges.status[row] as number
    if ((status !== 429 && status !== 503) || exchanges.isRobots(row) || facts.chain >= 0) return
    const ms = parseRetryAfter(exchanges.header(row), exchanges.endMin(row))
    if (ms === undefined) return
    this.#lanes ??= new Closed(lanes.length, exchanges, (from) => exchanges.lane[from] as number)
    this.#places ??= new Closed(lanes.places, exchanges, (from) => lanes.placeOf(exchanges.lane[from] as number))
    const knownAt = exchanges.endMax(row)
    this.#lanes.add(row, knownAt)
    this.#places.add(row, knownAt + graceMs)
  }
}

/** For each lane, or each place, the instant until which a known Retry-After closes it. */
class Closed {
  /** rows with a Retry-After that is not yet known, by the instant at which it becomes known */
  readonly #pending = new Heap()
  readonly #until: Float64Array
  readonly #row: Uint32Array
  readonly #exchanges: Exchanges
  readonly #ofRow: (row: number) => number

  constructor(length: number, exchanges: Exchanges, ofRow: (row: number) => number) {
    this.#until = new Float64Array(length).fill(Number.NEGATIVE_INFINITY)
    this.#row = new Uint32Array(length)
    this.#exchanges = exchanges
    this.#ofRow = ofRow
  }

  until = (at: number): number => this.#until[at] as number
  row = (at: number): number => this.#row[at] as number
  add = (row: number, at: number): void => this.#pending.push(at, row)

  /** Applies every Retry-After that became known by an instant; instants only rise from call to call. */
  apply(instant: number, meter: Meter): void {
    for (let row = this.#pending.popUntil(instant); row !== undefined; row = this.#pending.popUntil(instant)) {
      meter.steps++
      const end = this.#exchanges.endMin(row)
      const until = end + (parseRetryAfter(this.#exchanges.header(row), end) ?? 0)
      const at = this.#ofRow(row)
      if (until <= (this.#until[at] as number)) continue
      this.#until[at] = until
      this.#row[at] = row
    }
  }
}
