/**
 * Texts that come again and again, each kept once and known by a number from 0: origins, User-Agents, headers. A log may
 * hold a million different ones, so they are kept as UTF-8 in blocks instead of as objects.
 */
import { randomInt } from 'node:crypto'
import { Numbers } from './numbers.ts'
import { Slots } from './slots.ts'
import { Texts } from './texts.ts'

/** The first texts of a log are at hand as strings; those that come often are among them. */
const AT_HAND = 10_000
/** Strangers choose these texts; they cannot choose ones that collide without knowing it. */
const SEED = randomInt(2 ** 32)

export class Names {
  readonly #texts = new Texts()
  readonly #at = new Numbers()
  readonly #hashes = new Numbers()
  readonly #slots = new Slots((name) => this.#hashes.get(name))
  readonly #numbers = new Map<string, number>()
  readonly #strings: string[] = []
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
    const atHand = this.#numbers.get(text)
    if (atHand !== undefined) return atHand
    const form = this.#read(text)
    const number = form === undefined ? -1 : this.#numberOfForm(form)
    if (this.#numbers.size < AT_HAND) this.#numbers.set(copyOf(text), number)
    return number
  }

  get = (number: number): string => this.#strings[number] ?? this.#texts.get(this.#at.get(number))

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
    if (number < AT_HAND) this.#strings.push(copyOf(text))
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

/** The same text in memory of its own: a slice would keep the whole chunk of the log that it was cut from. */
const copyOf = (text: string): string => Buffer.from(text).toString()
