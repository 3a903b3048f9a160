/** Reads about candidates that need no script: whether they are stored, and how many have not been taken in yet. */

import { CANDIDATES, DEFAULT_CRAWL, type Deadline, ORDERS } from '@decorum/protocol'
import type { RedisLink } from '../index.ts'
import { answersOf, idSlot, KEY, type Keys } from '../stored.ts'

/** @returns for each id of one partition whether a candidate of that id is stored: pending, or in flight */
export async function areStored(
  redis: RedisLink,
  keys: Keys,
  ids: readonly { id: string; crawl?: string | undefined }[],
  deadline: Deadline,
): Promise<boolean[]> {
  const pipeline = redis.pipeline()
  for (const { id, crawl } of ids) {
    const { bucket, number } = idSlot(id, crawl)
    pipeline.sismember(keys.ids(bucket), number)
  }
  return (await answersOf(pipeline, deadline, 'areStored')).map((value) => value === 1)
}

const QUEUES = [CANDIDATES, ORDERS] as const
/** BullMQ's keys of jobs that have not ended: lists, and sorted sets. */
const LISTS = ['wait', 'active', 'paused'] as const
const SORTED_SETS = ['delayed', 'prioritized'] as const

/** @returns jobs of candidates and redirect targets of one partition that no gateway has stored in lanes yet */
export async function waitingForIntake(redis: RedisLink, { tag, outbox }: Keys, deadline: Deadline): Promise<number> {
  const pipeline = redis.pipeline().xlen(outbox)
  for (const name of LISTS) pipeline.llen(`${tag}:${KEY.candidateJob}${name}`)
  for (const name of SORTED_SETS) pipeline.zcard(`${tag}:${KEY.candidateJob}${name}`)
  const counts = await answersOf(pipeline, deadline, 'waitingForIntake')
  return counts.reduce<number>((sum, count) => sum + Number(count), 0)
}

/** Redirect targets that wait for the Retry-After of their redirect and are no candidates yet: the `targetName` of each. */
export async function laterTargets(redis: RedisLink, { later }: Keys): Promise<string[]> {
  const found: string[] = []
  for (let at = 0; ; at += LATER_AT_ONCE) {
    const some = await redis.zrange(later, String(at), String(at + LATER_AT_ONCE - 1))
    for (const json of some) {
      const { id, crawl } = JSON.parse(json) as { id: string; crawl?: string }
      found.push(targetName(id, crawl))
    }
    if (some.length < LATER_AT_ONCE) return found
  }
}
const LATER_AT_ONCE = 1_000
export const targetName = (id: string, crawl = DEFAULT_CRAWL): string => `${crawl} ${id}`
export type QueueName = typeof CANDIDATES | typeof ORDERS

/** The content of the queue `candidates` of one partition, which no gateway has stored in lanes yet. */
export type Intake = {
  jobs: number
  /** URLs in these jobs, and targets of redirects, including those that must wait */
  urls: number
  /** true: only some jobs were read, and `urls` is extrapolated from them */
  isEstimate: boolean
  /** queues of the partition that were paused (`queue.pause()` of BullMQ, or another board): nothing leaves them until they are resumed */
  paused: QueueName[]
  /** time since the oldest of the jobs that were read was added, ms; undefined: there is none */
  oldestMs?: number
}

/** Number of jobs that are read, and of their bytes: a few hundred microseconds of Redis. */
const READ_JOBS = 20
const BYTES_READ = 256 * 1024

/** @param now  Redis's clock, ms */
export async function intakeOf(redis: RedisLink, keys: Keys, now: number, deadline: Deadline): Promise<Intake> {
  const { tag, outbox, later } = keys
  const at = (name: string): string => `${tag}:${KEY.candidateJob}${name}`
  const first = redis.pipeline().xlen(outbox).zcard(later)
  for (const name of LISTS) first.llen(at(name))
  for (const name of SORTED_SETS) first.zcard(at(name))
  for (const name of LISTS) first.lrange(at(name), -READ_JOBS, -1)
  for (const name of SORTED_SETS) first.zrange(at(name), '0', String(READ_JOBS - 1))
  for (const name of QUEUES) first.hexists(`${tag}:${name}:meta`, 'paused')
  const [due, waiting, ...answers] = await answersOf(first, deadline, 'intake')
  const born = Number(due) + Number(waiting)
  const rest = answers.slice(0, -QUEUES.length)
  const paused = QUEUES.filter((_, n) => answers[rest.length + n] === 1)
  const jobs = rest.slice(0, LISTS.length + SORTED_SETS.length).reduce<number>((sum, n) => sum + Number(n), 0)
  const lists = rest.slice(LISTS.length + SORTED_SETS.length) as string[][]
  const ids = lists.flatMap((list) => [...list].reverse()).slice(0, READ_JOBS)
  if (ids.length === 0) return { jobs, urls: born, isEstimate: false, paused }
  const sizes = redis.pipeline()
  for (const id of ids) sizes.hstrlen(at(id), 'data').hget(at(id), 'timestamp')
  const sized = await answersOf(sizes, deadline, 'intake')
  let bytes = 0
  const read = ids.filter((_, n) => {
    bytes += Number(sized[2 * n])
    return bytes <= BYTES_READ || n === 0
  })
  const bodies = redis.pipeline()
  for (const id of read) bodies.hget(at(id), 'data')
  const counts = (await answersOf(bodies, deadline, 'intake')).flatMap((data) =>
    typeof data === 'string' ? [candidatesIn(data)] : [],
  )
  const stamps = ids.map((_, n) => Number(sized[2 * n + 1])).filter((stamp) => stamp > 0)
  const found = counts.reduce((sum, n) => sum + n, 0)
  const isEstimate = counts.length < jobs
  const urls = isEstimate ? Math.round((found / Math.max(1, counts.length)) * jobs) : found
  return {
    jobs,
    urls: urls + born,
    isEstimate,
    paused,
    ...(stamps.length === 0 ? {} : { oldestMs: Math.max(0, now - Math.min(...stamps)) }),
  }
}

/** A job that cannot be read counts as one candidate: it ends as one invalid outcome. */
function candidatesIn(data: string): number {
  try {
    const read = JSON.parse(data) as { candidates?: unknown } | null
    return Array.isArray(read?.candidates) ? read.candidates.length : 1
  } catch {
    return 1
  }
}
