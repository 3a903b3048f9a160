/**
 * The frontier: hands over the URLs of each site, at once and while the fleet runs, and reads outcomes. It judges that each URL has one, whatever
 * happens.
 */
import { type Candidate, DEFAULT_CRAWL, HOUR, type Outcome, outcomesKey } from '@decorum/protocol'
import type { Dice } from './dice.ts'
import type { Jobs } from './jobs.ts'
import type { Server } from './server.ts'
import type { Site } from './sites.ts'
import { START, type Timeline } from './timeline.ts'

/** URLs in a job, as the client makes them. */
const BATCH = 50
const READ_EVERY_MS = 1_000
/** A crawl that may be cancelled, and one that may be paused; most URLs are of neither. */
export const CRAWLS = { others: 'others', short: 'short' } as const
const NAMES = [DEFAULT_CRAWL, ...Object.values(CRAWLS)]
/** Of all URLs, those that are handed over at once. */
const AT_ONCE = 0.6
const PORTIONS = 6

export type FrontierOptions = {
  timeline: Timeline
  server: Server
  candidates: Jobs<Candidate[]>
  dice: Dice
  sites: readonly Site[]
  /** so long the fleet has work at each site, if it keeps the permitted rate, ms */
  busyMs: number
  tag: string
}

type Known = Candidate & { id: string }

export class Frontier {
  readonly #options: FrontierOptions
  readonly #waiting = new Map<string, Known>()
  readonly #seen = new Map<string, number>()
  /** Redis forgot what became of these, or they were handed over again because it might have: a second outcome is no fault */
  readonly #mayRepeat = new Set<string>()
  readonly #last = new Map<string, string>()
  /** of redirects, without an outcome so far */
  readonly #targets = new Set<string>()
  #left = 0
  #savedAt = 0
  /** id → when its outcome was read */
  readonly #readAt = new Map<string, number>()

  constructor(options: FrontierOptions) {
    this.#options = options
    const { timeline, dice, busyMs } = options
    const all = urlsOf(options)
    const first = Math.ceil(all.length * AT_ONCE)
    this.#pour(all.slice(0, first))
    const size = Math.ceil((all.length - first) / PORTIONS)
    for (let n = 0; n < PORTIONS; n++) {
      const some = all.slice(first + n * size, first + (n + 1) * size)
      this.#left += some.length
      timeline.after((busyMs / 2) * dice.next(), 'the frontier adds URLs', () => {
        this.#left -= some.length
        this.#pour(some)
      })
    }
    this.#readOn()
  }

  /** Every URL has its outcome, as far as was read. */
  get isDone(): boolean {
    return this.#left === 0 && this.#waiting.size === 0 && this.#targets.size === 0
  }

  lost(): string[] {
    return [...this.#waiting.keys(), ...this.#targets]
  }

  twice(): string[] {
    return [...this.#seen].flatMap(([id, times]) => (times > 1 && !this.#mayRepeat.has(id) ? [id] : []))
  }

  /** Redis has written all of this down. */
  saved(): void {
    this.#savedAt = this.#options.timeline.now
  }

  /**
   * Redis has lost what came after `saved`. As docs/promises.md advises, every URL without an outcome is handed over again; of those, and of
   * the ones whose outcome was read since, a second one may come.
   */
  async forgotten(): Promise<void> {
    await this.#read()
    for (const [id, at] of this.#readAt) if (at >= this.#savedAt - READ_EVERY_MS) this.#mayRepeat.add(id)
    for (const id of this.#targets) this.#mayRepeat.add(id)
    this.#targets.clear() // whether the redirect comes again is the site's to say
    const again = [...this.#waiting.values()]
    for (const { id } of again) this.#mayRepeat.add(id)
    this.#pour(again)
  }

  #pour(urls: readonly Known[]): void {
    for (const url of urls) this.#waiting.set(url.id, url)
    for (let at = 0; at < urls.length; at += BATCH)
      this.#options.server.whenUp(() => void this.#options.candidates.put([urls.slice(at, at + BATCH)]))
  }

  #readOn(): void {
    this.#options.timeline.after(READ_EVERY_MS, 'the frontier reads', async () => {
      await this.#read()
      this.#readOn()
    })
  }

  async #read(): Promise<void> {
    const { server, tag, timeline } = this.#options
    if (server.isAway) return
    for (const crawl of NAMES) {
      const rows = await server.real.xrange(outcomesKey(tag, crawl), this.#last.get(crawl) ?? '-', '+')
      for (const [entry, fields] of rows) {
        this.#last.set(crawl, `(${entry}`)
        const outcome = JSON.parse(fields[1] as string) as Outcome
        const { id } = outcome
        this.#waiting.delete(id)
        // Its target is a URL of its own, which has to have its outcome, too.
        if (outcome.kind === 'redirected' && !this.#seen.has(outcome.candidate)) this.#targets.add(outcome.candidate)
        this.#targets.delete(id)
        this.#readAt.set(id, timeline.now)
        this.#seen.set(id, (this.#seen.get(id) ?? 0) + 1)
      }
    }
  }
}

/** Each site's URLs, in turns: so many that all sites are done at about the same time. */
function urlsOf({ sites, busyMs, dice }: FrontierOptions): Known[] {
  const counts = sites.map(({ everyMs, origins }) => Math.ceil(busyMs / everyMs / origins.length))
  const urls: Known[] = []
  for (let n = 0; n < Math.max(...counts); n++)
    for (const [at, site] of sites.entries()) {
      if (n >= (counts[at] ?? 0)) continue
      for (const [port, origin] of site.origins.entries()) {
        const crawl = dice.below(10)
        urls.push({
          id: `${at}-${port}-${n}`,
          url: `${origin}/${n % 10 === 9 ? 'private/' : ''}${n}`,
          expiresAt: START + 24 * HOUR,
          ...(crawl < 2 ? { crawl: CRAWLS.others } : crawl === 2 ? { crawl: CRAWLS.short } : {}),
          ...(dice.below(20) === 0 ? { priority: 'high' as const } : {}),
        })
      }
    }
  return urls
}
