/** A cache of bounded size that always keeps the `most / 2` entries used last. */
export class Recent<K, V> {
  #young = new Map<K, V>()
  #old = new Map<K, V>()
  readonly #half: number

  constructor(most: number) {
    this.#half = Math.max(1, most >> 1)
  }

  get(key: K): V | undefined {
    const value = this.#young.get(key)
    if (value !== undefined) return value
    const older = this.#old.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  set(key: K, value: V): void {
    if (this.#young.size >= this.#half) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }
}
