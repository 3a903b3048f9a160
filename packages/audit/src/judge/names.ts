/**
 * Texts that repeat, each kept once and numbered from 0: origins, User-Agents, headers. A log may contain a million different ones, so they
 * are kept as UTF-8 in blocks instead of as objects.
 */
import { randomInt } from 'node:crypto'
import { Numbers } from './numbers.ts'
import { Slots } from './slots.ts'
import { Texts } from './texts.ts'

/** Number of texts that are kept as strings: the first of a log, which include the frequent ones. */
const AT_HAND = 10_000
/** Random: senders choose these texts, and with a known seed they could choose texts whose hashes collide. */
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

  /** @param read  converts a text to its canonical form; undefined: it has none */
  constructor(read: (text: string) => string | undefined = (text) => text) {
    this.#read = read
  }

  get length(): number {
    return this.#at.length
  }

  /** @returns the number of a text, -1 when it has no canonical form */
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

/** A copy of a text: a slice would keep the whole chunk of the log that it was cut from. */
const copyOf = (text: string): string => Buffer.from(text).toString()
