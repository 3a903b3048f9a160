/**
 * Removes jobs of `candidates` that BullMQ cannot read. It can neither run nor fail them: it throws, and the job stalls and is redelivered
 * for ever (measured with BullMQ 6.7.0). A job whose data is not JSON is removed, with an outcome that says so. If only other fields are
 * unreadable, these are removed, and the job is processed normally.
 */
import { type Ledger, libraryOf, type RedisLink } from '@decorum/ledger'
import { assignedId, CANDIDATES, outcomeOf, tagName } from '@decorum/protocol'

/** Jobs checked in each list, at the end that jobs are taken from: an unreadable job waits there. */
const JOBS_CHECKED = 1_000

const lua = libraryOf({ folder: new URL('./lua/', import.meta.url) })
const removeJob = lua.script('remove-job', ['id', 'data', 'timestamp'])
const repairJob = lua.script('repair-job', [])

/** Fields of a job, besides its data, that BullMQ reads as JSON. Intake needs none of them. */
const OTHER_FIELDS = ['opts', 'progress', 'parent'] as const

/** @returns ids of the jobs that were removed or mended. @throws the last error, if there is one and no job was removed or mended */
export async function sweepUndecodable(
  redis: RedisLink,
  ledger: Ledger,
  partition: number,
  tag: string,
): Promise<string[]> {
  const queue = `${tag}:${CANDIDATES}`
  const [active, wait] = [`${queue}:active`, `${queue}:wait`]
  const [started, waiting] = await Promise.all([active, wait].map((list) => redis.lrange(list, -JOBS_CHECKED, -1)))
  const swept: string[] = []
  let failure: Error | undefined
  for (const id of new Set([...(started ?? []), ...(waiting ?? [])])) {
    const one = { id, queue, job: `${queue}:${id}` }
    const isSwept = await sweepOne(redis, ledger, partition, tag, one).catch((error: Error) => {
      failure = error
      return false
    })
    if (isSwept) swept.push(id)
  }
  if (failure !== undefined && swept.length === 0) throw failure
  return swept
}

async function sweepOne(
  redis: RedisLink,
  ledger: Ledger,
  partition: number,
  tag: string,
  { id, queue, job }: { id: string; queue: string; job: string },
): Promise<boolean> {
  const [data = null, timestamp, ...others] = await redis.hmget(job, 'data', 'timestamp', ...OTHER_FIELDS)
  if (data === null || isJson(data)) {
    const broken = OTHER_FIELDS.flatMap((field, at) => (isReadable(field, others[at]) ? [] : [field, others[at] ?? '']))
    if (broken.length > 0) await repairJob.run(redis, [job], {}, broken)
    return broken.length > 0
  }
  const assigned = assignedId(tagName(tag), { id, timestamp: Number(timestamp ?? 0) }, 0)
  const about = { id: assigned, url: '', agent: '', at: ledger.wall(partition), attempts: 0 }
  const detail = `job ${id}: its data is not JSON`
  const outcome = outcomeOf(about, { kind: 'invalid', reason: 'undecodable-job', detail })
  // The outcome is written first: after a crash in between the job is found again, and the mark keeps the outcome single. The
  // mark has the job's timestamp, because a producer may use its id again.
  const mark = `undecodable:${tagName(tag)}:${timestamp ?? ''}:${id}`
  const stored = await ledger.store(partition, [{ outcome }], { key: mark })
  if (stored === 'outcomes-full') return false // the next sweep finds the job again
  const keys = [job, `${job}:lock`, `${queue}:active`, `${queue}:wait`, `${queue}:stalled`]
  return (await removeJob.run(redis, keys, { id, data, timestamp: timestamp ?? '' })) !== 0
}

/** The fields as BullMQ reads them: an empty field counts as absent, and `opts` must be an object. */
function isReadable(field: (typeof OTHER_FIELDS)[number], text: string | null | undefined): boolean {
  return (
    text === null ||
    text === undefined ||
    text === '' ||
    (isJson(text) && !(field === 'opts' && text.trim() === 'null'))
  )
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
