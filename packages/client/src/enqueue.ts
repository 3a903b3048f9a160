/** ① Candidates in: cut into jobs of about a hundred, each to the partition of its host. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisLink } from '@decorum/ledger'
import {
  CANDIDATES,
  type Candidate,
  frontierJob,
  hostOf,
  JOB_NAMES,
  MAX_URL_CHARS,
  partitionOf,
  queueOptions,
  readUrl,
} from '@decorum/protocol'
import { Queue } from 'bullmq'
import { within } from './connection.ts'
import { FrontierUnavailableError } from './errors.ts'

/** Candidates per job: where a job's cost has become small (measured: 0.5 µs of Redis per URL). */
const BATCH = 100
/** Jobs per round trip. */
const JOBS_AT_ONCE = 10
/** A trickle of candidates is not kept waiting for its batch to fill, ms. */
const LINGER_MS = 100
const CALL_MS = 10_000
const AGAIN_MS = 500

/** What BullMQ is given: its data, and an id under which it takes the same job once. */
type Job = { name: string; data: { candidates: unknown[] }; opts: { jobId: string; removeOnComplete: true } }

export class Intake {
  readonly #queues: Queue[]
  readonly #patienceMs: number
  readonly #run = randomBytes(8).toString('hex')
  #jobs = 0
  #closed = false

  constructor(redis: RedisLink, tags: string[], patienceMs: number) {
    this.#patienceMs = patienceMs
    this.#queues = tags.map((tag) => new Queue(CANDIDATES, { connection: redis, ...queueOptions(tag) }))
    for (const queue of this.#queues) queue.on('error', () => undefined) // each call says so itself
  }

  async enqueue(candidates: Iterable<Candidate> | AsyncIterable<Candidate>): Promise<{ count: number }> {
    let count = 0
    const filling = this.#queues.map((): unknown[] => [])
    const full: { partition: number; job: Job }[] = []
    const close = (partition: number): void => {
      const batch = filling[partition]
      if (batch === undefined || batch.length === 0) return
      filling[partition] = []
      full.push({ partition, job: this.#job(batch) })
    }
    const closeAll = (): void => {
      for (const partition of filling.keys()) close(partition)
    }
    const source = Symbol.asyncIterator in candidates ? impatient(candidates) : candidates
    for await (const candidate of source) {
      if (candidate === PAUSE) closeAll()
      else {
        const partition = this.#partitionOf(candidate)
        if (filling[partition]?.push(sendable(candidate, count)) === BATCH) close(partition)
        count++
      }
      if (full.length >= JOBS_AT_ONCE || (candidate === PAUSE && full.length > 0)) await this.#store(full.splice(0))
    }
    closeAll()
    await this.#store(full)
    return { count }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#queues.map((queue) => queue.close()))
  }

  /** The partition of its host; what has none becomes an `invalid` outcome in the first. */
  #partitionOf(candidate: Candidate): number {
    const at = typeof candidate?.url === 'string' ? readUrl(candidate.url) : { refused: true }
    return 'refused' in at ? 0 : partitionOf(hostOf(at.origin), this.#queues.length)
  }

  #job(candidates: unknown[]): Job {
    return {
      name: JOB_NAMES.candidates,
      data: { candidates },
      opts: { jobId: frontierJob(this.#run, ++this.#jobs), removeOnComplete: true },
    }
  }

  async #store(full: { partition: number; job: Job }[]): Promise<void> {
    const byPartition = Map.groupBy(full, ({ partition }) => partition)
    await Promise.all(
      [...byPartition].map(([partition, some]) =>
        this.#add(
          partition,
          some.map(({ job }) => job),
        ),
      ),
    )
  }

  /** Again under the same job ids while patience lasts: a job whose reply was lost is taken once all the same. */
  async #add(partition: number, jobs: Job[]): Promise<void> {
    const queue = this.#queues[partition]
    if (queue === undefined) throw new RangeError(`there is no partition ${partition}`)
    const until = performance.now() + this.#patienceMs
    for (;;) {
      try {
        await within(CALL_MS, queue.addBulk(jobs))
        return
      } catch (error) {
        if (this.#closed || performance.now() + AGAIN_MS >= until)
          throw new FrontierUnavailableError('the candidates could not be stored', error)
        await sleep(AGAIN_MS)
      }
    }
  }
}

/** What JSON can carry. An endless URL is refused unread by the gateway, so its rest need not travel. */
function sendable(candidate: Candidate, position: number): unknown {
  const url: unknown = candidate?.url
  const cut =
    typeof url === 'string' && url.length > MAX_URL_CHARS
      ? { ...candidate, url: url.slice(0, MAX_URL_CHARS + 1) }
      : candidate
  try {
    if (JSON.stringify(cut) !== undefined) return cut
  } catch (error) {
    throw new TypeError(`candidate ${position} cannot be written as JSON: ${(error as Error).message}`)
  }
  throw new TypeError(`candidate ${position} cannot be written as JSON`)
}

const PAUSE = Symbol('nothing came for a while')

/** The same members, with a PAUSE wherever the next one lets wait. */
async function* impatient(source: AsyncIterable<Candidate>): AsyncGenerator<Candidate | typeof PAUSE> {
  const iterator = source[Symbol.asyncIterator]()
  let timer: NodeJS.Timeout | undefined
  try {
    for (;;) {
      const next = iterator.next()
      const pause = new Promise<typeof PAUSE>((resolve) => {
        timer = setTimeout(resolve, LINGER_MS, PAUSE)
      })
      const first = await Promise.race([next, pause])
      clearTimeout(timer)
      if (first === PAUSE) yield PAUSE
      const { done, value } = first === PAUSE ? await next : first
      if (done) return
      yield value
    }
  } finally {
    clearTimeout(timer)
    await iterator.return?.()
  }
}
