/** A binary heap: the least key first. */
export class Heap<T> {
  readonly #items: { key: number; item: T }[] = []

  push(key: number, item: T): void {
    const items = this.#items
    let at = items.length
    items.push({ key, item })
    while (at > 0) {
      const above = (at - 1) >> 1
      if ((items[above]?.key ?? 0) <= key) break
      this.#swap(at, above)
      at = above
    }
  }

  /** Takes the first item whose key is at most this; undefined when there is none. */
  popUntil(most: number): T | undefined {
    const items = this.#items
    const [first] = items
    if (first === undefined || first.key > most) return undefined
    const last = items.pop()
    if (last === undefined || items.length === 0) return first.item
    items[0] = last
    for (let at = 0; ; ) {
      const left = 2 * at + 1
      if (left >= items.length) break
      const right = left + 1
      const less = right < items.length && this.#key(right) < this.#key(left) ? right : left
      if (this.#key(less) >= this.#key(at)) break
      this.#swap(at, less)
      at = less
    }
    return first.item
  }

  #key = (at: number): number => this.#items[at]?.key ?? Number.POSITIVE_INFINITY

  #swap(a: number, b: number): void {
    const items = this.#items
    const kept = items[a]
    items[a] = items[b] as { key: number; item: T }
    items[b] = kept as { key: number; item: T }
  }
}
