/** Moves what is known of one origin, under the rules of move-lane.ts. */
import { FIELD, KEY, keysOf, ORIGIN_INSTANTS, readState } from '@decorum/ledger/stored'
import { hostOf, registrableDomain } from '@decorum/protocol'
import { hashesOf } from '@decorum/robots'
import { copyKey, type Mover, readKey } from './copy-key.ts'
import { moveScripts } from './scripts.ts'

const INSTANTS = (Object.keys(ORIGIN_INSTANTS) as (keyof typeof FIELD)[])
  .filter((name) => ORIGIN_INSTANTS[name])
  .map((name) => FIELD[name])

/** Robots state, delays, back-off and operations, and the bodies that its rules are in. Does nothing when it has moved already. */
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
  for (const hash of hashesOf(readState(state ?? ''))) await copyBody(mover, from, to, origin, hash)
  if (!(await copyKey(mover, here, to, there))) return
  const moved = INSTANTS.flatMap((field, n) =>
    instants[n] && aheadMs !== 0 ? [field, (Number(instants[n]) + aheadMs).toFixed(3)] : [],
  )
  if (moved.length > 0)
    await change.write(to, moveScripts.putHash, { name: `${KEY.origin}${origin}`, isFirst: '' }, moved)
  await change.write(from, moveScripts.dropKey, { key: here })
}

/** A body may be that of several origins, so the original stays until its life is over. */
async function copyBody(
  { redis, change }: Mover,
  from: string,
  to: string,
  origin: string,
  hash: string,
): Promise<void> {
  const key = keysOf(from).body(hash)
  const [bytes, found] = await Promise.all([redis.strlen(key), readKey(redis, key)])
  if (found === undefined) return
  const host = hostOf(origin)
  const domain = registrableDomain(host) ?? host
  await change.write(to, moveScripts.putBody, { hash, bytes, domain, ...found })
}
