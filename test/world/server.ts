/**
 * The real Redis as the world plays what happens to it: its clock is virtual and may leap, keys end by that clock, it goes away and comes
 * back, with all that it had or without its latest writes.
 */
import { ANNOUNCED, EPOCH, keysOf } from '@decorum/ledger/testing'
import type { Redis } from 'ioredis'
import type { Call } from './calls.ts'
import type { Dice } from './dice.ts'
import type { Process } from './process.ts'
import { END_KEYS, type Notes, notesIn, played } from './redis-lua.ts'
import type { Timeline } from './timeline.ts'

/** Keys end so often; a key outlives its time by as much. */
const ENDS_EVERY_MS = 1_000

const SAVED = 'world:saved:'
const SAVE = `
for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', key, '${SAVED}' .. key) end`
const RESTORE = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  if string.sub(key, 1, ${SAVED.length}) ~= '${SAVED}' then redis.call('UNLINK', key) end
end
for _, key in ipairs(redis.call('KEYS', '${SAVED}*')) do redis.call('RENAME', key, string.sub(key, ${SAVED.length + 1})) end`
const FORGET = `
for _, key in ipairs(redis.call('KEYS', '${SAVED}*')) do redis.call('UNLINK', key) end`

export type Observer = {
  /** a script of the ledger has run */
  ran(call: Call, process: Process): void
  /** it found these cells of the table of gates closed */
  closed(cells: readonly string[]): void
  /** it has told who listens that a lane is due earlier than was known */
  woke(channel: string): void
}

export class Server {
  readonly timeline: Timeline
  readonly real: Redis
  /** of the network between processes and Redis */
  readonly dice: Dice
  readonly observer: Observer
  /** in place of a script of the ledger: a fault that was put in */
  readonly script: (name: string, lua: string) => string
  /** counts its lives: connections of an earlier one are broken */
  life = 0
  #isAway = false
  hangsUntil = 0
  #leapMs = 0
  /** of all partitions, retired ones, too */
  tags: readonly string[]
  readonly #listeners = new Set<(channel: string) => void>()
  readonly #onUp = new Set<() => void>()

  constructor(
    timeline: Timeline,
    real: Redis,
    dice: Dice,
    observer: Observer,
    script: (name: string, lua: string) => string,
    tags: readonly string[],
  ) {
    this.timeline = timeline
    this.real = real
    this.dice = dice
    this.observer = observer
    this.script = (name, lua) => played(script(name, lua))
    this.tags = tags
    const end = (): void => {
      timeline.after(ENDS_EVERY_MS, 'keys end', async () => {
        await real.eval(END_KEYS, 0, this.time())
        end()
      })
    }
    end()
  }

  get isAway(): boolean {
    return this.#isAway
  }

  /** It runs no command now: it is away, or it stands still, and what comes meanwhile waits. */
  get isStill(): boolean {
    return this.#isAway || this.hangsUntil > this.timeline.now
  }

  /** SIGSTOP, and SIGCONT after `ms`: no connection ends. */
  hang(ms: number): void {
    this.hangsUntil = this.timeline.now + ms
    this.timeline.note(`Redis hangs for ${ms.toFixed(0)} ms`)
    this.timeline.after(ms, 'Redis goes on', () => this.#isUp())
  }

  #isUp(): void {
    if (this.isStill) return
    for (const act of this.#onUp) act()
    this.#onUp.clear()
  }

  /** What the clock of the server shows, ms. */
  time(): number {
    return this.timeline.now + this.#leapMs
  }

  /** Its clock is set by so much. */
  leap(ms: number): void {
    this.#leapMs += ms
  }

  /** Takes the world's notes off the reply of a script, and does what they say. */
  noted(reply: unknown): Notes {
    const notes = notesIn(reply)
    if (notes.cells.length > 0) this.observer.closed(notes.cells)
    for (const channel of notes.wakes) {
      this.observer.woke(channel)
      for (const listener of this.#listeners) listener(channel)
    }
    return notes
  }

  /** What is published, as it leaves the server. @returns ends it */
  listen(listener: (channel: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls back once, at once or when the server runs commands again. */
  whenUp(act: () => void): void {
    if (!this.isStill) act()
    else this.#onUp.add(act)
  }

  /** What is written now is what it has after a crash that loses what comes after. */
  async save(): Promise<void> {
    await this.real.eval(FORGET, 0)
    await this.real.eval(SAVE, 0)
  }

  /** As `decorum ledger partitions --restart`, for which the fleet is stopped and every lease has ended. */
  async announceRestart(): Promise<void> {
    for (const tag of this.tags) await this.real.hset(keysOf(tag).epoch, EPOCH.restartAnnounced, ANNOUNCED.plain)
  }

  stop(): void {
    this.#isAway = true
    this.life++
    this.timeline.note('Redis is away')
  }

  /** @param from  all: it lost nothing; saved: what came after `save` is lost */
  async start(from: 'all' | 'saved'): Promise<void> {
    if (from === 'saved') await this.real.eval(RESTORE, 0)
    for (const tag of this.tags) {
      const { epoch } = keysOf(tag)
      if ((await this.real.exists(epoch)) === 1) await this.real.hset(epoch, EPOCH.run, 'the run before')
    }
    this.#isAway = false
    this.timeline.note(`Redis is back with ${from}`)
    this.#isUp()
  }
}
