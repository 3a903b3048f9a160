/** The time limit for sending a request, and whether this process rather than the site exceeded it. */
import type { Clock, Timer } from '@decorum/protocol'
import { passed, type Since, sinceNow } from '@decorum/runtime'
import { OWN_STALL_MS, STALL_CHECK_MS } from '../limits.ts'

/** Starts on construction. Until `close` it measures every STALL_CHECK_MS how late its timer fires, so that each stall counts. */
export class SendWindow {
  readonly #clock: Clock
  readonly #onOver: () => void
  #leftMs: number
  #checkMs = 0
  #checkedAt: Since
  /** total lateness of earlier checks, ms */
  #lateMs = 0
  #timer: Timer | undefined

  /** @param onOver  called once, when `ms` are over */
  constructor(clock: Clock, ms: number, onOver: () => void) {
    this.#clock = clock
    this.#leftMs = ms
    this.#onOver = onOver
    this.#checkedAt = sinceNow(clock)
    this.#checkLater()
  }

  #checkLater(): void {
    this.#checkMs = Math.min(STALL_CHECK_MS, this.#leftMs)
    this.#checkedAt = sinceNow(this.#clock)
    this.#timer = this.#clock.timeout(() => this.#check(), this.#checkMs)
  }

  #check(): void {
    this.#lateMs = this.#keptFromRunningMs()
    this.#leftMs -= Math.max(this.#checkMs, this.#clock.monotonic() - this.#checkedAt.monotonic)
    this.#checkMs = Infinity // the lateness until now has been counted
    if (this.#leftMs > 0) this.#checkLater()
    else this.#onOver()
  }

  #keptFromRunningMs(): number {
    return this.#lateMs + Math.max(0, passed(this.#clock, this.#checkedAt) - this.#checkMs)
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
