/** Pairs of whole numbers, each numbered from 0 in the order in which they were first seen. */
import { Numbers } from './numbers.ts'
import { Slots, spread } from './slots.ts'

export class Pairs {
  readonly #firsts = new Numbers()
  readonly #seconds = new Numbers()
  readonly #slots = new Slots((pair) => hashOf(this.first(pair), this.second(pair)))

  get length(): number {
    return this.#firsts.length
  }
  first = (pair: number): number => this.#firsts.get(pair)
  second = (pair: number): number => this.#seconds.get(pair)

  numberOf(first: number, second: number): number {
    const known = this.#slots.find(
      hashOf(first, second),
      (pair) => this.first(pair) === first && this.second(pair) === second,
    )
    if (known >= 0) return known
    const pair = this.#firsts.push(first)
    this.#seconds.push(second)
    this.#slots.add(pair)
    return pair
  }
}

const hashOf = (first: number, second: number): number => spread(spread(first) + second)
