/** A binary heap of whole numbers, least key first; among equal keys the lesser number comes first. */
export class Heap {
  readonly #keys: number[] = []
  readonly #items: number[] = []

  get first(): number | undefined {
    return this.#items[0]
  }

  push(key: number, item: number): void {
    let at = this.#keys.push(key) - 1
    this.#items.push(item)
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!this.#isBefore(at, above)) break
      this.#swap(at, above)
      at = above
    }
  }

  /** Removes and returns the first item if its key is at most `most`; undefined: there is no such item. */
  popUntil(most: number): number | undefined {
    const [key] = this.#keys
    return key === undefined || key > most ? undefined : this.pop()
  }

  pop(): number | undefined {
    const last = this.#keys.length - 1
    if (last < 0) return undefined
    this.#swap(0, last)
    const item = this.#items.pop()
    this.#keys.pop()
    for (let at = 0; ;) {
      const left = 2 * at + 1
      if (left >= last) break
      const right = left + 1
      const least = right < last && this.#isBefore(right, left) ? right : left
      if (!this.#isBefore(least, at)) break
      this.#swap(at, least)
      at = least
    }
    return item
  }

  #isBefore(a: number, b: number): boolean {
    const difference = (this.#keys[a] as number) - (this.#keys[b] as number)
    return difference === 0 ? (this.#items[a] as number) < (this.#items[b] as number) : difference < 0
  }

  #swap(a: number, b: number): void {
    for (const list of [this.#keys, this.#items]) {
      const kept = list[a] as number
      list[a] = list[b] as number
      list[b] = kept
    }
  }
}
