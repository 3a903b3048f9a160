/** A key as it is, in another partition. */
import type { RedisLink } from '@decorum/ledger'
import { valuesOf } from '@decorum/ledger/stored'
import type { Change } from './change-lock.ts'
import { moveScripts } from './scripts.ts'

export type Mover = { redis: RedisLink; change: Change }

export type Copied = { dump: Buffer; lifeMs: number }

/** @returns  as DUMP has it, and the life it has left, 0 for no end; undefined: it is not there */
export async function readKey(redis: RedisLink, key: string): Promise<Copied | undefined> {
  // In one step: a key that expires between the two reads would stay for ever at its new place (a life of 0).
  const answers = await redis.multi().dumpBuffer(key).pttl(key).exec()
  const [dump, life] = valuesOf(answers, 'readKey') as [Buffer | null, number]
  return dump === null ? undefined : { dump, lifeMs: life === -1 ? 0 : Math.max(life, 1) }
}

/**
 * With the life it has left; the original stays.
 * @returns  false when it is not there: what lies at its new place, brought by an earlier try, stays
 */
export async function copyKey({ redis, change }: Mover, key: string, to: string, target: string): Promise<boolean> {
  const found = await readKey(redis, key)
  if (found === undefined) return false
  await change.write(to, moveScripts.putKey, { key: target, ...found })
  return true
}
