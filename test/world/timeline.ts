/**
 * Virtual time: everything that happens in a world is an event of one queue, and time leaps from one to the next. What code does between
 * two events (promises that settle each other) takes no time. So a run is decided by its seed alone.
 */
import { createHash } from 'node:crypto'
import { nextTick } from 'node:process'

/** When a world begins, ms since 1970 UTC: later than the clock of any machine that runs it, so that nothing real looks new. */
export const START = 1_900_000_000_000

/** Whose code an event runs: a process (process.ts), as the timeline sees it. */
export type Owner = {
  readonly name: string
  readonly isAlive: boolean
  readonly isFrozen: boolean
  /** an event that has come while it stood still */
  keep(event: Event): void
}

export type Event = {
  readonly at: number
  readonly order: number
  readonly label: string
  /** whose code it runs; undefined: the world's own */
  readonly of: Owner | undefined
  /** a timer of the process; a process that was frozen sees to these before its sockets, as Node does */
  readonly isTimer: boolean
  run: (() => unknown) | undefined
}

export class Timeline {
  now = START
  /** events so far */
  count = 0
  readonly #heap: Event[] = []
  readonly #trace = createHash('sha256')
  /** lines that are not in the hash yet */
  #lines = ''
  #order = 0
  /** whose event runs, undefined between events and in events of the world's own */
  running: Owner | undefined
  /** asked before each event of a process */
  before: (event: Event, process: Owner) => void = () => undefined
  /** told each event: for whoever looks for the place where two runs part */
  onEvent: ((line: string) => void) | undefined

  /** `run` may be awaited: for what really happens outside, such as a command in Redis. Nothing else happens meanwhile. */
  at(instant: number, label: string, run: () => unknown, of?: Owner, isTimer = false): Event {
    const event = { at: Math.max(instant, this.now), order: this.#order++, label, of, isTimer, run }
    this.#push(event)
    return event
  }

  after(ms: number, label: string, run: () => unknown, of?: Owner, isTimer = false): Event {
    return this.at(this.now + ms, label, run, of, isTimer)
  }

  /** Writes a line into what two runs of one seed must have in common. */
  note(line: string): void {
    const text = `${Math.round((this.now - START) * 1_000)} ${line}\n`
    this.#lines += text
    if (this.#lines.length > LINES_AT_ONCE) this.#hashLines()
    this.onEvent?.(text)
  }

  #hashLines(): void {
    this.#trace.update(this.#lines)
    this.#lines = ''
  }

  /** Goes on until `isOver` says so, or nothing is left to happen before `until`. */
  async run(until: number, isOver: () => boolean): Promise<void> {
    await settled()
    while (!isOver()) {
      const event = this.#pop()
      if (event === undefined || event.at > until) break
      if (event.run === undefined) continue
      this.now = event.at
      if (event.of !== undefined && !this.#mayRun(event, event.of)) continue
      this.count++
      this.note(`${event.of?.name ?? 'world'} ${event.label}`)
      this.running = event.of
      const work = event.run()
      if (work instanceof Promise) await work
      await settled()
      this.running = undefined
    }
    if (!isOver() && this.now < until) this.now = until
  }

  /** Not in a process that is dead, or stands still: then it comes when that goes on. */
  #mayRun(event: Event, process: Owner): boolean {
    if (process.isAlive && !process.isFrozen) this.before(event, process)
    if (process.isAlive && process.isFrozen) process.keep(event)
    return process.isAlive && !process.isFrozen
  }

  /** What all that has happened comes to. */
  hash(): string {
    this.#hashLines()
    return this.#trace.copy().digest('hex')
  }

  #push(event: Event): void {
    const heap = this.#heap
    let at = heap.push(event) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      const other = heap[above] as Event
      if (!isEarlier(event, other)) break
      heap[at] = other
      at = above
    }
    heap[at] = event
  }

  #pop(): Event | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isEarlier(heap[below + 1] as Event, heap[below] as Event)) below++
      const other = heap[below] as Event
      if (!isEarlier(other, last)) break
      heap[at] = other
      at = below
    }
    heap[at] = last
    return first
  }
}

const isEarlier = (one: Event, other: Event): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

/** Hashing long texts costs a tenth of what hashing each line costs. */
const LINES_AT_ONCE = 1 << 16

/** When all promises that could settle have settled: Node looks at this queue once it has none left. A turn of the event loop would cost ten times as much. */
const settled = (): Promise<void> => new Promise(nextTick)
