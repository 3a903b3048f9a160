/** The time in which a request has to be sent, and whether this process rather than the site let it pass. */
import type { Clock, Timer } from '@decorum/protocol'
import { passed, type Since, sinceNow } from '@decorum/runtime'
import { OWN_STALL_MS, STALL_LOOK_MS } from '../limits.ts'

/** Begins when it is made. Until `close` it looks every STALL_LOOK_MS how late it is, so that a stall in its middle is seen as well. */
export class SendWindow {
  readonly #clock: Clock
  readonly #onOver: () => void
  #leftMs: number
  #lookMs = 0
  #lookedAt: Since
  /** how late the looks before the latest one came, all told */
  #lateMs = 0
  #timer: Timer | undefined

  /** @param onOver  called once, when `ms` are over */
  constructor(clock: Clock, ms: number, onOver: () => void) {
    this.#clock = clock
    this.#leftMs = ms
    this.#onOver = onOver
    this.#lookedAt = sinceNow(clock)
    this.#lookLater()
  }

  #lookLater(): void {
    this.#lookMs = Math.min(STALL_LOOK_MS, this.#leftMs)
    this.#lookedAt = sinceNow(this.#clock)
    this.#timer = this.#clock.timeout(() => this.#look(), this.#lookMs)
  }

  #look(): void {
    this.#lateMs = this.#keptFromRunningMs()
    this.#leftMs -= Math.max(this.#lookMs, this.#clock.monotonic() - this.#lookedAt.monotonic)
    this.#lookMs = Infinity // what came late until now has been counted
    if (this.#leftMs > 0) this.#lookLater()
    else this.#onOver()
  }

  #keptFromRunningMs(): number {
    return this.#lateMs + Math.max(0, passed(this.#clock, this.#lookedAt) - this.#lookMs)
  }

  /**
   * True when this process was frozen or suspended, its loop was blocked, or its machine had too much to do, for longer than OWN_STALL_MS
   * in all: what has not come by now may have been there in time.
   */
  wasKeptFromRunning(): boolean {
    return this.#keptFromRunningMs() > OWN_STALL_MS
  }

  close(): void {
    this.#clock.cancel(this.#timer)
  }
}
