/** A process of the world: a name, a clock of its own, and what a kill or a stop of it means. */
import type { Clock, Timer } from '@decorum/protocol'
import type { Dice } from './dice.ts'
import type { Event, Timeline } from './timeline.ts'

/** Of packages/runtime: a process that has not been heard of for so long is killed, and how often that is looked at. */
const SILENCE_MS = 5_000
const WATCH_EVERY_MS = 750
/** Clocks that nobody slews differ by up to 0.05 % (packages/ledger/src/redis-clock.ts). */
const MOST_DRIFT = 0.0005

export class Process {
  readonly name: string
  readonly clock: Clock
  readonly dice: Dice
  /** what it does when it is asked to stop; it ends when that is done */
  stop: (() => Promise<void>) | undefined
  readonly #timeline: Timeline
  #isAlive = true
  #isFrozen = false
  /** when it last went on after it had stood still */
  thawedAt = 0
  readonly #isWatched: boolean
  /** what the clock of its machine shows beside the true time, ms; and how much faster than time its monotonic one runs */
  readonly #wrongMs: number
  readonly #rate: number
  #kept: Event[] = []
  readonly #ends: (() => void)[] = []

  /** @param isWatched  it has a supervisor (packages/runtime/src/supervise.ts), which kills it when it is silent */
  constructor(name: string, timeline: Timeline, dice: Dice, isWatched = false) {
    this.name = name
    this.dice = dice
    this.#timeline = timeline
    const about = dice.apart('clock')
    this.#wrongMs = about.pick([0, 0, 3_600_000, -3_600_000, 86_400_000, -250]) * about.between(0.5, 1)
    this.#rate = 1 + about.between(-MOST_DRIFT, MOST_DRIFT)
    this.clock = this.#clockOf()
    this.#isWatched = isWatched
  }

  get isAlive(): boolean {
    return this.#isAlive
  }
  get isFrozen(): boolean {
    return this.#isFrozen
  }

  /** Does something at a border of the process: not when it is dead, and later when it stands still. */
  whenRunning(act: () => void): void {
    if (!this.#isAlive) return
    if (this.#isFrozen)
      this.#kept.push({ at: 0, order: 0, label: 'what was under way', of: this, isTimer: false, run: act })
    else act()
  }

  /** What another process sees when this one dies: its connections end. */
  onDeath(end: () => void): void {
    this.#ends.push(end)
  }

  /** SIGKILL: none of its code runs any more. */
  kill(): void {
    if (!this.#isAlive) return
    this.#isAlive = false
    this.#kept = []
    this.#timeline.note(`${this.name} is killed`)
    for (const end of this.#ends.splice(0)) end()
  }

  /** SIGTERM. @param patienceMs  whoever stops it kills it then */
  end(patienceMs: number): void {
    const { stop } = this
    if (!this.#isAlive || this.#isFrozen || stop === undefined) return
    this.stop = undefined
    this.#timeline.note(`${this.name} is stopped`)
    const kill = (): void => this.kill()
    this.clock.soon(() => void stop().then(kill, kill))
    this.#timeline.after(patienceMs, `${this.name} has been stopped for long`, kill)
  }

  /** SIGSTOP, and SIGCONT after `ms`. Time goes on meanwhile. */
  freeze(ms: number): void {
    if (!this.#isAlive || this.#isFrozen) return
    this.#isFrozen = true
    this.#timeline.note(`${this.name} stands still for ${ms.toFixed(0)} ms`)
    const silentMs = SILENCE_MS + this.dice.between(0, WATCH_EVERY_MS)
    if (this.#isWatched && ms > silentMs) this.#timeline.after(silentMs, `${this.name} is silent`, () => this.kill())
    else this.#timeline.after(ms, `${this.name} goes on`, () => this.#thaw())
  }

  /** An event that has come while it stood still. */
  keep(event: Event): void {
    this.#kept.push(event)
  }

  #thaw(): void {
    if (!this.#isAlive) return
    this.#isFrozen = false
    this.thawedAt = this.#timeline.now
    const kept = this.#kept
    this.#kept = []
    for (const isTimer of [true, false])
      for (const event of kept)
        if (event.isTimer === isTimer) this.#timeline.after(0, event.label, () => event.run?.(), this, isTimer)
  }

  #clockOf(): Clock {
    const timeline = this.#timeline
    const started = timeline.now
    const rate = this.#rate
    const wrongMs = this.#wrongMs
    const cancel = (timer: Timer | undefined): void => {
      if (timer !== undefined) (timer as VirtualTimer).end()
    }
    const timeout = (act: () => void, ms: number): VirtualTimer => {
      const timer = new VirtualTimer()
      timer.event = timeline.after(Math.max(1, Math.trunc(ms) || 0) / rate, 'timer', act, this, true)
      return timer
    }
    return {
      machine: () => Math.floor(timeline.now + wrongMs),
      monotonic: () => (timeline.now - started) * rate + 1_000,
      timeout,
      interval: (act, ms) => {
        const timer = new VirtualTimer()
        const next = (): void => {
          timer.event = timeline.after(
            Math.max(1, Math.trunc(ms)) / rate,
            'interval',
            () => {
              next()
              act()
            },
            this,
            true,
          )
        }
        next()
        return timer
      },
      soon: (act) => void timeline.after(0, 'soon', act, this),
      cancel,
      sleep: (ms, { signal } = {}) =>
        new Promise((resolve) => {
          if (signal?.aborted) return resolve()
          const end = (): void => {
            cancel(timer)
            signal?.removeEventListener('abort', end)
            resolve()
          }
          const timer = timeout(end, Math.ceil(ms))
          signal?.addEventListener('abort', end)
        }),
      random: () => this.dice.next(),
    }
  }
}

class VirtualTimer implements Timer {
  event: Event | undefined
  unref(): Timer {
    return this
  }
  end(): void {
    if (this.event !== undefined) this.event.run = undefined
  }
}
