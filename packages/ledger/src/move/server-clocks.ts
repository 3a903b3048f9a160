/** Measures how far the times of partitions differ, for instants that move from one to another. */

import type { Clock } from '@decorum/protocol'
import { mastersOf, type RedisLink } from '../index.ts'
import { EPOCH, keysOf } from '../stored.ts'
import { changeScripts } from './scripts.ts'

/**
 * The amount that is added to an instant that moves from one partition to another, ms: the known difference of their times, plus how far
 * one server's clock may be ahead of the other's. So a delay may end later there, but never earlier.
 */
export type Ahead = (from: string, to: string) => number

export async function measureClocks(redis: RedisLink, clock: Clock, tags: readonly string[]): Promise<Ahead> {
  /**
   * How far a server's clock is ahead of this process's: between `least` and `most`; and how far the partition's time is ahead of that
   * clock: `shift`.
   */
  const clocks = new Map<string, { least: number; most: number; shift: number }>()
  const isOneServer = mastersOf(redis).length === 1
  for (const tag of tags) {
    const { epoch } = keysOf(tag)
    const shift = Number((await redis.hget(epoch, EPOCH.shift)) ?? 0)
    const sentAt = clock.monotonic()
    const [seconds = 0, micros = 0] = ((await changeScripts.serverTime.run(redis, [epoch], {})) as string[]).map(Number)
    const time = seconds * 1_000 + micros / 1_000
    const [least, most] = isOneServer ? [0, 0] : [time - clock.monotonic(), time - sentAt]
    clocks.set(tag, { least, most, shift })
  }
  return (from, to) => {
    const [here, there] = [clocks.get(from), clocks.get(to)]
    if (here === undefined || there === undefined) return 0
    return there.shift - here.shift + Math.max(0, there.most - here.least)
  }
}
