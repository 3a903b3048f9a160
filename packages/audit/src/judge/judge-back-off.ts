/** Retry-After that a site sent with 429 or 503 on a page: until then no agent of that party may send any request. */
import { parseRetryAfter } from '@decorum/robots'
import type { Exchanges } from './columns.ts'
import type { Findings } from './findings.ts'
import { Heap } from './heap.ts'
import type { Asking } from './knowledge.ts'
import type { Lanes } from './lanes.ts'
import type { Meter } from './meter.ts'

type Of = { exchanges: Exchanges; lanes: Lanes; findings: Findings; graceMs: number; meter: Meter }

/** Rows come in the order of their starts, so a request is never within the back-off of its own answer. */
export class BackOffJudge {
  /** made for the first Retry-After; most records have none */
  #lanes: Closed | undefined
  #places: Closed | undefined
  readonly #of: Of

  /** `graceMs`: how long the other lanes of the party may need to learn of it; its own lane has no grace. */
  constructor(of: Of) {
    this.#of = of
  }

  judge(row: number, asking: Asking): void {
    const { exchanges, lanes, findings, graceMs, meter } = this.#of
    const place = lanes.placeOf(asking.lane)
    this.#lanes?.hear(asking.startMin, meter)
    this.#places?.hear(asking.startMin, meter)
    const own = this.#lanes?.until(asking.lane) ?? Number.NEGATIVE_INFINITY
    const shared = this.#places?.until(place) ?? Number.NEGATIVE_INFINITY
    const until = Math.max(own, shared)
    if (asking.startMax < until) {
      const early = until - asking.startMax
      findings.blame({
        row,
        offence: 'in-back-off',
        share: early / (early + 60_000),
        after: (own >= shared ? this.#lanes?.row(asking.lane) : this.#places?.row(place)) as number,
        since: Number.NEGATIVE_INFINITY,
        because: () => `the site had asked for ${(early / 1_000).toFixed(3)} s more without a request`,
      })
    }
    const status = exchanges.status[row] as number
    if ((status !== 429 && status !== 503) || exchanges.isRobots(row) || asking.chain >= 0) return
    const ms = parseRetryAfter(exchanges.header(row), exchanges.endMin(row))
    if (ms === undefined) return
    this.#lanes ??= new Closed(lanes.length, exchanges, (from) => exchanges.lane[from] as number)
    this.#places ??= new Closed(lanes.places, exchanges, (from) => lanes.placeOf(exchanges.lane[from] as number))
    const heard = exchanges.endMax(row)
    this.#lanes.learn(row, heard)
    this.#places.learn(row, heard + graceMs)
  }
}

/** Until when lanes, or places, are known to be closed. */
class Closed {
  /** rows with a Retry-After that is not yet known, by the instant at which it becomes known */
  readonly #toHear = new Heap()
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
  learn = (row: number, at: number): void => this.#toHear.push(at, row)

  /** Applies everything that became known by an instant; instants only rise. */
  hear(instant: number, meter: Meter): void {
    for (let row = this.#toHear.popUntil(instant); row !== undefined; row = this.#toHear.popUntil(instant)) {
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
