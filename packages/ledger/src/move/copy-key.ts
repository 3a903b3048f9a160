/** Copies a key unchanged to another partition. */
import type { RedisLink } from '../index.ts'
import { type Arg, valuesOf } from '../stored.ts'
import type { Change } from './change-lock.ts'

export type Mover = { redis: RedisLink; change: Change }

/**
 * Copies a key with its remaining life and replaces the copy of an earlier try; the original stays.
 * @param also  commands in the same step
 * @returns     false when the key does not exist: then nothing is done
 */
export async function copyKey(
  { redis, change }: Mover,
  key: string,
  to: string,
  target: string,
  also: (lifeMs: number) => Arg[][] = () => [],
): Promise<boolean> {
  // In one step: a key that expired between the two reads would have no expiry at its new place (a life of 0).
  const answers = await redis.multi().dumpBuffer(key).pttl(key).exec()
  const [dump, life] = valuesOf(answers, 'copyKey') as [Buffer | null, number]
  if (dump === null) return false
  const lifeMs = life === -1 ? 0 : Math.max(life, 1)
  await change.write(to, ['RESTORE', target, lifeMs, dump, 'REPLACE'], ...also(lifeMs))
  return true
}

/** Commands that give a key at least this life, whether or not it has an expiry already. */
export const liveAtLeast = (key: string, lifeMs: number): Arg[][] => [
  ['PEXPIRE', key, lifeMs, 'NX'],
  ['PEXPIRE', key, lifeMs, 'GT'],
]
