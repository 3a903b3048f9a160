/** A hash table of numbers with open addressing: four bytes per slot, at most two thirds of the slots used. */
export class Slots {
  #slots = new Uint32Array(64)
  #used = 0
  readonly #hashOf: (entry: number) => number

  /** @param hashOf  hash of an entry, called again whenever the table grows */
  constructor(hashOf: (entry: number) => number) {
    this.#hashOf = hashOf
  }

  /** The entry with this hash for which `is` returns true; -1 when there is none. */
  find(hash: number, is: (entry: number) => boolean): number {
    const slots = this.#slots
    const mask = slots.length - 1
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const entry = (slots[at] as number) - 1
      if (entry < 0 || is(entry)) return entry
    }
  }

  add(entry: number): void {
    if (++this.#used * 3 > this.#slots.length * 2) {
      const before = this.#slots
      this.#slots = new Uint32Array(before.length * 2)
      for (const slot of before) if (slot > 0) this.#put(slot - 1)
    }
    this.#put(entry)
  }

  #put(entry: number): void {
    const mask = this.#slots.length - 1
    let at = this.#hashOf(entry) & mask
    while (this.#slots[at] !== 0) at = (at + 1) & mask
    this.#slots[at] = entry + 1
  }
}

/** Spreads a number over all bits of a hash. */
export function spread(number: number): number {
  const half = Math.imul(number ^ (number >>> 16), 0x45d9f3b)
  return (half ^ (half >>> 15)) >>> 0
}
