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

/** Nobody of the fleet is alive, and no job of candidates is half way in: its marks speak of the old partitions. */
export async function quiet({ redis, leaseMs, quarantineMs }: Fleet, tags: string[]): Promise<void> {
  const settings = { partitions: tags.length, holdMs: leaseMs + quarantineMs, callDeadlineMs: CALL_MS }
  const alive = new Set<string>()
  for (const tag of tags)
    for (const member of (await scriptsOf(redis, keysOf(tag), settings).call('fleet', '', 0)).slice(3))
      alive.add(member.split(' ', 2).join(' '))
  if (alive.size > 0)
    throw new LedgerUnfitError(
      `processes of the fleet still run, or have within 5 s (${[...alive].join(', ')}): stop all gateways and fetchers first`,
    )
  for (const tag of tags) {
    const begun = await begunJobs(redis, tag)
    if (begun.length > 0)
      throw new LedgerUnfitError(
        `jobs of candidates are half way in (${begun.length} in ${tag}): start a gateway, let it finish them, stop it again`,
      )
  }
}

/** Jobs that a gateway has had in hand: `ats` counts how often. */
async function begunJobs(redis: RedisLink, tag: string): Promise<string[]> {
  const queue = `${tag}:${CANDIDATES}`
  const begun = await redis.lrange(`${queue}:active`, 0, -1)
  const look = async (ids: string[]): Promise<void> => {
    const pipeline = redis.pipeline()
    for (const id of ids) pipeline.hget(`${queue}:${id}`, 'ats')
    const answers = ids.length === 0 ? [] : ((await pipeline.exec()) ?? [])
    begun.push(...ids.filter((_, n) => Number(answers[n]?.[1] ?? 0) > 0))
  }
  await look(await redis.zrange(`${queue}:delayed`, '0', '-1'))
  for (let at = 0; ; at += PAGE) {
    const ids = await redis.lrange(`${queue}:wait`, at, at + PAGE - 1)
    await look(ids)
    if (ids.length < PAGE) return begun
  }
}

/**
 * What was granted ends: by its holder's word, which nobody hears any more, or by its time.
 * @param onLeases  told how many are out
 */
export async function leasesEnd(
  { redis, leaseMs, quarantineMs }: Fleet,
  tags: string[],
  gate: string,
  onLeases: (leases: number) => void,
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
      if (leases === 0) break
      onLeases(leases)
      await sleep(LOOK_MS)
    }
  }
}
