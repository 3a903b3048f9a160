/**
 * Jobs of `candidates` that BullMQ cannot read. It can neither run nor fail them: it throws, the job stalls, comes back and
 * throws again, for ever (measured with BullMQ 6.7.0). One whose data is not JSON is set aside, with an outcome that says
 * so. Of one whose data is JSON the other fields that cannot be read are removed, so that it is taken in like any other.
 */
import type { Ledger, RedisLink } from '@decorum/ledger'
import { assignedId, CANDIDATES, type Outcome, tagName } from '@decorum/protocol'

/** Jobs looked at in each list: what is broken sits where jobs are taken from. */
const LOOK_AT = 1_000

/**
 * Takes a job out of its queue, if it is still the one that was read: another gateway may have swept it meanwhile, and a
 * producer may have used its name again.
 * KEYS: the job, its lock, active, wait, stalled. ARGV: its id, data and timestamp as they were read.
 */
const REMOVE = `local job = redis.call('HMGET', KEYS[1], 'data', 'timestamp')
if job[1] ~= ARGV[2] or (job[2] or '') ~= ARGV[3] then return 0 end
redis.call('LREM', KEYS[3], 0, ARGV[1])
redis.call('LREM', KEYS[4], -1, ARGV[1])
redis.call('SREM', KEYS[5], ARGV[1])
return redis.call('UNLINK', KEYS[1], KEYS[2])`

/** Fields of a job, beside its data, that BullMQ reads as JSON; what a producer asks for there is nothing to intake. */
const OTHER_FIELDS = ['opts', 'progress', 'parent'] as const

/** KEYS: the job. ARGV: pairs of a field and its text as it was read. Removes those that are still the same. */
const REPAIR = `for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', KEYS[1], ARGV[i]) end
end`

/** Why a job could not be looked at is told once the others have been. @returns ids of the jobs that were set aside or mended */
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
  const outcome: Outcome = {
    id: assignedId(tagName(tag), { id, timestamp: Number(timestamp ?? 0) }, 0),
    url: '',
    agent: '',
    kind: 'invalid',
    reason: 'undecodable-job',
    detail: `job ${id}: its data is not JSON`,
    at: Date.now(),
    attempts: 0,
  }
  // The outcome first: a crash in between finds the job again, and the mark keeps the outcome single. The mark names the
  // job's own time, for a producer may use its name again.
  const mark = `undecodable:${tagName(tag)}:${timestamp ?? ''}:${id}`
  await ledger.park(partition, [{ outcome }], { key: mark })
  const keys = [job, `${job}:lock`, `${queue}:active`, `${queue}:wait`, `${queue}:stalled`]
  return (await redis.eval(REMOVE, keys.length, ...keys, id, data, timestamp ?? '')) !== 0
}

/** As BullMQ reads them: an empty field is one that is not there, and options have members. */
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
