/**
 * Checks the order of a server's log: its lines are written when exchanges end, so their ends rise. If they do not, several workers write
 * the log, or its clock was set back.
 */
import type { ClockStep } from '../record.ts'

/** Smallest step back of a clock: the workers of one server differ by less. */
const STEP_MS = 1_000
/** A larger step means that whole logs were concatenated. */
const LONGEST_STEP_MS = 3_600_000
/** With more steps back than this in one log, several workers write it and buffer their lines. */
const MOST_STEPS = 5

export class ClockWatch {
  #latest = Number.NEGATIVE_INFINITY
  #backwards = 0
  #mostMs = 0
  readonly #steps: ClockStep[] = []
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** Adds the next line's exchange. */
  next(start: number, end: number, line: number): void {
    if (end >= this.#latest) {
      this.#latest = end
      return
    }
    const back = this.#latest - end
    this.#backwards++
    this.#mostMs = Math.max(this.#mostMs, back)
    const current = this.#steps.at(-1)
    if (current !== undefined && back <= current.backMs && this.#latest === current.to) {
      current.from = Math.min(current.from, start) // still before the end of that step
      return
    }
    if (back >= STEP_MS && this.#steps.length <= MOST_STEPS)
      this.#steps.push({ file: this.#file, line, from: start, to: this.#latest, backMs: back })
  }

  /** Stretches that cannot be judged. */
  get steps(): ClockStep[] {
    return this.#steps.length > MOST_STEPS ? [] : this.#steps.filter(({ backMs }) => backMs <= LONGEST_STEP_MS)
  }

  get notes(): string[] {
    const notes = this.steps.map(
      ({ line, backMs }) =>
        `line ${line}: the clock was set back by ${(backMs / 1_000).toFixed(3)} s; nothing is concluded across it`,
    )
    if (notes.length === 0 && this.#backwards > 0)
      notes.push(
        `${this.#backwards} lines are out of order, by up to ${(this.#mostMs / 1_000).toFixed(3)} s: several workers write this log, or logs were put together; it is judged in the order of its times`,
      )
    return notes
  }
}
