/** The robots fetches of a record by place, which is a party at an origin (lanes.ts). */
import type { Chains } from './chains.ts'
import type { Exchanges } from './columns.ts'
import type { Lanes } from './lanes.ts'

type Of = { chains: Chains; exchanges: Exchanges; lanes: Lanes }

export class Fetches {
  /** for each place the index of its first fetch in both lists; one more entry has the end of the last place */
  readonly #from: Uint32Array
  /** all fetches, place by place; within a place sorted by start, and by earliest end, from which the result may be known */
  readonly #byStart: Uint32Array
  readonly #byEnd: Uint32Array
  readonly #of: Of

  constructor(of: Of) {
    this.#of = of
    const { chains, exchanges, lanes } = of
    const placeOf = (fetch: number): number => lanes.placeOf(exchanges.lane[chains.firstOf(fetch)] as number)
    this.#from = new Uint32Array(lanes.places + 1)
    for (let fetch = 0; fetch < chains.fetches; fetch++) {
      const next = placeOf(fetch) + 1
      this.#from[next] = (this.#from[next] as number) + 1
    }
    for (let place = 0; place < lanes.places; place++)
      this.#from[place + 1] = (this.#from[place + 1] as number) + (this.#from[place] as number)
    const next = this.#from.slice()
    this.#byStart = new Uint32Array(chains.fetches)
    for (let fetch = 0; fetch < chains.fetches; fetch++) {
      const place = placeOf(fetch)
      const at = next[place] as number
      this.#byStart[at] = fetch
      next[place] = at + 1
    }
    this.#byEnd = this.#sortedByEnd(lanes.places)
  }

  /** The range of a place's fetches in the lists: from `first` to before `beyond`. */
  first = (place: number): number => this.#from[place] as number
  beyond = (place: number): number => this.#from[place + 1] as number

  started = (at: number): number => this.#byStart[at] as number
  answered = (at: number): number => this.#byEnd[at] as number

  /** Earliest and latest instant at which the agent may have known the answer at this index. */
  from = (at: number): number => this.#endOf(this.answered(at))
  sure(at: number): number {
    const { chains, exchanges } = this.#of
    return exchanges.endMax(chains.lastOf(this.answered(at)))
  }
  agentOf(at: number): number {
    const { chains, exchanges, lanes } = this.#of
    return lanes.agentOf(exchanges.lane[chains.firstOf(this.answered(at))] as number)
  }
  chain = (at: number): number => this.#of.chains.chainOf(this.answered(at))

  #endOf(fetch: number): number {
    const { chains, exchanges } = this.#of
    return exchanges.endMin(chains.lastOf(fetch))
  }

  /** Sorts the fetches of each place by end; returns `#byStart` itself if all ended in the order of their starts, as is usual. */
  #sortedByEnd(places: number): Uint32Array {
    let sorted: Uint32Array | undefined
    for (let place = 0; place < places; place++) {
      const [first, beyond] = [this.first(place), this.beyond(place)]
      const part = this.#byStart.subarray(first, beyond)
      if (part.every((fetch, at) => at === 0 || this.#endOf(part[at - 1] as number) <= this.#endOf(fetch))) continue
      sorted ??= this.#byStart.slice()
      sorted.subarray(first, beyond).sort((a, b) => this.#endOf(a) - this.#endOf(b) || a - b)
    }
    return sorted ?? this.#byStart
  }
}
