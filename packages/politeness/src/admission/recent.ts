/**
 * A cache of the latest entries: at least half of `most`, never more than `most`. It has two generations: when the young one is full, the
 * old one is dropped with all entries that were not set again. Setting costs a third of an LRU cache's cost (bench `relay`, where it is set
 * for every reserved lane).
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

  delete(key: K): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }
}
