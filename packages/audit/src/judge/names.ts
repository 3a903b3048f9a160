/**
 * Texts that come again and again, each kept once and known by a number from 0: origins, User-Agents, headers. A log may
 * hold a million different ones, so they are kept as UTF-8 in blocks instead of as objects.
 */
import { randomInt } from 'node:crypto'
import { Numbers } from './numbers.ts'
import { Recent } from './recent.ts'
import { Slots } from './slots.ts'
import { Texts } from './texts.ts'

/** Texts whose numbers, and numbers whose texts, are at hand without a search. */
const MOST_RECENT = 20_000
/** Strangers choose these texts; they cannot choose ones that collide without knowing it. */
const SEED = randomInt(2 ** 32)

export class Names {
  readonly #texts = new Texts()
  readonly #at = new Numbers()
  readonly #hashes = new Numbers()
  readonly #slots = new Slots((name) => this.#hashes.get(name))
  readonly #numbers = new Recent<string, number>(MOST_RECENT)
  readonly #strings = new Recent<number, string>(MOST_RECENT)
  readonly #read: (text: string) => string | undefined
  #bytes = Buffer.allocUnsafe(4_096)

  /** @param read  brings a text into the form in which it is kept and compared; undefined: it has none */
  constructor(read: (text: string) => string | undefined = (text) => text) {
    this.#read = read
  }

  get length(): number {
    return this.#at.length
  }

  /** @returns the number of a text, -1 when it has no form */
  numberOf(text: string): number {
    const recent = this.#numbers.get(text)
    if (recent !== undefined) return recent
    const form = this.#read(text)
    const number = form === undefined ? -1 : this.#numberOfForm(form)
    // A copy: a slice would keep the whole chunk of the log that it was cut from.
    this.#numbers.set(Buffer.from(text).toString(), number)
    return number
  }

  get(number: number): string {
    const recent = this.#strings.get(number)
    if (recent !== undefined) return recent
    const text = this.#texts.get(this.#at.get(number))
    this.#strings.set(number, text)
    return text
  }

  #numberOfForm(text: string): number {
    if (text.length * 3 > this.#bytes.length) this.#bytes = Buffer.allocUnsafe(text.length * 6)
    const bytes = this.#bytes.subarray(0, this.#bytes.write(text))
    const hash = hashOf(bytes)
    const known = this.#slots.find(
      hash,
      (name) => this.#hashes.get(name) === hash && this.#texts.is(this.#at.get(name), bytes),
    )
    if (known >= 0) return known
    const number = this.#at.push(this.#texts.addBytes(bytes))
    this.#hashes.push(hash)
    this.#slots.add(number)
    return number
  }
}

/** FNV-1a from a random start, its high bits mixed into the low ones. */
function hashOf(bytes: Uint8Array): number {
  let hash = SEED
  for (let at = 0; at < bytes.length; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
  hash ^= hash >>> 15
  return Math.imul(hash, 0x2c1b3c6d) >>> 0
}
