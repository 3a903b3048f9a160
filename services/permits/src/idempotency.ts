/**
 * One permit for each Idempotency-Key. The work belongs to the key and not to a connection: the same request on another connection joins
 * the work in progress, which continues while any of its callers is connected. An answer that granted a permit is never repeated
 * unchanged: the remaining time is computed again.
 */

import type { Clock } from '@decorum/protocol'
import { type Caller, Problem } from '@decorum/sending/granting'

export type KeyedWork<Answer> = {
  /** @param caller  gone once every connection that waits under the key is closed */
  first: (caller: Caller) => Promise<Answer>
  /** how long the key keeps this answer at least, ms; 0: the same request is processed again */
  keepMs: (answer: Answer) => number
  /** the answer to the repeated request; a Problem when the first answer is no longer valid */
  again: (answer: Answer) => Promise<Answer | Problem>
}
type Entry<Answer> = {
  body: string
  callers: Set<Caller>
  shared: Caller
  work: Promise<Answer>
  /** undefined while the work is in progress */
  answer?: Answer
  until: number
}
const MOST_KEYS = 50_000

export class Keys<Answer> {
  readonly #clock: Clock
  readonly #entries = new Map<string, Entry<Answer>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * @param body  the request, as text
   * @throws Problem when the key was used with another body, or when its permit has ended
   */
  async once(key: string, body: string, caller: Caller, work: KeyedWork<Answer>): Promise<Answer> {
    const known = this.#entries.get(key)
    if (known === undefined) return this.#join(key, this.#begin(key, body, work), caller)
    const isKept = (): boolean => known.until > this.#clock.monotonic()
    if (known.body !== body && isKept())
      throw new Problem('key-reused', 'use another Idempotency-Key for another request')
    if (known.answer === undefined) return this.#join(key, known, caller)
    if (known.body === body) {
      const left = await work.again(known.answer)
      if (!(left instanceof Problem)) return left
      if (isKept()) throw left
    }
    this.#forget(key, known)
    return this.once(key, body, caller, work)
  }

  #begin(key: string, body: string, { first, keepMs }: KeyedWork<Answer>): Entry<Answer> {
    if (this.#entries.size >= MOST_KEYS) this.#entries.delete(this.#entries.keys().next().value as string)
    const shared: Caller = { isGone: false }
    const until = Number.POSITIVE_INFINITY
    const entry: Entry<Answer> = { body, callers: new Set(), shared, work: first(shared), until }
    this.#entries.set(key, entry)
    entry.work.then(
      (answer) => {
        const ms = keepMs(answer)
        if (ms === 0) this.#forget(key, entry)
        else Object.assign(entry, { answer, until: this.#clock.monotonic() + ms })
      },
      () => this.#forget(key, entry),
    )
    return entry
  }

  #join(key: string, entry: Entry<Answer>, caller: Caller): Promise<Answer> {
    const { callers, shared } = entry
    callers.add(caller)
    caller.onGone = () => {
      callers.delete(caller)
      if (callers.size > 0 || entry.answer !== undefined) return
      this.#forget(key, entry) // a later request starts again
      shared.isGone = true
      shared.onGone?.()
    }
    if (caller.isGone) caller.onGone()
    return entry.work
  }

  #forget(key: string, entry: Entry<Answer>): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
  }
}
