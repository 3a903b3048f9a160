/**
 * Jobs of `candidates` whose data is not JSON. BullMQ can neither run nor fail them: it throws, the job stalls, comes
 * back and throws again, for ever (measured: reliability §0.6). They are set aside here, with an outcome that says so.
 */
import type { Ledger, RedisLink } from '@decorum/ledger'
import { assignedId, CANDIDATES, type Outcome, tagName } from '@decorum/protocol'

/** Jobs looked at in each list: what is broken sits where jobs are taken from. */
const LOOK_AT = 1_000

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
    const data = await redis.hget(`${queue}:${id}`, 'data')
    if (data === null || isJson(data)) continue
    const outcome: Outcome = {
      id: assignedId(tagName(tag), id, 0),
      url: '',
      agent: '',
      kind: 'invalid',
      reason: 'undecodable-job',
      detail: `job ${id}: its data is not JSON`,
      at: Date.now(),
      attempts: 0,
    }
    // The outcome first: a crash in between finds the job again, and the mark keeps the outcome single.
    await ledger.park(partition, [{ outcome }], { key: `undecodable:${tagName(tag)}:${id}` })
    const removal = redis.multi().lrem(active, 0, id)
    if (waiting?.includes(id)) removal.lrem(wait, -1, id) // from the end where it was seen: the list may be long
    await removal.srem(`${queue}:stalled`, id).unlink(`${queue}:${id}`, `${queue}:${id}:lock`).exec()
    swept.push(id)
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
