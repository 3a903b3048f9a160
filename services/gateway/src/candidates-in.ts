/**
 * ① Jobs of `candidates` → what park stores. A job is done when every candidate in it is stored or has its outcome; the
 * same job delivered again after a crash parks nothing twice (the marks of ledger.park).
 */
import { type Ledger, MAX_ITEMS, type ParkItem, type ParkMark, type ParkResult, type RedisLink } from '@decorum/ledger'
import {
  assignedId,
  CANDIDATES,
  candidatesOf,
  isFrontierJob,
  type Outcome,
  queueOptions,
  tagName,
} from '@decorum/protocol'
import { crashPoint } from '@decorum/runtime'
import { DelayedError, type Job, Worker } from 'bullmq'
import type { Logger } from 'pino'
import type { Admit } from './admit.ts'
import type { GatewayMetrics } from './metrics.ts'
import { sweepUndecodable } from './sweeper.ts'

export type IntakeOptions = {
  ledger: Ledger
  /** of the queue; it may be a retired one, whose candidates all belong to others */
  partition: number
  tag: string
  connection: RedisLink
  admit: Admit
  metrics: GatewayMetrics
  log: Logger
  concurrency: number
  /** how long a job is this gateway's own without a sign of life, ms */
  lockMs: number
}

/** Parking waits for Redis as long as it takes: a job given back would only be delivered again. */
const AGAIN_MS = 500
/** A job that could not be done to its end (another partition's Redis is away, we are stopping) comes again after this. */
const LATER_MS = 5_000

export function startIntake(options: IntakeOptions): Worker {
  const { ledger, partition, tag, connection, metrics, log, concurrency, lockMs } = options
  let closing = false
  /** Whether all of it is stored. */
  const store = async (job: Job<unknown>, token: string): Promise<boolean> => {
    const away = new Set<number>()
    for (const { target, items, mark } of chunksOf(options, job, token)) {
      if (away.has(target)) continue
      crashPoint('intake.before-park')
      const park = (): Promise<ParkResult> => ledger.park(target, items, mark)
      const result = await (target === partition ? untilDone(park, () => closing) : unlessAway(park))
      if (result === undefined) {
        away.add(target)
        continue
      }
      crashPoint('intake.after-park')
      metrics.intake.inc({ what: 'parked' }, result.parked)
      metrics.intake.inc({ what: 'absorbed' }, result.absorbed)
      metrics.intake.inc({ what: 'outcome' }, result.outcomes)
    }
    crashPoint('intake.done')
    return away.size === 0
  }
  const work = async (job: Job<unknown>, token = 'no lock'): Promise<void> => {
    const isStored = await store(job, token).catch((err: Error) => {
      log.error({ err, job: job.id }, 'candidates could not be taken in: a fault of ours; the job comes again')
      return false
    })
    if (isStored) return
    // It comes again as a whole; what is stored is marked. Meanwhile other jobs have its place. Whatever else were thrown
    // here, BullMQ would call the job failed; one that cannot be moved stalls and is delivered again when its lock ends.
    await job.moveToDelayed(Date.now() + LATER_MS, token).catch(() => {})
    throw new DelayedError()
  }
  const worker = new Worker(CANDIDATES, work, {
    connection,
    ...queueOptions(tag),
    concurrency,
    lockDuration: lockMs,
    stalledInterval: lockMs,
    runRetryDelay: AGAIN_MS,
    maxStalledCount: 1_000, // a job is given up by nobody: what it carries is either stored or has an outcome
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 1_000 },
  })
  worker.on('error', (error) => {
    log.debug({ err: error.message }, 'candidates worker')
    if (error instanceof SyntaxError || error instanceof TypeError) sweep()
  })
  let sweeping = false
  /** A job that BullMQ could not read: text that is not JSON throws a SyntaxError there, options that are null a TypeError. */
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

type Chunk = { target: number; items: ParkItem[]; mark: ParkMark }

/** The members of a job by partition, in chunks that are the same whenever the job is delivered. */
function chunksOf({ ledger, partition, tag, admit }: IntakeOptions, job: Job<unknown>, token: string): Chunk[] {
  const jobId = String(job.id)
  const queue = tagName(tag)
  const idOf = (index: number): string => assignedId(queue, { id: jobId, timestamp: job.timestamp }, index)
  const members = candidatesOf(job.data)
  if (!Array.isArray(members)) {
    const outcome: Outcome = {
      id: idOf(0),
      url: '',
      agent: '',
      kind: 'invalid',
      ...members,
      at: Date.now(),
      attempts: 0,
    }
    return [{ target: partition, items: [{ outcome }], mark: { job: jobId, token, chunk: 0 } }]
  }
  const byTarget = new Map<number, ParkItem[]>()
  for (const [index, member] of members.entries()) {
    const { origin, item } = admit(member, idOf(index))
    const target = origin === undefined ? partition : ledger.partitionOf(origin)
    const list = byTarget.get(target)
    if (list === undefined) byTarget.set(target, [item])
    else list.push(item)
  }
  return [...byTarget].flatMap(([target, items]) => {
    const chunks: Chunk[] = []
    for (let chunk = 0; chunk * MAX_ITEMS < items.length; chunk++) {
      const mark: ParkMark =
        target === partition ? { job: jobId, token, chunk } : { key: foreignMark(queue, job, chunk) }
      chunks.push({ target, items: items.slice(chunk * MAX_ITEMS, (chunk + 1) * MAX_ITEMS), mark })
    }
    return chunks
  })
}

/**
 * Outlives the job, so it names more than the job's id: a producer may use that again for other candidates, with a new
 * timestamp (the one stored with the job: the same at each delivery). Ids of @decorum/client stand for themselves: what
 * comes again under one is the same job, whose first adding had no reply.
 */
function foreignMark(queue: string, job: Job<unknown>, chunk: number): string {
  const jobId = String(job.id)
  return `job:${queue}:${isFrontierJob(jobId) ? '' : job.timestamp}:${jobId}:${chunk}`
}

/** Marks that do not vanish with the job. Which of them exist is not worth remembering: forgetting one that is not there is free. */
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

/** undefined: that partition does not answer, or wants none of us; whatever it is, the job is not given up */
async function unlessAway<T>(work: () => Promise<T>): Promise<T | undefined> {
  return work().catch(() => undefined)
}

/** undefined: given up, which is asked after each failure */
async function untilDone<T>(work: () => Promise<T>, giveUp: () => boolean): Promise<T | undefined> {
  for (;;) {
    try {
      return await work()
    } catch {
      if (giveUp()) return undefined
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    }
  }
}
