/** Deliveries that a loop over outcomes has handed out and that are not known to be acknowledged, as `stream id`. */
import type { Clock } from '@decorum/protocol/time'

export class Held extends Set<string> {
  readonly #clock: Clock
  #freed: (() => void)[] = []

  constructor(clock: Clock) {
    super()
    this.#clock = clock
  }

  override delete(key: string): boolean {
    const isDeleted = super.delete(key)
    if (isDeleted) for (const resolve of this.#freed.splice(0)) resolve()
    return isDeleted
  }

  /** Resolves when one of them is acknowledged, after `ms` at the latest, or when the signal is aborted. */
  async freed(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#freed.push(resolve)
    const ending = new AbortController()
    const late = this.#clock.sleep(ms, { signal: AbortSignal.any([signal, ending.signal]) })
    await Promise.race([promise, late])
    ending.abort()
    this.#freed = this.#freed.filter((one) => one !== resolve)
  }

  /** The ids of the entries in one stream. */
  entriesOf(stream: string): string[] {
    return [...this].flatMap((key) => (key.startsWith(`${stream} `) ? [key.slice(stream.length + 1)] : []))
  }
}
