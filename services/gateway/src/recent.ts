/**
 * The latest entries: at least half of `most`, never more than `most`. Two generations of a plain map; what was not set
 * again while one filled goes with it. A third of the cost of a list in order of use, where thousands change each second.
 */
export class Recent<K, V> {
  readonly #most: number
  #young = new Map<K, V>()
  #old = new Map<K, V>()

  constructor(most: number) {
    this.#most = most
  }

  get(key: K): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key)
  }

  set(key: K, value: V): void {
    if (this.#young.size >= this.#most / 2 && !this.#young.has(key)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }
}
