/**
 * Orders that wait for the workers of a pool: a list in each partition. The process that takes an order starts its lease by the fence in
 * it, so an order that is lost here, or taken by a process that dies, is made again when its reservation has expired.
 */
import type { Deadline } from '@decorum/protocol'
import type { Keys, List } from './layout.ts'
import type { RedisLink } from './link.ts'
import { firstUrlsOf } from './records/lane-lists.ts'
import { answersOf, withDeadline } from './scripts.ts'
import type { LaneRef, Pending } from './types.ts'

export type PoolLists = {
  /** adds orders behind those that wait */
  offer(orders: readonly string[]): Promise<void>
  take(most: number): Promise<string[]>
  /** number of waiting orders */
  waiting(): Promise<number>
}

/** @param lifeMs  life of a reservation: an order that has waited longer cannot be started any more */
export function poolLists(
  redis: RedisLink,
  keys: Keys,
  pool: string,
  { lifeMs, deadline }: { lifeMs: number; deadline: Deadline },
): PoolLists {
  const key = keys.pool(pool)
  const timed = <T>(work: Promise<T>): Promise<T> => withDeadline(work, deadline, 'pool')
  return {
    async offer(orders) {
      if (orders.length === 0) return
      const transaction = redis
        .multi()
        .rpush(key, ...orders)
        .pexpire(key, Math.ceil(lifeMs))
      await answersOf(transaction, deadline, 'pool')
    },
    take: async (most) => (await timed(redis.lpop(key, most))) ?? [],
    waiting: () => timed(redis.llen(key)),
  }
}

/** The URL of a lane that is in flight: it stays first in its list until its lease ends. */
export async function firstUrlOf(
  redis: RedisLink,
  keys: Keys,
  lane: LaneRef,
  list: List,
  deadline: Deadline,
): Promise<Pending | undefined> {
  const [head] = await withDeadline(firstUrlsOf(redis, keys, lane, list, 1), deadline, 'firstUrlOf')
  return head
}
