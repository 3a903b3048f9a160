/**
 * Records which URLs of a crawl have their outcome. Pure. The URL of line 17 is the candidate `<run>-17`; the target of its redirect is a
 * separate candidate (`<run>-17~1`), which is waited for as well.
 */
import { type Outcome, readUrl } from '@decorum/protocol'

export type Counts = {
  total: number
  done: number
  byKind: Record<string, number>
  /** e.g. 'failed: dns' → 3, 'fetched: 404' → 7 */
  byReason: Record<string, number>
}

/** How an outcome relates to a crawl. `elsewhere`: it belongs to another crawl. `again`: already recorded. */
export type Recorded = 'new' | 'again' | 'elsewhere'

/** A redirect's target. Its outcome may arrive before that of the redirect, which gives `url` and `parent`. */
type Target = { isDone: boolean; url?: string; parent?: string }
/** A redirect's target without an outcome, as a candidate. */
export type WaitingTarget = { id: string; url: string; hops: number }

/** Longest chain of redirects from one line. */
const MAX_HOPS = 10

export class Tally {
  readonly #prefix: string
  #lines = 0
  /** number of the latest line; lines arrive in order, so all earlier ones have arrived */
  #lastLine = 0
  /** one bit per line number */
  #doneLines = new Uint8Array(1_024)
  done = 0
  /** known lines and targets without an outcome */
  left = 0
  readonly #targets = new Map<string, Target>()
  readonly #byKind = new Map<string, number>()
  readonly #byReason = new Map<string, number>()
  /** number of URLs without an outcome, by site */
  readonly pending = new Map<string, number>()
  /** number of URLs that a site answered, with any status */
  fetched = 0

  /** @param run  the crawl's id: letters and digits */
  constructor(run: string) {
    this.#prefix = `${run}-`
  }

  idOf(line: number): string {
    return `${this.#prefix}${line}`
  }

  /** The line of a candidate of this crawl, also of a redirect's target; undefined for others. */
  lineOf(id: string): number | undefined {
    if (!id.startsWith(this.#prefix)) return undefined
    const line = Number.parseInt(id.slice(this.#prefix.length), 10)
    return Number.isNaN(line) ? undefined : line
  }

  hasOutcome(line: number): boolean {
    return ((this.#doneLines[line >> 3] ?? 0) & (1 << (line & 7))) !== 0
  }

  /** A line has been read and its candidate is, or will be, stored. */
  expect(line: number, url: string): void {
    this.#add(line)
    if (!this.hasOutcome(line)) this.#wait(url, 1)
  }

  /** Skips a line that is not read in this run; lines that were already read are ignored. */
  leave(line: number): void {
    if (line > this.#lastLine) this.#add(line)
  }

  #add(line: number): void {
    this.#lines++
    this.#lastLine = line
    if (!this.hasOutcome(line)) this.left++
  }

  /** The outcomes that belong to this crawl and are not recorded yet, without duplicates. */
  newOf(outcomes: Iterable<Outcome>): Outcome[] {
    const found = new Map<string, Outcome>()
    for (const outcome of outcomes)
      if (this.judge(outcome.id) === 'new' && !found.has(outcome.id)) found.set(outcome.id, outcome)
    return [...found.values()]
  }

  /** How an outcome of that id would relate to the crawl. */
  judge(id: string): Recorded {
    const line = this.lineOf(id)
    if (line === undefined) return 'elsewhere'
    const isKnown = id === this.idOf(line) ? this.hasOutcome(line) : this.#targets.get(id)?.isDone === true
    return isKnown ? 'again' : 'new'
  }

  /** Outcomes may be delivered twice and in any order: a target's before its redirect's, a line's before expect(). */
  record(outcome: Outcome): Recorded {
    const judged = this.judge(outcome.id)
    if (judged !== 'new') return judged
    const { id } = outcome
    const line = this.lineOf(id) ?? 0
    const target = this.#targets.get(id)
    const isOwnLine = id === this.idOf(line)
    if (isOwnLine) this.#mark(line)
    else this.#targets.set(id, { ...target, isDone: true })
    this.done++
    if (isOwnLine ? line <= this.#lastLine : target !== undefined) {
      this.left--
      this.#wait(outcome.url, -1)
    }
    if (outcome.kind === 'redirected') this.#leadsTo(outcome.candidate, outcome.to, id)
    if (outcome.kind === 'fetched') this.fetched++
    count(this.#byKind, outcome.kind)
    const reason = reasonOf(outcome)
    if (reason !== undefined) count(this.#byReason, `${outcome.kind}: ${reason}`)
    return 'new'
  }

  #leadsTo(id: string, url: string, parent: string): void {
    const target = this.#targets.get(id)
    this.#targets.set(id, { isDone: target?.isDone ?? false, url, parent })
    if (target !== undefined) return
    this.left++
    this.#wait(url, 1)
  }

  /** Targets of redirects that have no outcome yet. */
  waitingTargets(): WaitingTarget[] {
    return [...this.#targets].flatMap(([id, { isDone, url }]) =>
      isDone || url === undefined ? [] : [{ id, url, hops: this.#hopsOf(id) }],
    )
  }

  /** Number of redirects before a target, whose parent is a line or another target. */
  #hopsOf(id: string): number {
    let hops = 0
    for (let at = this.#targets.get(id); at?.parent !== undefined && hops < MAX_HOPS; hops++)
      at = this.#targets.get(at.parent)
    return hops
  }

  /** Number of candidates so far: lines read and redirect targets found. */
  get total(): number {
    return this.#lines + this.#targets.size
  }

  get counts(): Counts {
    return {
      total: this.total,
      done: this.done,
      byKind: Object.fromEntries(this.#byKind),
      byReason: Object.fromEntries(this.#byReason),
    }
  }

  #mark(line: number): void {
    const at = line >> 3
    if (at >= this.#doneLines.length) {
      const wider = new Uint8Array(Math.max(at + 1, this.#doneLines.length * 2))
      wider.set(this.#doneLines)
      this.#doneLines = wider
    }
    this.#doneLines[at] = (this.#doneLines[at] ?? 0) | (1 << (line & 7))
  }

  #wait(url: string, by: 1 | -1): void {
    const at = readUrl(url)
    if ('refused' in at) return
    const waiting = (this.pending.get(at.origin) ?? 0) + by
    if (waiting <= 0) this.pending.delete(at.origin)
    else this.pending.set(at.origin, waiting)
  }
}

/** Status or reason of an outcome; undefined: its kind has neither. */
export function reasonOf(outcome: Outcome): string | undefined {
  switch (outcome.kind) {
    case 'fetched':
      return String(outcome.status)
    case 'failed':
    case 'expired':
    case 'invalid':
    case 'refused':
      return outcome.reason
    case 'redirected':
    case 'disallowed':
      return undefined
    default:
      return outcome satisfies never
  }
}

function count(map: Map<string, number>, key: string): void {
  map.set(key, (map.get(key) ?? 0) + 1)
}
