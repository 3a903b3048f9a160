/** ① Candidates in: they are cut into jobs of about a hundred, and each job goes to the partition of its hosts. */
import { randomBytes } from 'node:crypto'
import {
  HEADROOM,
  isBeyondShare,
  memoryOf,
  type RedisLink,
  type StoredUrls,
  shareToCome,
  storedUrls,
} from '@decorum/ledger'
import {
  CANDIDATES,
  type Candidate,
  type Clock,
  crawlField,
  frontierJob,
  hostOf,
  JOB_NAMES,
  MAX_URL_CHARS,
  partitionOf,
  queueOptions,
  readUrl,
  type Timer,
} from '@decorum/protocol'
import { addJobs, Queue } from '@decorum/protocol/bullmq'
import { within } from '@decorum/protocol/within'
import type { Span } from '@opentelemetry/api'
import { FrontierUnavailableError } from './errors.ts'
import type { Partitions } from './partitions.ts'
import { endSpan, traced } from './traced.ts'

/** Candidates per job: at this size the cost of the job itself is small (measured: 0.5 µs of Redis per URL). */
const BATCH = 100
/** Jobs per round trip. */
const JOBS_AT_ONCE = 10
/** A batch that does not fill is sent after this time, ms. */
const LINGER_MS = 100
const CALL_MS = 10_000
const AGAIN_MS = 500
/** How often the memory of Redis is checked while candidates are added, ms. */
const ROOM_MS = 1_000

/** Candidates of one partition that become one job. `id`: of the job, which is stored only once under it. */
type Batch = { tag: string; id: string; candidates: unknown[]; spans: Span[] }
/** Shares of maxmemory that Redis uses and will use; and the number of stored URLs of each crawl, which decides near the limit. */
type Room = { share: number; toCome: number; stored: StoredUrls }

export type Intake = {
  enqueue(candidates: Iterable<Candidate> | AsyncIterable<Candidate>): Promise<{ count: number }>
  close(): Promise<void>
}

/** @param crawl  the crawl of candidates that name none */
export function intakeTo(redis: RedisLink, partitions: Partitions, patienceMs: number, crawl: string): Intake {
  const { clock } = partitions
  const ofCrawl = crawlField(crawl)
  /** queues by the tag of their partition */
  const queues = new Map<string, Queue>()
  const run = randomBytes(8).toString('hex')
  let jobCount = 0
  let room: { at: number; measure: Promise<Room> } | undefined
  let isClosed = false

  async function enqueue(candidates: Iterable<Candidate> | AsyncIterable<Candidate>): Promise<{ count: number }> {
    let count = 0
    /** by the tag of their partition */
    const filling = new Map<string, Batch>()
    let full: Batch[] = []
    const storeFull = async (): Promise<void> => {
      const some = full
      full = []
      await store(some)
      await partitions.recent()
    }
    const storeAll = (): Promise<void> => {
      full.push(...filling.values())
      filling.clear()
      return storeFull()
    }
    await partitions.recent()
    const source = Symbol.asyncIterator in candidates ? impatient(clock, candidates) : candidates
    for await (const candidate of source) {
      if (candidate === PAUSE) {
        await storeAll()
        continue
      }
      const tag = tagOf(candidate)
      const batch = filling.get(tag) ?? { tag, id: frontierJob(run, ++jobCount), candidates: [], spans: [] }
      filling.set(tag, batch)
      const { span, traceparent } = traced(candidate)
      if (span !== undefined) batch.spans.push(span)
      const sent = traceparent === undefined ? candidate : { ...candidate, traceparent }
      if (batch.candidates.push(sendable(sent, count++)) < BATCH) continue
      filling.delete(tag)
      if (full.push(batch) >= JOBS_AT_ONCE) await storeFull()
    }
    await storeAll()
    return { count }
  }

  /** Chooses the partition by the host. A candidate without a host becomes an `invalid` outcome in the first partition. */
  function tagOf(candidate: Candidate): string {
    const { tags } = partitions
    const at = typeof candidate?.url === 'string' ? readUrl(candidate.url) : { refused: true }
    return tags['refused' in at ? 0 : partitionOf(hostOf(at.origin), tags.length)] as string
  }

  function queueOf(tag: string): Queue {
    let queue = queues.get(tag)
    if (queue === undefined) {
      queue = new Queue(CANDIDATES, { connection: redis, ...queueOptions(tag) })
      queue.on('error', () => undefined) // each call reports its own error
      queues.set(tag, queue)
    }
    return queue
  }

  async function store(batches: Batch[]): Promise<void> {
    const stored = [...Map.groupBy(batches, ({ tag }) => tag)].map(([tag, some]) =>
      add(tag, some).then(
        () => endSpans(some),
        (error: unknown) => {
          endSpans(some, error)
          throw error
        },
      ),
    )
    await Promise.all(stored)
  }

  /** Repeats the call under the same job ids until the patience is over. A job whose reply was lost is still stored only once. */
  async function add(tag: string, batches: Batch[]): Promise<void> {
    const jobs = batches.map(({ id, candidates }) => ({
      name: JOB_NAMES.candidates,
      data: { ...ofCrawl, candidates },
      opts: { jobId: id, removeOnComplete: true },
    }))
    const until = clock.monotonic() + patienceMs
    for (;;) {
      const queue = queueOf(tag)
      try {
        await checkRoom(batches)
        await within(clock, addJobs(queue, jobs), CALL_MS)
        return
      } catch (error) {
        // A queue that was made while Redis was unavailable may never become ready, so the next try makes a new one.
        queues.delete(tag)
        queue.close().catch(() => undefined)
        if (isClosed || clock.monotonic() + AGAIN_MS >= until)
          throw new FrontierUnavailableError('the candidates could not be stored', error)
        await clock.sleep(AGAIN_MS)
      }
    }
  }

  /**
   * Keeps some memory of Redis free: if Redis were full, nothing could be fetched, and only fetching frees memory.
   * @throws when little is left, or when memory is short and one of the crawls has more than its share
   */
  async function checkRoom(batches: readonly Batch[]): Promise<void> {
    const now = clock.monotonic()
    if (room === undefined || now - room.at >= ROOM_MS) room = { at: now, measure: measure() }
    const { share, toCome, stored } = await room.measure
    const used = `Redis uses ${Math.floor(share * 100)} % of its maxmemory`
    if (share >= HEADROOM.intake)
      throw new Error(
        `${used}: URLs are taken in below ${HEADROOM.intake * 100} %, when others have left and outcomes have been read`,
      )
    if (stored.size === 0) return
    const crawls = batches.flatMap(({ candidates }) => candidates.map((candidate) => crawlOf(candidate, crawl)))
    const beyond = [...new Set(crawls)].find((one) => isBeyondShare(stored, one))
    if (beyond !== undefined)
      throw new Error(
        `${used}, ${Math.floor(toCome * 100)} % when all hosts with URLs have been visited, and the crawl ${beyond} has more than its share of it, ${stored.get(beyond)} URLs: more are taken in when some have left, or below ${HEADROOM.shares * 100} %`,
      )
  }

  /** All zero if the server does not report its memory: it refuses writes itself when it is full. */
  async function measure(): Promise<Room> {
    const { tags } = partitions
    const deadline = { clock, ms: CALL_MS }
    const empty = { share: 0, toCome: 0, stored: new Map() }
    const memory = await memoryOf(redis, deadline).catch(() => undefined)
    if (memory === undefined) return empty
    const { share } = memory
    // Visited hosts will need at most as much again as their URLs use now, so below half of the limit the limit cannot be reached.
    if (share < HEADROOM.shares / 2 || share >= HEADROOM.intake) return { ...empty, share }
    try {
      const toCome = await shareToCome(redis, tags, memory, deadline)
      if (toCome < HEADROOM.shares) return { ...empty, share }
      return { share, toCome, stored: await storedUrls(redis, tags, deadline) }
    } catch {
      return { ...empty, share }
    }
  }

  return {
    enqueue,
    async close() {
      isClosed = true
      await Promise.all([...queues.values()].map((queue) => queue.close()))
    },
  }
}

function crawlOf(candidate: unknown, otherwise: string): string {
  const own = (candidate as { crawl?: unknown } | null)?.crawl
  return typeof own === 'string' ? own : otherwise
}

function endSpans(batches: readonly Batch[], error?: unknown): void {
  for (const { spans } of batches) for (const span of spans) endSpan(span, error)
}

/** Cuts a candidate to what JSON can carry. The gateway refuses an overlong URL without reading it, so the rest is not sent. */
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

/** Yields the same candidates, with a PAUSE wherever the next one is not ready within LINGER_MS. */
async function* impatient(clock: Clock, source: AsyncIterable<Candidate>): AsyncGenerator<Candidate | typeof PAUSE> {
  const iterator = source[Symbol.asyncIterator]()
  let timer: Timer | undefined
  try {
    for (;;) {
      const next = iterator.next()
      const pause = new Promise<typeof PAUSE>((resolve) => {
        timer = clock.timeout(() => resolve(PAUSE), LINGER_MS)
      })
      const first = await Promise.race([next, pause])
      clock.cancel(timer)
      if (first === PAUSE) yield PAUSE
      const { done, value } = first === PAUSE ? await next : first
      if (done) return
      yield value
    }
  } finally {
    clock.cancel(timer)
    await iterator.return?.()
  }
}
