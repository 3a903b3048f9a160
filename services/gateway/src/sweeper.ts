/**
 * Jobs of `candidates` that BullMQ cannot read. It can neither run nor fail them: it throws, and the job stalls and is
 * delivered again for ever (measured with BullMQ 6.7.0). A job whose data is not JSON is removed, with an outcome that says so. When only other
 * fields cannot be read, they are removed, and the job is worked on like any other.
 */
import type { Ledger, RedisLink } from '@decorum/ledger'
import { assignedId, CANDIDATES, outcomeOf, tagName } from '@decorum/protocol'

/** Jobs looked at in each list, at the end that jobs are taken from: an unreadable job waits there. */
const LOOK_AT = 1_000

/**
 * Removes a job from its queue, if it is still the one that was read: another gateway may have removed it meanwhile, and a
 * producer may have used its id again.
 * KEYS: the job, its lock, active, wait, stalled. ARGV: its id, data and timestamp as they were read.
 */
const REMOVE = `local job = redis.call('HMGET', KEYS[1], 'data', 'timestamp')
if job[1] ~= ARGV[2] or (job[2] or '') ~= ARGV[3] then return 0 end
redis.call('LREM', KEYS[3], 0, ARGV[1])
redis.call('LREM', KEYS[4], -1, ARGV[1])
redis.call('SREM', KEYS[5], ARGV[1])
return redis.call('UNLINK', KEYS[1], KEYS[2])`

/** Fields of a job, besides its data, that BullMQ reads as JSON. Intake needs none of them. */
const OTHER_FIELDS = ['opts', 'progress', 'parent'] as const

/** Removes the fields that still have the text that was read. KEYS: the job. ARGV: pairs of field and text. */
const REPAIR = `for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', KEYS[1], ARGV[i]) end
end`

/** @returns ids of the jobs that were removed or mended. @throws the last error, when no job was */
export async function sweepUndecodable(
  redis: RedisLink,
  ledger: Ledger,
  partition: number,
  tag: string,
): Promise<string[]> {
  const queue = `${tag}:${CANDIDATES}`
  const [active, wait] = [`${queue}:active`, `${queue}:wait`]
  const [started, waiting] = await Promise.all([active, wait].map((list) => redis.lrange(list, -LOOK_AT, -1)))
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
    if (broken.length > 0) await redis.eval(REPAIR, 1, job, ...broken)
    return broken.length > 0
  }
  const assigned = assignedId(tagName(tag), { id, timestamp: Number(timestamp ?? 0) }, 0)
  const about = { id: assigned, url: '', agent: '', at: Date.now(), attempts: 0 }
  const detail = `job ${id}: its data is not JSON`
  const outcome = outcomeOf(about, { kind: 'invalid', reason: 'undecodable-job', detail })
  // The outcome is written first: after a crash in between the job is found again, and the mark keeps the outcome single. The
  // mark has the job's timestamp, because a producer may use its id again.
  const mark = `undecodable:${tagName(tag)}:${timestamp ?? ''}:${id}`
  const stored = await ledger.store(partition, [{ outcome }], { key: mark })
  if (stored === 'outcomes-full') return false // it is found again
  const keys = [job, `${job}:lock`, `${queue}:active`, `${queue}:wait`, `${queue}:stalled`]
  return (await redis.eval(REMOVE, keys.length, ...keys, id, data, timestamp ?? '')) !== 0
}

/** As BullMQ reads them: an empty field counts as absent, and `opts` has to be an object. */
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
