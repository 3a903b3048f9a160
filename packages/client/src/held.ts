/** The deliveries that a loop over outcomes has handed out and that are not known to be acknowledged, as `stream id`. */
import { setTimeout as sleep } from 'node:timers/promises'

export class Held extends Set<string> {
  #freed: (() => void)[] = []

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
    const late = sleep(ms, undefined, { signal: AbortSignal.any([signal, ending.signal]) }).catch(() => undefined)
    await Promise.race([promise, late])
    ending.abort()
    this.#freed = this.#freed.filter((one) => one !== resolve)
  }

  /** The entries of one stream. */
  entriesOf(stream: string): string[] {
    return [...this].flatMap((key) => (key.startsWith(`${stream} `) ? [key.slice(stream.length + 1)] : []))
  }
}
