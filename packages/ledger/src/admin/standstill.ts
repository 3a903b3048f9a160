/** What must hold before hosts move to other partitions: no process runs, no job is half done, no lease is left. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CANDIDATES } from '@decorum/protocol'
import { LedgerUnfitError } from '../errors.ts'
import { keysOf } from '../layout.ts'
import type { RedisLink } from '../link.ts'
import { scriptsOf, valuesOf } from '../scripts.ts'
import { fleet } from '../verbs/fleet.ts'
import { reap } from '../verbs/reap.ts'
import { viewPartition } from './view-partition.ts'

type Fleet = { redis: RedisLink; leaseMs: number; quarantineMs: number }

const LOOK_MS = 100
const CALL_MS = 10_000
const PAGE = 500

/**
 * No process of the fleet runs, and no job of candidates is half way in, because its marks lie in the old partitions.
 * @param tags        all of them: gateways take in by the queues of retired ones, too
 * @param partitions  how many there are, or the change that is under way (`2>6`)
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
    for (const member of (await fleet(scriptsOf(redis, keysOf(tag), settings))).members)
      if (!member.startsWith('console ')) alive.add(member.split(' ', 2).join(' '))
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

/** Jobs that a gateway has begun: `ats` counts how often. */
async function begunJobs(redis: RedisLink, tag: string): Promise<string[]> {
  const queue = `${tag}:${CANDIDATES}`
  const started = await redis.lrange(`${queue}:active`, 0, -1)
  const look = async (ids: string[]): Promise<void> => {
    const pipeline = redis.pipeline()
    for (const id of ids) pipeline.hget(`${queue}:${id}`, 'ats')
    const begun = ids.length === 0 ? [] : (valuesOf(await pipeline.exec(), 'begunJobs') as (string | null)[])
    started.push(...ids.filter((_, n) => Number(begun[n] ?? 0) > 0))
  }
  // A job that was deferred comes back by way of these; one with a priority of BullMQ, by `prioritized`.
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
 * Waits until every lease has ended, which it does by its time, since no holder runs. A lease that Redis may have forgotten ends with
 * the startup hold, which does not move with the hosts and so has to be over.
 * @param onWaiting  called with how many leases there are, and how long the hold still lasts, ms
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
      await reap(scripts, { quarantineMs })
      const leases = await redis.hlen(keysOf(tag).leases)
      const { now, holdUntil = 0 } = await viewPartition(scripts, tag)
      const holdMs = Math.max(0, holdUntil - now)
      if (leases === 0 && holdMs === 0) break
      onWaiting(leases, holdMs)
      await sleep(LOOK_MS)
    }
  }
}
