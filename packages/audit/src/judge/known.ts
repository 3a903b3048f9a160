/** The answers of one place, read from the columns of the record. */
import type { Answer } from './answers.ts'
import type { Chains } from './chains.ts'
import type { Exchanges } from './columns.ts'
import type { Lane, Place } from './lanes.ts'
import type { Known } from './timeline.ts'

const none = (): never => {
  throw new RangeError('no answer')
}
/** Most places of a log that holds no robots.txt. */
export const NOTHING: Known = {
  length: 0,
  from: none,
  sure: none,
  agentId: none,
  chain: none,
  began: none,
  answer: none,
}

type Columns = { chains: Chains; exchanges: Exchanges; lanes: Lane[] }

export class KnownOfPlace implements Known {
  readonly length: number
  readonly #fetches: readonly number[]
  readonly #answers: Answer[]
  readonly #columns: Columns

  constructor({ fetches }: Place, columns: Columns, answerOfFetch: (fetch: number) => Answer) {
    const from = (fetch: number): number => columns.exchanges.endMin[columns.chains.lastOf(fetch)] as number
    const isBefore = (fetch: number, at: number): boolean => at === 0 || from(fetches[at - 1] as number) <= from(fetch)
    this.#fetches = fetches.every(isBefore) ? fetches : fetches.toSorted((a, b) => from(a) - from(b))
    this.length = fetches.length
    this.#columns = columns
    this.#answers = this.#fetches.map(answerOfFetch)
  }

  #fetch(at: number): number {
    return this.#fetches[at] as number
  }
  from(at: number): number {
    return this.#columns.exchanges.endMin[this.#columns.chains.lastOf(this.#fetch(at))] as number
  }
  sure(at: number): number {
    return this.#columns.exchanges.endMax[this.#columns.chains.lastOf(this.#fetch(at))] as number
  }
  agentId(at: number): number {
    const lane = this.#columns.exchanges.lane[this.#columns.chains.firstOf(this.#fetch(at))] as number
    return (this.#columns.lanes[lane] as Lane).agentId
  }
  chain(at: number): number {
    return this.#columns.chains.chainOf(this.#fetch(at))
  }
  began(at: number): number {
    return this.#columns.exchanges.startMin[this.#columns.chains.firstOf(this.#fetch(at))] as number
  }
  answer(at: number): Answer {
    return this.#answers[at] as Answer
  }
}
