/** The time limit for sending a request, and whether this process rather than the site exceeded it. */
import type { Clock, Timer } from '@decorum/protocol'
import { passed, type Since, sinceNow } from '@decorum/runtime'
import { OWN_STALL_MS, STALL_LOOK_MS } from '../limits.ts'

/** Begins on construction. Until `close` it measures every STALL_LOOK_MS how late its timer fires, to detect a stall in its middle as well. */
export class SendWindow {
  readonly #clock: Clock
  readonly #onOver: () => void
  #leftMs: number
  #lookMs = 0
  #lookedAt: Since
  /** total lateness of earlier checks, ms */
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
    this.#lookMs = Infinity // the lateness until now has been counted
    if (this.#leftMs > 0) this.#lookLater()
    else this.#onOver()
  }

  #keptFromRunningMs(): number {
    return this.#lateMs + Math.max(0, passed(this.#clock, this.#lookedAt) - this.#lookMs)
  }

  /**
   * True when this process was frozen or suspended, its loop blocked, or its machine overloaded for longer than OWN_STALL_MS in total:
   * a missing answer may then have been there in time.
   */
  wasKeptFromRunning(): boolean {
    return this.#keptFromRunningMs() > OWN_STALL_MS
  }

  close(): void {
    this.#clock.cancel(this.#timer)
  }
}
