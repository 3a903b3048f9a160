/** How far apart the times of partitions are: what ends at an instant of one may move to another. */
import { keysOf } from './keys.ts'
import { mastersOf, type RedisLink } from './link.ts'

/** A server's clock against this process's, ms: it lies between; and how far the partition's time is ahead of that clock. */
export type Clock = { least: number; most: number; shift: number }

export async function clocksOf(redis: RedisLink, tags: string[]): Promise<Map<string, Clock>> {
  const clocks = new Map<string, Clock>()
  const isOne = mastersOf(redis).length === 1 // one server, one clock
  for (const tag of tags) {
    const shift = Number((await redis.hget(keysOf(tag).epoch, 'shift')) ?? 0)
    const asked = performance.now()
    const answer = (await redis.eval(`return redis.call('TIME')`, 1, keysOf(tag).epoch)) as [string, string]
    const time = Number(answer[0]) * 1_000 + Number(answer[1]) / 1_000
    clocks.set(
      tag,
      isOne ? { least: 0, most: 0, shift } : { least: time - performance.now(), most: time - asked, shift },
    )
  }
  return clocks
}

/**
 * What is added to an instant that moves from one partition to another: what their times differ by, as far as it is known,
 * and how far one server's clock may be ahead of the other's. A silence ends there later by that, never earlier.
 */
export function aheadMs(clocks: Map<string, Clock>, from: string, to: string): number {
  const [here, there] = [clocks.get(from), clocks.get(to)]
  if (here === undefined || there === undefined) return 0
  return there.shift - here.shift + Math.max(0, there.most - here.least)
}
