/** The rate of outcomes in the last minute, from samples of their count. */

const WINDOW_MS = 60_000

export class Pace {
  #samples: { at: number; count: number }[] = []

  /** @param at  ms, monotonic */
  add(count: number, at: number): void {
    this.#samples.push({ at, count })
    while ((this.#samples[1]?.at ?? at) < at - WINDOW_MS) this.#samples.shift()
  }

  /** Outcomes per minute, over the last minute or a shorter history; undefined before a second has passed. */
  perMinute(): number | undefined {
    const [first] = this.#samples
    const last = this.#samples.at(-1)
    if (first === undefined || last === undefined || last.at - first.at < 1_000) return undefined
    return ((last.count - first.count) / (last.at - first.at)) * 60_000
  }
}
