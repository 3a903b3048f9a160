/** The recent pace of outcomes, from the ledger's counts: a few numbers per sample, for the last minutes. */
import type { Crawl } from '@decorum/ledger'

/** One sample: instant (ms, monotonic), outcomes since the beginning. */
type Sample = { at: number; outcomes: number }

export const SAMPLE_MS = 2_000
const KEPT = 91 // three minutes, as the sparkline shows

/** Most crawls with a separate pace: those with most waiting URLs. */
const CRAWLS = 200

export class Pace {
  #samples: Sample[] = []
  #crawls = new Map<string, Pace>()

  /** Counts that fall (another Redis, a flushed one) begin a new history. */
  add(outcomes: number, at: number): void {
    const last = this.#samples.at(-1)
    if (last !== undefined && outcomes < last.outcomes) this.#samples = []
    this.#samples.push({ at, outcomes })
    if (this.#samples.length > KEPT) this.#samples.shift()
  }

  addCrawls(crawls: readonly Pick<Crawl, 'name' | 'waiting' | 'counts'>[], at: number): void {
    const most = crawls.filter(({ waiting }) => waiting > 0).sort((a, b) => b.waiting - a.waiting)
    const before = this.#crawls
    this.#crawls = new Map()
    for (const { name, counts } of most.slice(0, CRAWLS)) {
      const pace = before.get(name) ?? new Pace()
      pace.add(
        Object.values(counts).reduce((sum, n) => sum + n, 0),
        at,
      )
      this.#crawls.set(name, pace)
    }
  }

  /** undefined: the crawl has no waiting URLs, or too many others have more */
  ofCrawl(name: string): Pace | undefined {
    return this.#crawls.get(name)
  }

  /** Outcomes of the last minute, extrapolated while less than a minute is known; undefined before two samples. */
  perMinute(): number | undefined {
    const last = this.#samples.at(-1)
    const first = this.#samples.find((sample) => last !== undefined && last.at - sample.at <= 60_000)
    if (first === undefined || last === undefined || last.at - first.at < SAMPLE_MS / 2) return undefined
    return ((last.outcomes - first.outcomes) / (last.at - first.at)) * 60_000
  }

  /** Outcomes per second between samples, oldest first. */
  series(): number[] {
    return this.#samples.slice(1).map((sample, i) => {
      const before = this.#samples[i] as Sample
      return ((sample.outcomes - before.outcomes) / Math.max(1, sample.at - before.at)) * 1_000
    })
  }
}
