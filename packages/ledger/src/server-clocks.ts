/** How far the clocks of a cluster's masters may be apart: what ends at an instant of one may move to another. */
import { keysOf } from './keys.ts'
import { mastersOf, type RedisLink } from './link.ts'

/** A server's clock against this process's, ms: it lies between. */
export type Clock = { least: number; most: number }

export async function clocksOf(redis: RedisLink, tags: string[]): Promise<Map<string, Clock>> {
  const clocks = new Map<string, Clock>()
  if (mastersOf(redis).length === 1) return clocks // one server, one clock
  for (const tag of tags) {
    const asked = performance.now()
    const answer = (await redis.eval(`return redis.call('TIME')`, 1, keysOf(tag).epoch)) as [string, string]
    const time = Number(answer[0]) * 1_000 + Number(answer[1]) / 1_000
    clocks.set(tag, { least: time - performance.now(), most: time - asked })
  }
  return clocks
}

/** How far one's clock may be ahead of another's: a silence that moves there ends by so much later, never earlier. */
export function aheadMs(clocks: Map<string, Clock>, from: string, to: string): number {
  return Math.max(0, (clocks.get(to)?.most ?? 0) - (clocks.get(from)?.least ?? 0))
}
