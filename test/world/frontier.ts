/**
 * The frontier: hands over the URLs of each site, at once and while the fleet runs, some of them twice in one job, and some once more when they have
 * their outcome. It reads outcomes, and judges that each URL that was handed over has one, whatever happens, and that this is true.
 */
import type { RequestLine } from '@decorum/audit'
import { type Candidate, DEFAULT_CRAWL, HOUR, type Outcome, outcomesKey, SECOND } from '@decorum/protocol'
import { POOL_AGENT } from './configuration.ts'
import type { Dice } from './dice.ts'
import type { Jobs } from './jobs.ts'
import type { Server } from './server.ts'
import type { Site } from './sites.ts'
import { START, type Timeline } from './timeline.ts'

/** URLs in a job, as the client makes them. */
const BATCH = 50
const READ_EVERY_MS = 1_000
/** A crawl that may be paused, and some that may be cancelled; most URLs are of neither. */
export const CRAWLS = { others: 'others', short: ['short-1', 'short-2', 'short-3', 'short-4'] } as const
const NAMES = [DEFAULT_CRAWL, CRAWLS.others, ...CRAWLS.short]
/** Of all URLs, those that are handed over at once. */
const AT_ONCE = 0.6
const PORTIONS = 24

export type FrontierOptions = {
  timeline: Timeline
  server: Server
  /** one queue for each partition that there is now */
  candidates: () => readonly Jobs<Candidate[]>[]
  dice: Dice
  sites: readonly Site[]
  /** so long the fleet has work at each site, if it keeps the permitted rate, ms */
  busyMs: number
  /** of all partitions, retired ones, too */
  tags: () => readonly string[]
  /** so often a URL is requested, for each time that it was handed over */
  maxAttempts: number
  /** one URL of so many is of the agent whose pages workers of a pool fetch; undefined: none */
  poolEvery: number | undefined
  /** one URL of so many has priority high */
  highEvery: number
  /** of ten URLs so many are of the default crawl */
  ofDefault: number
  /** hosts whose pace is not their own: they get fewer URLs */
  sharing: readonly string[]
}

/** `hasName`: it is handed over with its id; the others are known by their URL, and the fleet gives them one. */
type Known = Candidate & { id: string; hasName: boolean }
const candidateOf = ({ hasName, id, ...rest }: Known): Candidate => (hasName ? { id, ...rest } : rest)
/** One URL of so many has no id. */
const NAMELESS = 4

export class Frontier {
  readonly #options: FrontierOptions
  /** every URL that was handed over, by its id */
  readonly #known = new Map<string, Known>()
  /** those without a name, by URL */
  readonly #nameless = new Map<string, Known>()
  readonly #waiting = new Map<string, Known>()
  readonly #seen = new Map<string, number>()
  /** those that were handed over again after their outcome */
  readonly #again = new Set<string>()
  /** handed over twice in one job: two outcomes are right where it is not stored, such as what has expired by then */
  readonly #twiceInJob = new Set<string>()
  readonly #outcomes: Outcome[] = []
  readonly #wrong: string[] = []
  /** Redis forgot what became of these, or they were handed over again because it might have: a second outcome is no fault */
  readonly #mayRepeat = new Set<string>()
  readonly #last = new Map<string, string>()
  /** of redirects, without an outcome so far */
  readonly #targets = new Set<string>()
  #left = 0
  #hasForgotten = false
  #savedAt = 0
  /** id → when its outcome was read, and when it was handed over last */
  readonly #readAt = new Map<string, number>()
  readonly #pouredAt = new Map<string, number>()

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
    const most = (id: string): number => (this.#again.has(id) ? 2 : 1)
    return [...this.#seen].flatMap(([id, times]) => (times > most(id) && !this.#mayRepeat.has(id) ? [id] : []))
  }

  /** Outcomes that what the sites recorded does not bear out, in words. */
  untrue(requests: readonly RequestLine[], { untold, isSteady, isAtEase, isWhole, cancelledAt }: AboutRun): string[] {
    const { now } = this.#options.timeline
    const urlOf = ({ origin, path }: RequestLine): string => origin + path
    const byUrl = Map.groupBy(requests, urlOf)
    const answeredOf = Map.groupBy([...requests, ...untold], urlOf)
    const ended = new Map<string, { handedOver: number; ends: string[] }>()
    const wrong = [...this.#wrong]
    for (const { id, url, ...outcome } of this.#outcomes) {
      const instants = outcome.kind === 'fetched' ? [outcome.at, outcome.startedAt] : [outcome.at]
      if (isSteady && !instants.every((at) => at >= START - CLOCKS_MS && at <= now + CLOCKS_MS))
        wrong.push(`${id} ended at ${instants.join(' and ')}, which is not of this run`)
      const sum = ended.get(url) ?? { handedOver: this.#again.has(id) ? 2 : 1, ends: [] }
      sum.ends.push('reason' in outcome ? `${outcome.kind}: ${outcome.reason}` : outcome.kind)
      ended.set(url, sum)
      const answered = outcome.kind === 'fetched' || outcome.kind === 'redirected' ? outcome.status : undefined
      if (answered !== undefined && !answeredOf.get(url)?.some(({ status, cut }) => status === answered && !cut))
        wrong.push(`${id} was ${outcome.kind} with ${answered}, which ${url} never answered`)
      const cancelled = cancelledAt?.get(this.#known.get(id)?.crawl ?? DEFAULT_CRAWL)
      if (isAtEase && cancelled !== undefined && outcome.kind === 'refused' && outcome.reason === 'cancelled') {
        const tookMs = (this.#readAt.get(id) ?? 0) - cancelled
        const isOlder = (this.#pouredAt.get(id) ?? now) < cancelled - CANCELLED_MS
        // What a worker of a pool has taken is in flight until its lease is over, if that worker dies
        const mayBeTaken = outcome.agent === POOL_AGENT && outcome.attempts > 0
        if (isOlder && tookMs > CANCELLED_MS && !mayBeTaken)
          wrong.push(`${id} ended ${Math.round(tookMs / 1_000)} s after its crawl was cancelled`)
      }
      if (outcome.kind === 'disallowed' && !url.includes('/private/'))
        wrong.push(`${id} was disallowed, which ${url} is not`)
    }
    // Of what Redis has forgotten, the count begins anew
    if (this.#hasForgotten) return wrong
    for (const [url, { handedOver, ends }] of ended) {
      const made = byUrl.get(url)?.length ?? 0
      if (made > handedOver * this.#options.maxAttempts)
        wrong.push(`${url} was requested ${made} times (${ends.join(', ')})`)
      const answers = (byUrl.get(url) ?? []).filter(({ status, cut }) => ANSWERED.has(status) && !cut)
      const answered = answers.filter(({ agent }) => !agent.startsWith(POOL_AGENT)).length // a worker may not say what came
      if (isWhole && answered > ends.length)
        wrong.push(`${url} was answered ${answered} times, and has ${ends.length} outcomes (${ends.join(', ')})`)
    }
    return wrong
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
    this.#hasForgotten = true
    await this.#read()
    for (const [id, at] of this.#readAt) if (at >= this.#savedAt - READ_EVERY_MS) this.#mayRepeat.add(id)
    for (const id of this.#targets) this.#mayRepeat.add(id)
    this.#targets.clear() // whether the redirect comes again is the site's to say
    const again = [...this.#waiting.values()]
    for (const { id } of again) this.#mayRepeat.add(id)
    this.#pour(again)
  }

  #pour(urls: readonly Known[]): void {
    const { server, candidates, dice } = this.#options
    for (const url of urls) {
      this.#waiting.set(url.id, url)
      this.#known.set(url.id, url)
      this.#pouredAt.set(url.id, this.#options.timeline.now)
      if (!url.hasName) this.#nameless.set(url.url, url)
    }
    for (let at = 0; at < urls.length; at += BATCH) {
      // Candidates may come by the queue of another partition than that of their host, as they do after a change of the number
      const queue = dice.pick(candidates())
      const job = urls.slice(at, at + BATCH)
      const twice = job.filter(({ hasName }) => hasName && dice.below(30) === 0)
      for (const { id } of twice) this.#twiceInJob.add(id)
      server.whenUp(() => void queue.put([[...job, ...twice].map(candidateOf)]))
    }
  }

  /** A URL is visited once more. */
  #visitAgain(url: Known): void {
    this.#again.add(url.id)
    this.#pour([url])
  }

  #readOn(): void {
    this.#options.timeline.after(READ_EVERY_MS, 'the frontier reads', async () => {
      await this.#read()
      this.#readOn()
    })
  }

  async #read(): Promise<void> {
    const { server, tags, timeline, dice } = this.#options
    if (server.isStill) return
    const again: Known[] = []
    for (const tag of tags())
      for (const crawl of NAMES) {
        const key = outcomesKey(tag, crawl)
        const rows = await server.real.xrange(key, this.#last.get(key) ?? '-', '+')
        for (const [entry, fields] of rows) {
          this.#last.set(key, `(${entry}`)
          const said = JSON.parse(fields[1] as string) as Outcome
          const url = this.#known.get(said.id) ?? this.#nameless.get(said.url)
          const id = url?.id ?? said.id
          if (url !== undefined && (url.crawl ?? DEFAULT_CRAWL) !== crawl)
            this.#wrong.push(`the outcome of ${id} is among those of the crawl ${crawl}`)
          const outcome = { ...said, id }
          this.#outcomes.push(outcome)
          if (this.#twiceInJob.has(id) && outcome.attempts === 0) this.#mayRepeat.add(id)
          this.#waiting.delete(id)
          // Its target is a URL of its own, which has to have its outcome, too.
          if (outcome.kind === 'redirected' && !this.#seen.has(outcome.candidate)) this.#targets.add(outcome.candidate)
          this.#targets.delete(id)
          this.#readAt.set(id, timeline.now)
          this.#seen.set(id, (this.#seen.get(id) ?? 0) + 1)
          if (url?.hasName && outcome.kind === 'fetched' && !this.#again.has(id) && dice.below(25) === 0)
            again.push(url)
        }
      }
    for (const url of again) this.#visitAgain(url)
  }
}

/** What is known of a run when it is over. */
export type AboutRun = {
  /** answers of which the fleet was told late, or never */
  untold: readonly RequestLine[]
  /** the clock of Redis has never leapt: then instants of outcomes are of the world's time, however wrong the clocks of processes are */
  isSteady: boolean
  /** nothing has gone wrong; operators may have been at work */
  isAtEase: boolean
  /** each exchange has ended, and Redis has heard of it */
  isWhole: boolean
  /** crawl → when it was cancelled */
  cancelledAt: ReadonlyMap<string, number> | undefined
}

/** A gateway looks for URLs of cancelled crawls once a second. */
const CANCELLED_MS = 10_000
/** Answers after which a URL is not requested again. */
const ANSWERED: ReadonlySet<number> = new Set([200, 302, 403])
/** Instants of outcomes are as near to the time as that. */
const CLOCKS_MS = SECOND
/** Some URLs have at most so much time. */
const SHORT_LIFE_MS = 40 * SECOND

/** Hosts that share a pace are three (grouped.ts). */
const SHARED_BY = 3
/** Each site's URLs, in turns: so many that all sites are done at about the same time. */
function urlsOf({ sites, busyMs, dice, poolEvery, highEvery, ofDefault, sharing }: FrontierOptions): Known[] {
  const counts = sites.map(({ host, everyMs, origins }) =>
    Math.ceil(busyMs / everyMs / origins.length / (sharing.includes(host) ? SHARED_BY : 1)),
  )
  const urls: Known[] = []
  for (let n = 0; n < Math.max(...counts); n++)
    for (const [at, site] of sites.entries()) {
      if (n >= (counts[at] ?? 0)) continue
      for (const [port, origin] of site.origins.entries()) {
        const crawl = dice.below(10)
        urls.push({
          id: `${at}-${port}-${n}`,
          hasName: dice.below(NAMELESS) > 0,
          url: `${origin}/${n % 10 === 9 ? 'private/' : ''}${n}`,
          expiresAt: START + (dice.below(60) === 0 ? SECOND + dice.below(SHORT_LIFE_MS) : 24 * HOUR),
          ...(poolEvery !== undefined && dice.below(poolEvery) === 0 ? { agent: POOL_AGENT } : {}),
          ...(crawl >= 10 - ofDefault ? {} : { crawl: crawl % 3 === 2 ? dice.pick(CRAWLS.short) : CRAWLS.others }),
          ...(dice.below(highEvery) === 0 ? { priority: 'high' as const } : {}),
        })
      }
    }
  return urls
}
