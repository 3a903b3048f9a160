/** A list of whole numbers from 0 to 2^32 − 1, four bytes each (or to 255, one byte each); unset ones are 0. */
export class Numbers {
  length = 0
  readonly #kind: typeof Uint32Array | typeof Uint8Array
  #items: Uint32Array | Uint8Array

  constructor(kind: typeof Uint32Array | typeof Uint8Array = Uint32Array) {
    this.#kind = kind
    this.#items = new kind(16)
  }

  /** @returns the index */
  push(value: number): number {
    this.set(this.length, value)
    return this.length - 1
  }
  get = (at: number): number => this.#items[at] ?? 0
  set(at: number, value: number): void {
    if (at >= this.#items.length) {
      const larger = new this.#kind(Math.max(this.#items.length * 2, at + 1))
      larger.set(this.#items)
      this.#items = larger
    }
    this.#items[at] = value
    if (at >= this.length) this.length = at + 1
  }
}

/** 0, 1, 2 … */
export function everyNumber(length: number): Uint32Array<ArrayBuffer> {
  const numbers = new Uint32Array(length)
  for (let at = 0; at < length; at++) numbers[at] = at
  return numbers
}
