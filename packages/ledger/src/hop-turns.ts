/** Limits how often redirects lead robots fetches of other hosts to one host: one turn per interval for the whole fleet. */
import type { Deadline } from '@decorum/protocol'
import type { Keys } from './layout.ts'
import type { RedisLink } from './link.ts'
import { withDeadline } from './scripts.ts'

/** @param name  the host, and the kind of turn · @returns 0: this call took the turn; else ms until the next turn */
export async function takeHopTurn(
  redis: RedisLink,
  keys: Keys,
  name: string,
  apartMs: number,
  deadline: Deadline,
): Promise<number> {
  const key = keys.hopTurn(name)
  const isTaken = await withDeadline(redis.set(key, '1', 'PX', Math.ceil(apartMs), 'NX'), deadline, 'hopTurn')
  return isTaken === null ? Math.max(1, await withDeadline(redis.pttl(key), deadline, 'hopTurn')) : 0
}

/** Sets how long a turn that was taken lasts from now. */
export async function keepHopTurn(
  redis: RedisLink,
  keys: Keys,
  name: string,
  apartMs: number,
  deadline: Deadline,
): Promise<void> {
  await withDeadline(redis.set(keys.hopTurn(name), '1', 'PX', Math.ceil(apartMs)), deadline, 'hopTurn')
}
