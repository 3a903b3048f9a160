/**
 * Which URLs of a crawl have their outcome. Pure. A URL of line 17 is the candidate `<run>-17`; what it redirects to is
 * a candidate of its own (`<run>-17~1`), and is waited for as well.
 */
import { type Outcome, readUrl } from '@decorum/protocol'

export type Counts = {
  total: number
  done: number
  byKind: Record<string, number>
  /** e.g. 'failed: dns' → 3, 'fetched: 404' → 7 */
  byReason: Record<string, number>
}

/** What recording an outcome has changed. `elsewhere`: not of this crawl. `again`: delivered before. */
export type Recorded = 'new' | 'again' | 'elsewhere'

export class Tally {
  readonly #prefix: string
  #lines = 0
  /** lines come in order, so one number says which of them have come */
  #lastLine = 0
  /** one bit per line number */
  #doneLines = new Uint8Array(1_024)
  #done = 0
  /** redirect targets: true when they have their outcome */
  readonly #targets = new Map<string, boolean>()
  readonly #byKind = new Map<string, number>()
  readonly #byReason = new Map<string, number>()
  /** URLs without outcome per site */
  readonly #pending = new Map<string, number>()
  #fetched = 0

  /** @param run  the crawl's own id: letters and digits */
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
    this.#lines++
    this.#lastLine = line
    if (!this.hasOutcome(line)) this.#wait(url, 1)
  }

  /** Outcomes may come twice and in any order: a target's before its redirect's, a line's before expect(). */
  record(outcome: Outcome): Recorded {
    const line = this.lineOf(outcome.id)
    if (line === undefined) return 'elsewhere'
    const ownLine = outcome.id === this.idOf(line)
    const target = ownLine ? undefined : this.#targets.get(outcome.id)
    if (ownLine ? this.hasOutcome(line) : target === true) return 'again'
    if (ownLine) this.#mark(line)
    else this.#targets.set(outcome.id, true)
    this.#done++
    if (ownLine ? line <= this.#lastLine : target === false) this.#wait(outcome.url, -1)
    if (outcome.kind === 'redirected' && !this.#targets.has(outcome.candidate)) {
      this.#targets.set(outcome.candidate, false)
      this.#wait(outcome.to, 1)
    }
    if (outcome.kind === 'fetched') this.#fetched++
    count(this.#byKind, outcome.kind)
    const reason = reasonOf(outcome)
    if (reason !== undefined) count(this.#byReason, `${outcome.kind}: ${reason}`)
    return 'new'
  }

  /** Candidates so far: lines read and redirect targets heard of. */
  get total(): number {
    return this.#lines + this.#targets.size
  }

  get done(): number {
    return this.#done
  }

  get left(): number {
    return this.total - this.#done
  }

  /** Answered by a site, whatever the status. */
  get fetched(): number {
    return this.#fetched
  }

  get counts(): Counts {
    return {
      total: this.total,
      done: this.#done,
      byKind: Object.fromEntries(this.#byKind),
      byReason: Object.fromEntries(this.#byReason),
    }
  }

  /** Sites with URLs that wait for their outcome, and how many. */
  get pending(): ReadonlyMap<string, number> {
    return this.#pending
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
    const waiting = (this.#pending.get(at.origin) ?? 0) + by
    if (waiting <= 0) this.#pending.delete(at.origin)
    else this.#pending.set(at.origin, waiting)
  }
}

function reasonOf(outcome: Outcome): string | undefined {
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
