/**
 * Jobs of `candidates` whose data is not JSON. BullMQ can neither run nor fail them: it throws, the job stalls, comes
 * back and throws again, for ever (measured: reliability §0.6). They are set aside here, with an outcome that says so.
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

/** @returns ids of the jobs that were set aside */
export async function sweepUndecodable(
  redis: RedisLink,
  ledger: Ledger,
  partition: number,
  tag: string,
): Promise<string[]> {
  const queue = `${tag}:${CANDIDATES}`
  const [active, wait] = [`${queue}:active`, `${queue}:wait`]
  const [begun, waiting] = await Promise.all([active, wait].map((list) => redis.lrange(list, -LOOK_AT, -1)))
  const swept: string[] = []
  for (const id of new Set([...(begun ?? []), ...(waiting ?? [])])) {
    const job = `${queue}:${id}`
    const [data = null, timestamp] = await redis.hmget(job, 'data', 'timestamp')
    if (data === null || isJson(data)) continue
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
    const keys = [job, `${job}:lock`, active, wait, `${queue}:stalled`]
    if ((await redis.eval(REMOVE, keys.length, ...keys, id, data, timestamp ?? '')) !== 0) swept.push(id)
  }
  return swept
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
