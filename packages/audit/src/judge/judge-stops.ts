/** Emergency stops: a request that begins more than a second after a stop began, and before the stop ends, is an offence. */
import { hostOf } from '../origin.ts'
import type { StopLine } from '../record.ts'
import type { Exchanges } from './columns.ts'
import type { Findings } from './findings.ts'
import type { RequestFacts } from './knowledge.ts'
import type { Lanes } from './lanes.ts'

/** How long a stop may take to reach every process, ms. */
export const STOP_WITHIN_MS = 1_000
const EVERYTHING = '*'

type Of = { exchanges: Exchanges; lanes: Lanes; findings: Findings; stops: readonly StopLine[] }

export class StopJudge {
  readonly #of: Of
  readonly #byName = new Map<string, StopLine[]>()
  /** by lane: the stops of its host, of the names above it, and of everything */
  readonly #ofLane: StopLine[][] = []

  constructor(of: Of) {
    this.#of = of
    for (const stop of of.stops) this.#byName.set(stop.name, [...(this.#byName.get(stop.name) ?? []), stop])
  }

  judge(row: number, { lane, startMin, startMax }: RequestFacts): void {
    const { exchanges, findings } = this.#of
    const address = exchanges.address(row)
    const ofAddress = address === undefined ? [] : (this.#byName.get(nameOf(address)) ?? [])
    for (const stop of [...this.#stopsOf(lane), ...ofAddress]) {
      const late = startMin - stop.at - STOP_WITHIN_MS
      const end = Math.min(stop.until ?? Number.POSITIVE_INFINITY, stop.lifted?.at ?? Number.POSITIVE_INFINITY)
      if (late <= 0 || startMax >= end) continue
      const what = stop.name === EVERYTHING ? 'everything' : stop.name
      findings.blame({
        row,
        offence: 'stopped',
        share: late / (late + 60_000),
        because: () => `${what} had been stopped ${((startMin - stop.at) / 1_000).toFixed(3)} s before`,
      })
      return
    }
  }

  #stopsOf(lane: number): StopLine[] {
    const known = this.#ofLane[lane]
    if (known !== undefined) return known
    const host = hostOf(this.#of.lanes.origin(lane))
    const names = host.startsWith('[') ? [host] : host.split('.').map((_, at, labels) => labels.slice(at).join('.'))
    const found = [EVERYTHING, ...names].flatMap((name) => this.#byName.get(name) ?? [])
    this.#ofLane[lane] = found
    return found
  }
}

const nameOf = (address: string): string =>
  address.includes(':') && !address.startsWith('[') ? `[${address}]` : address
