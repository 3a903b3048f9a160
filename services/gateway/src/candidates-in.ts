/**
 * Jobs of the queue `candidates` → URLs in their lanes. A job is done when every candidate in it is stored or has its outcome.
 * A job that is redelivered after a crash stores nothing twice (the marks of ledger.store).
 */
import {
  type Ledger,
  LedgerUnavailableError,
  MAX_ITEMS,
  type RedisLink,
  type StoreItem,
  type StoreMark,
  type StoreResult,
} from '@decorum/ledger'
import {
  assignedId,
  CANDIDATES,
  candidatesOf,
  crawlOfJob,
  isFrontierJob,
  outcomeOf,
  queueOptions,
  tagName,
} from '@decorum/protocol'
import { DelayedError, type Job, Worker } from '@decorum/protocol/bullmq'
import { crashPoint, retry, type Traces } from '@decorum/runtime'
import type { Logger } from 'pino'
import type { Admit } from './admit.ts'
import type { GatewayMetrics } from './metrics.ts'
import { sweepUndecodable } from './sweeper.ts'

export type IntakeOptions = {
  ledger: Ledger
  /** partition of the queue; it may be a retired one, whose candidates all belong to other partitions */
  partition: number
  tag: string
  connection: RedisLink
  admit: Admit
  metrics: GatewayMetrics
  traces?: Traces
  log: Logger
  /** awaited before a job is stored; undefined: the job may be stored at once */
  turn?: () => Promise<void> | undefined
  concurrency: number
  /** a job without a sign of life for this time is redelivered, ms */
  lockMs: number
}

/** Time between two attempts to store. They continue while Redis is unavailable: a returned job would only be redelivered. */
const AGAIN_MS = 500
/** Any failure that lasts this long is logged. */
const MUTE_MS = 60_000
/**
 * A job that could not be finished (another partition's Redis is unavailable, the outcomes of a crawl are not read, this process stops)
 * is redelivered after this time, which doubles each time, up to the longest.
 */
const LATER_MS = 5_000
const LATEST_MS = 60_000

export function startIntake(options: IntakeOptions): Worker {
  const { ledger, partition, tag, connection, metrics, traces, log, concurrency, lockMs } = options
  let closing = false
  /** Whether to retry after an error: while this process runs. Logs a bug once, and a Redis that stays unavailable. */
  const logged = (job: Job<unknown>): ((error: unknown) => boolean) => {
    const since = ledger.clock.monotonic()
    let isLogged = false
    return (err) => {
      if (!isLogged && (!(err instanceof LedgerUnavailableError) || ledger.clock.monotonic() - since >= MUTE_MS)) {
        isLogged = true
        log.error({ err, job: job.id, partition }, 'candidates cannot be stored; retrying')
      }
      return !closing
    }
  }
  /** Stores the candidates of a job. @returns whether all of them are stored */
  const store = async (job: Job<unknown>, token: string): Promise<boolean> => {
    const away = new Set<number>()
    await options.turn?.()
    if (closing) return false
    // The settings of a crawl apply from its first URL on, which may arrive before they are next read (once a second).
    if (namesUnknown(job, ledger.crawlBook)) await ledger.crawlBook.refresh().catch(() => undefined)
    for (const { target, items, mark } of chunksOf(options, job, token)) {
      if (away.has(target)) continue
      const spans = items.map((item) =>
        'pending' in item
          ? traces?.span('decorum.store', item.pending.request, () => ({ 'decorum.id': item.pending.id }))
          : undefined,
      )
      crashPoint('intake.before-store')
      const store = (): Promise<StoreResult> => ledger.store(target, items, mark)
      // Another partition's Redis may be unavailable for long; its candidates are redelivered, and the others of the job are stored now.
      const result = await (target === partition
        ? retry(ledger.clock, store, AGAIN_MS, logged(job))
        : store().catch(() => undefined))
      for (const span of spans)
        span?.end(
          result === undefined ? 'the partition did not answer' : result === 'outcomes-full' ? result : undefined,
        )
      if (result === undefined || result === 'outcomes-full') {
        if (result !== undefined) metrics.waits.inc({ why: result })
        away.add(target)
        continue
      }
      crashPoint('intake.after-store')
      metrics.intake.inc({ what: 'parked' }, result.stored)
      metrics.intake.inc({ what: 'absorbed' }, result.absorbed)
      metrics.intake.inc({ what: 'outcome' }, result.outcomes)
    }
    crashPoint('intake.done')
    return away.size === 0
  }
  const work = async (job: Job<unknown>, token = 'no lock'): Promise<void> => {
    const isStored = await store(job, token).catch((err: Error) => {
      log.error({ err, job: job.id }, 'candidates could not be stored because of a bug; the job is redelivered')
      return false
    })
    if (isStored) return
    // The whole job is redelivered, with marks for stored candidates, and other jobs are processed meanwhile. After any error except
    // DelayedError BullMQ would count the job as failed. A job that cannot be moved stalls, and is redelivered when its lock ends.
    const laterMs = Math.min(LATEST_MS, LATER_MS * 2 ** Math.max(0, (job.attemptsStarted ?? 1) - 1))
    await job.moveToDelayed(ledger.clock.machine() + laterMs, token).catch(() => {})
    throw new DelayedError()
  }
  const worker = new Worker(CANDIDATES, work, {
    connection,
    ...queueOptions(tag),
    concurrency,
    lockDuration: lockMs,
    stalledInterval: lockMs,
    runRetryDelay: AGAIN_MS,
    maxStalledCount: 1_000, // no job is ever dropped: each candidate in it ends up stored or with an outcome
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 1_000 },
  })
  worker.on('error', (error) => {
    log.debug({ err: error.message }, 'candidates worker')
    if (error instanceof SyntaxError || error instanceof TypeError) sweep()
  })
  let sweeping = false
  /** Called when BullMQ could not read a job: it throws a SyntaxError for invalid JSON, a TypeError for null options. */
  const sweep = (): void => {
    if (sweeping || closing) return
    sweeping = true
    sweepUndecodable(connection, ledger, partition, tag)
      .then((jobs) => jobs.length > 0 && log.warn({ jobs }, 'jobs that BullMQ cannot read were mended or set aside'))
      .catch((error: Error) => log.warn({ err: error.message }, 'jobs that BullMQ cannot read could not be set aside'))
      .finally(() => {
        sweeping = false
      })
  }
  worker.on('closing', () => {
    closing = true
  })
  worker.on('completed', (job) => {
    for (const { target, mark } of chunksMarkedElsewhere(options, job)) ledger.forgetMark(target, mark).catch(() => {})
  })
  return worker
}

/** Whether a job, or one of its candidates, names a crawl that is new to this process. */
function namesUnknown({ data }: Job<unknown>, crawls: Ledger['crawlBook']): boolean {
  const isUnknown = (name: unknown): boolean => typeof name === 'string' && !crawls.has(name)
  const members = candidatesOf(data)
  const isOneUnknown = (member: unknown): boolean => isUnknown((member as { crawl?: unknown } | null)?.crawl)
  return isUnknown(crawlOfJob(data)) || (Array.isArray(members) && members.some(isOneUnknown))
}

type Chunk = { target: number; items: StoreItem[]; mark: StoreMark }

/** The candidates of a job by partition, in chunks that are the same at each delivery of the job. */
function chunksOf({ ledger, partition, tag, admit }: IntakeOptions, job: Job<unknown>, token: string): Chunk[] {
  const jobId = String(job.id)
  const queue = tagName(tag)
  const idOf = (index: number): string => assignedId(queue, { id: jobId, timestamp: job.timestamp }, index)
  const members = candidatesOf(job.data)
  const crawl = crawlOfJob(job.data)
  if (!Array.isArray(members)) {
    const about = { id: idOf(0), url: '', agent: '', at: ledger.wall(partition), attempts: 0, crawl }
    const outcome = outcomeOf(about, { kind: 'invalid', ...members })
    return [{ target: partition, items: [{ outcome }], mark: { job: jobId, token, chunk: 0 } }]
  }
  const byTarget = new Map<number, StoreItem[]>()
  for (const [index, member] of members.entries()) {
    const { origin, item } = admit(member, idOf(index), crawl)
    const target = origin === undefined ? partition : ledger.partitionOf(origin)
    const list = byTarget.get(target)
    if (list === undefined) byTarget.set(target, [item])
    else list.push(item)
  }
  return [...byTarget].flatMap(([target, items]) => {
    const chunks: Chunk[] = []
    for (let chunk = 0; chunk * MAX_ITEMS < items.length; chunk++) {
      const mark: StoreMark =
        target === partition ? { job: jobId, token, chunk } : { key: foreignMark(queue, job, chunk) }
      chunks.push({ target, items: items.slice(chunk * MAX_ITEMS, (chunk + 1) * MAX_ITEMS), mark })
    }
    return chunks
  })
}

/**
 * A mark that outlives the job. A producer may reuse the job's id for other candidates, so the mark also contains the job's timestamp,
 * which is the same at each delivery. Ids of @decorum/client are unique: a second job under one of them is the same job, added
 * again because the first reply was lost.
 */
function foreignMark(queue: string, job: Job<unknown>, chunk: number): string {
  const jobId = String(job.id)
  return `job:${queue}:${isFrontierJob(jobId) ? '' : job.timestamp}:${jobId}:${chunk}`
}

/** All marks that a job may have in other partitions. Deleting a missing one costs nothing. */
function* chunksMarkedElsewhere(
  { ledger, partition, tag }: IntakeOptions,
  job: Job<unknown>,
): Generator<{ target: number; mark: string }> {
  const partitions = ledger.tags.length
  if (partition === 0 && partitions === 1) return
  const members = candidatesOf(job.data)
  const chunks = Array.isArray(members) ? Math.ceil(members.length / MAX_ITEMS) : 0
  for (let target = 0; target < partitions; target++) {
    if (target === partition) continue
    for (let chunk = 0; chunk < chunks; chunk++) yield { target, mark: foreignMark(tagName(tag), job, chunk) }
  }
}
