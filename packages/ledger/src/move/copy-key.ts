/** A key as it is, in another partition. */
import type { RedisLink } from '../index.ts'
import { type Arg, valuesOf } from '../stored.ts'
import type { Change } from './change-lock.ts'

export type Mover = { redis: RedisLink; change: Change }

/**
 * With the life it has left, in place of what an earlier try has brought there; the original stays.
 * @param also  what is done in the same step
 * @returns     false when it is not there: then nothing is done
 */
export async function copyKey(
  { redis, change }: Mover,
  key: string,
  to: string,
  target: string,
  also: (lifeMs: number) => Arg[][] = () => [],
): Promise<boolean> {
  // In one step: a key that expires between the two reads would stay for ever at its new place (a life of 0).
  const answers = await redis.multi().dumpBuffer(key).pttl(key).exec()
  const [dump, life] = valuesOf(answers, 'copyKey') as [Buffer | null, number]
  if (dump === null) return false
  const lifeMs = life === -1 ? 0 : Math.max(life, 1)
  await change.write(to, ['RESTORE', target, lifeMs, dump, 'REPLACE'], ...also(lifeMs))
  return true
}

/** The life of a key that has one, or has just been made, is at least this. */
export const liveAtLeast = (key: string, lifeMs: number): Arg[][] => [
  ['PEXPIRE', key, lifeMs, 'NX'],
  ['PEXPIRE', key, lifeMs, 'GT'],
]
