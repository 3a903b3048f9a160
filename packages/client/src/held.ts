/** Deliveries that a loop over outcomes has handed out and that are not known to be acknowledged, as `stream id`. */
import { EventEmitter, once } from 'node:events'
import type { Clock } from '@decorum/protocol/time'

export class Held extends Set<string> {
  readonly #clock: Clock
  readonly #events = new EventEmitter()

  constructor(clock: Clock) {
    super()
    this.#clock = clock
  }

  override delete(key: string): boolean {
    const isDeleted = super.delete(key)
    if (isDeleted) this.#events.emit('freed')
    return isDeleted
  }

  /** Resolves when a delivery is acknowledged, after `ms` at the latest, or when the signal is aborted. */
  async freed(ms: number, signal: AbortSignal): Promise<void> {
    const ending = new AbortController()
    const until = { signal: AbortSignal.any([signal, ending.signal]) }
    await Promise.race([once(this.#events, 'freed', until), this.#clock.sleep(ms, until)]).catch(() => undefined)
    ending.abort()
  }

  /** The ids of the entries in one stream. */
  entriesOf(stream: string): string[] {
    return [...this].flatMap((key) => (key.startsWith(`${stream} `) ? [key.slice(stream.length + 1)] : []))
  }
}
