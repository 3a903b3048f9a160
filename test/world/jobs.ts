/**
 * A queue of BullMQ, as the world plays its border: jobs are there when they have arrived, each is given to one worker at a time, and one whose worker has
 * died comes again after its lock, or never (`maxStalledCount: 0` of orders). What this leaves out, such as BullMQ's own scripts, delayed
 * jobs and renewed locks, is tested by the real processes of test/faults and test/gateway.
 */
import type { Wire } from './link.ts'
import type { Process } from './process.ts'
import type { Server } from './server.ts'
import type { Timeline } from './timeline.ts'

type Job<T> = { id: string; data: T }
type Taker<T> = {
  process: Process
  wire: Wire
  most: () => number
  /** given to it, and not done */
  jobs: Set<Job<T>>
  work: (job: Job<T>) => Promise<void>
}

const LEAST_MS = 0.2
const MOST_MS = 2
const CLOSING_LOOK_MS = 50

export class Jobs<T> {
  readonly #timeline: Timeline
  readonly #server: Pick<Server, 'isStill' | 'whenUp'>
  readonly name: string
  readonly #lockMs: number | undefined
  #waiting: Job<T>[] = []
  #saved: { waiting: Job<T>[]; given: Job<T>[] } = { waiting: [], given: [] }
  readonly #takers: Taker<T>[] = []
  /** given to a worker once, and not done */
  readonly #begun = new Set<Job<T>>()
  #count = 0
  #turn = 0
  #dealsAt = 0

  /** @param lockMs  after the death of its worker a job comes again after so long; undefined: never */
  constructor(
    timeline: Timeline,
    server: Pick<Server, 'isStill' | 'whenUp'>,
    name: string,
    lockMs: number | undefined,
  ) {
    this.#timeline = timeline
    this.#server = server
    this.name = name
    this.#lockMs = lockMs
  }

  get waiting(): number {
    return this.#waiting.length
  }
  /** some job may be half done */
  get isBegun(): boolean {
    return this.#begun.size > 0
  }

  /** With the Redis that they are in. */
  save(): void {
    this.#saved = { waiting: [...this.#waiting], given: this.#takers.flatMap(({ jobs }) => [...jobs]) }
  }

  /** That Redis has lost what came after `save`. Jobs that were done since are there again. */
  restore(): void {
    this.#waiting = [...this.#saved.waiting]
    for (const job of this.#saved.given) this.#comeAgain(job)
    this.#deal()
  }

  /** The jobs are there. */
  put(all: readonly T[]): Job<T>[] {
    const jobs = all.map((data) => ({ id: String(++this.#count), data }))
    this.#waiting.push(...jobs)
    this.#deal()
    return jobs
  }

  /**
   * As `addBulk` of BullMQ for a process: resolves when Redis has said that they are there. Where its reply is lost, the command is sent again by the
   * connection (`away: 'wait'`), and the jobs are there twice.
   */
  add(process: Process, wire: Wire, all: readonly T[]): Promise<Job<T>[]> {
    const { dice } = process
    return new Promise((resolve) => {
      const arrive = (): void => {
        if (wire.deafUntil > this.#timeline.now) this.put(all)
        const jobs = this.put(all)
        this.#timeline.after(dice.between(LEAST_MS, MOST_MS), `has added to ${this.name}`, () => resolve(jobs), process)
      }
      const leave = (): void => {
        const atMs = Math.max(0, wire.cutUntil - this.#timeline.now) + wire.slowMs
        this.#timeline.after(
          atMs + dice.between(LEAST_MS, MOST_MS),
          `${process.name} adds ${all.length} to ${this.name}`,
          () => this.#server.whenUp(arrive),
        )
      }
      process.whenRunning(leave)
    })
  }

  /** A worker, until its process dies. @param most  jobs at once. @returns closes it: resolves when it has done what it was given */
  take(process: Process, wire: Wire, most: () => number, work: (job: Job<T>) => Promise<void>): () => Promise<void> {
    const taker: Taker<T> = { process, wire, most, jobs: new Set(), work }
    this.#takers.push(taker)
    const leave = (): void => {
      const at = this.#takers.indexOf(taker)
      if (at >= 0) this.#takers.splice(at, 1)
    }
    process.onDeath(() => {
      leave()
      for (const job of taker.jobs) this.#comeAgain(job)
    })
    this.#deal()
    return async () => {
      leave()
      while (taker.jobs.size > 0) await process.clock.sleep(CLOSING_LOOK_MS)
    }
  }

  #deal(): void {
    if (this.#server.isStill) {
      this.#server.whenUp(() => this.#deal())
      return
    }
    for (let tries = this.#takers.length; tries > 0 && this.#waiting.length > 0; tries--) {
      const taker = this.#takers[this.#turn++ % this.#takers.length]
      if (taker === undefined || taker.process.isFrozen || taker.jobs.size >= taker.most()) continue
      if (taker.wire.cutUntil > this.#timeline.now) {
        this.#dealAt(taker.wire.cutUntil)
        continue
      }
      const job = this.#waiting.shift() as Job<T>
      taker.jobs.add(job)
      this.#begun.add(job)
      tries = this.#takers.length + 1
      this.#give(job, taker)
    }
  }

  /** A worker that cannot reach Redis takes no job until then. */
  #dealAt(instant: number): void {
    if (this.#dealsAt >= instant) return
    this.#dealsAt = instant
    this.#timeline.at(instant, `${this.name}: a worker is back`, () => this.#deal())
  }

  #comeAgain(job: Job<T>): void {
    if (this.#lockMs === undefined) return
    this.#timeline.after(this.#lockMs, `job ${job.id} of ${this.name} comes again`, () => {
      this.#waiting.push(job)
      this.#deal()
    })
  }

  #give(job: Job<T>, taker: Taker<T>): void {
    const { process } = taker
    const begin = (): void => {
      const end = (): void => {
        taker.jobs.delete(job)
        this.#begun.delete(job)
        this.#deal()
      }
      void taker.work(job).then(end, end)
    }
    this.#timeline.after(process.dice.between(LEAST_MS, MOST_MS), `has job ${job.id} of ${this.name}`, begin, process)
  }
}
