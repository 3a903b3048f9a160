/** How far apart the times of partitions are, for instants that move from one to another. */
import { mastersOf, type RedisLink } from '@decorum/ledger'
import { EPOCH, keysOf } from '@decorum/ledger/stored'
import { lockScripts } from './scripts.ts'

/** How far a server's clock is ahead of this process's: between `least` and `most` ms. `shift`: how far the partition's time is ahead of that. */
export type Clock = { least: number; most: number; shift: number }

export async function clocksOf(redis: RedisLink, tags: readonly string[]): Promise<Map<string, Clock>> {
  const clocks = new Map<string, Clock>()
  const isOne = mastersOf(redis).length === 1 // one server, one clock
  for (const tag of tags) {
    const shift = Number((await redis.hget(keysOf(tag).epoch, EPOCH.shift)) ?? 0)
    const asked = performance.now()
    const answer = (await lockScripts.serverTime.run(redis, [keysOf(tag).epoch], {})) as [string, string]
    const time = Number(answer[0]) * 1_000 + Number(answer[1]) / 1_000
    clocks.set(
      tag,
      isOne ? { least: 0, most: 0, shift } : { least: time - performance.now(), most: time - asked, shift },
    )
  }
  return clocks
}

/**
 * What is added to an instant that moves from one partition to another: what their times differ by, as far as that is known, and how
 * far one server's clock may be ahead of the other's. So a delay may end later there, but never earlier.
 */
export function aheadMs(clocks: Map<string, Clock>, from: string, to: string): number {
  const [here, there] = [clocks.get(from), clocks.get(to)]
  if (here === undefined || there === undefined) return 0
  return there.shift - here.shift + Math.max(0, there.most - here.least)
}
