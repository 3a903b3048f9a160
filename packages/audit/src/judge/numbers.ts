/** A list of whole numbers from 0, four bytes each. */
export class Numbers {
  length = 0
  #items = new Uint32Array(16)

  /** @returns the index */
  push(value: number): number {
    if (this.length === this.#items.length) {
      const larger = new Uint32Array(this.length * 2)
      larger.set(this.#items)
      this.#items = larger
    }
    this.#items[this.length] = value
    return this.length++
  }
  get = (at: number): number => this.#items[at] as number
  set(at: number, value: number): void {
    this.#items[at] = value
  }
}
