/** Before hosts move to other partitions: nobody is at work, nothing is half done, nothing is out. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CANDIDATES } from '@decorum/protocol'
import { LedgerUnfitError } from './errors.ts'
import { keysOf } from './keys.ts'
import type { RedisLink } from './link.ts'
import { scriptsOf } from './scripts.ts'

type Fleet = { redis: RedisLink; leaseMs: number; quarantineMs: number }

const LOOK_MS = 100
const CALL_MS = 10_000
const PAGE = 500

/**
 * Nobody of the fleet is alive, and no job of candidates is half way in: its marks speak of the old partitions.
 * @param tags        all of them: gateways take in by the queues of retired ones, too
 * @param partitions  how many there are, or the gate that is shut
 * @throws LedgerUnfitError
 */
export async function quiet(
  { redis, leaseMs, quarantineMs }: Fleet,
  tags: string[],
  partitions: number | string,
): Promise<void> {
  const settings = { partitions, holdMs: leaseMs + quarantineMs, callDeadlineMs: CALL_MS }
  const alive = new Set<string>()
  for (const tag of tags)
    for (const member of (await scriptsOf(redis, keysOf(tag), settings).call('fleet', '', 0)).slice(3))
      alive.add(member.split(' ', 2).join(' '))
  if (alive.size > 0)
    throw new LedgerUnfitError(
      `processes of the fleet still run, or have within 5 s (${[...alive].join(', ')}): stop all gateways and fetchers first`,
    )
  for (const tag of tags) {
    const started = await begunJobs(redis, tag)
    if (started.length > 0)
      throw new LedgerUnfitError(
        `jobs of candidates are half way in (${started.length} in ${tag}): start a gateway, let it finish them, stop it again`,
      )
  }
}

/** Jobs that a gateway has had in hand: `ats` counts how often. */
async function begunJobs(redis: RedisLink, tag: string): Promise<string[]> {
  const queue = `${tag}:${CANDIDATES}`
  const started = await redis.lrange(`${queue}:active`, 0, -1)
  const look = async (ids: string[]): Promise<void> => {
    const pipeline = redis.pipeline()
    for (const id of ids) pipeline.hget(`${queue}:${id}`, 'ats')
    const answers = ids.length === 0 ? [] : ((await pipeline.exec()) ?? [])
    started.push(...ids.filter((_, n) => Number(answers[n]?.[1] ?? 0) > 0))
  }
  // A job that was put off comes back by way of these; one with a priority of BullMQ's own, by `prioritized`.
  const pages: ((at: number) => Promise<string[]>)[] = [
    ...['delayed', 'prioritized'].map(
      (set) => (at: number) => redis.zrange(`${queue}:${set}`, String(at), String(at + PAGE - 1)),
    ),
    ...['wait', 'paused'].map((list) => (at: number) => redis.lrange(`${queue}:${list}`, at, at + PAGE - 1)),
  ]
  for (const page of pages) {
    for (let at = 0; ; at += PAGE) {
      const ids = await page(at)
      await look(ids)
      if (ids.length < PAGE) break
    }
  }
  return started
}

/**
 * What was granted ends: by its holder's word, which nobody hears any more, or by its time. What a Redis that forgot may have
 * granted ends with its hold, which is not taken along: it has to be over.
 * @param onWaiting  told how many leases are out, or how long the hold still is, ms
 */
export async function leasesEnd(
  { redis, leaseMs, quarantineMs }: Fleet,
  tags: string[],
  gate: string,
  onWaiting: (leases: number, holdMs: number) => void,
): Promise<void> {
  for (const tag of tags) {
    const scripts = scriptsOf(redis, keysOf(tag), {
      partitions: gate,
      holdMs: leaseMs + quarantineMs,
      callDeadlineMs: CALL_MS,
    })
    for (;;) {
      await scripts.call('reap', quarantineMs)
      const leases = await redis.hlen(`${tag}:leases`)
      const [, now, holdUntil] = await scripts.call('view', 'partition')
      const holdMs = Math.max(0, Number(holdUntil) - Number(now))
      if (leases === 0 && holdMs === 0) break
      onWaiting(leases, holdMs)
      await sleep(LOOK_MS)
    }
  }
}
