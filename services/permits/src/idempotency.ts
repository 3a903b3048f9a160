/** The same request under the same key has the same answer: a retry after a lost reply gets its permit, not a second one. */
import { Problem } from './problem.ts'

type Kept<T> = { body: string; answer: Promise<T>; until: number }
const MOST_KEYS = 50_000

export class Keys<T> {
  readonly #kept = new Map<string, Kept<T>>()

  /**
   * @param body    what was asked, as text
   * @param work    done once; its answer is kept for as long as it says, ms (0: others ask anew)
   * @throws Problem when the key came with another body
   */
  async once(key: string, body: string, work: () => Promise<T>, keepMs: (answer: T) => number): Promise<T> {
    const now = performance.now()
    const known = this.#kept.get(key)
    if (known !== undefined && known.until > now) {
      if (known.body !== body) throw new Problem('key-reused', 'use another Idempotency-Key for another request')
      return known.answer
    }
    if (this.#kept.size >= MOST_KEYS) this.#kept.delete(this.#kept.keys().next().value as string)
    const entry: Kept<T> = { body, answer: work(), until: Number.POSITIVE_INFINITY }
    this.#kept.delete(key)
    this.#kept.set(key, entry)
    try {
      const answer = await entry.answer
      entry.until = performance.now() + keepMs(answer)
      return answer
    } catch (error) {
      entry.until = 0
      throw error
    } finally {
      if (entry.until <= performance.now()) this.#kept.delete(key)
    }
  }
}
