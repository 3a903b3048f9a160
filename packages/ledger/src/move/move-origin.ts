/** Moves the facts about one origin, under the rules of move-lane.ts. */

import { hostOf, registrableDomain } from '@decorum/protocol'
import { hashesOf } from '@decorum/robots'
import { type Arg, BODY, FIELD, keysOf, ORIGIN_INSTANTS, readState } from '../stored.ts'
import { copyKey, liveAtLeast, type Mover } from './copy-key.ts'

const INSTANTS = (Object.keys(ORIGIN_INSTANTS) as (keyof typeof FIELD)[])
  .filter((name) => ORIGIN_INSTANTS[name])
  .map((name) => FIELD[name])

/** Moves robots state, delays, back-off and operations, and the bodies of its rules. Does nothing when the origin has already moved. */
export async function moveOrigin(
  mover: Mover,
  from: string,
  to: string,
  origin: string,
  aheadMs: number,
): Promise<void> {
  const { redis, change } = mover
  const [here, there] = [keysOf(from).origin(origin), keysOf(to).origin(origin)]
  const [state, ...instants] = await redis.hmget(here, FIELD.robotsState, ...INSTANTS)
  for (const hash of hashesOf(readState(state ?? ''))) await copyBody(mover, from, to, hostOf(origin), hash)
  const moved = INSTANTS.flatMap((field, n) =>
    instants[n] && aheadMs !== 0 ? [['HSET', there, field, (Number(instants[n]) + aheadMs).toFixed(3)]] : [],
  )
  if (await copyKey(mover, here, to, there, () => moved)) await change.write(from, ['UNLINK', here])
}

/**
 * Several origins may share a body, so the original stays until it expires. A copied body is charged to the budget of its new partition
 * (lib/body-budget.lua of the ledger), so that a change does not renew the budget of a domain. No body is refused here; bodies beyond the
 * budget leave no room for later ones.
 */
async function copyBody(mover: Mover, from: string, to: string, host: string, hash: string): Promise<void> {
  const { redis } = mover
  const [here, there] = [keysOf(from), keysOf(to)]
  const bytes = await redis.strlen(here.body(hash))
  const isSpent = (await redis.exists(there.body(hash))) === 1
  const counters = isSpent ? [] : [there.spent, `${there.spent}:${registrableDomain(host) ?? host}`]
  await copyKey(mover, here.body(hash), to, there.body(hash), (lifeMs) =>
    counters.flatMap((counter): Arg[][] => [
      ['INCRBY', counter, bytes + BODY.besideBytes],
      ...liveAtLeast(counter, lifeMs),
    ]),
  )
}
