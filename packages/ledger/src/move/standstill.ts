/** The conditions for moving hosts to other partitions: no process runs, no job is half done, no lease is left. */

import { CANDIDATES, type Clock } from '@decorum/protocol'
import { LedgerUnfitError, type RedisLink } from '../index.ts'
import { EPOCH, KEY, keysOf, type Scripts, scriptsOf } from '../stored.ts'

type Fleet = { redis: RedisLink; clock: Clock; leaseMs: number; quarantineMs: number }

const LOOK_MS = 100
const CALL_MS = 10_000
const PAGE = 500
/**
 * A process that ended without signing off is forgotten after the 5 s of its announcement, on the ledger's clock. While nothing called,
 * that clock stood still, and it continues after 2 s (lib/clock.lua). A running process announces itself each second.
 */
const FORGOTTEN_MS = 8_000

/**
 * The scripts of one check. A caller that has just started cannot vouch for the time before it, and a second call of the same caller must
 * not deny that time: so each check is a new caller.
 */
const look = ({ redis, clock, leaseMs, quarantineMs }: Fleet, tag: string, partitions: number | string): Scripts =>
  scriptsOf(redis, keysOf(tag), {
    partitions,
    holdMs: leaseMs + quarantineMs,
    longestLeaseMs: leaseMs,
    callDeadlineMs: CALL_MS,
    clock,
  })

/**
 * Checks that no process of the fleet runs, and that no job of candidates is partly taken in, because its marks are in the old partitions.
 * @param tags        all of them: gateways also take in from the queues of retired ones
 * @param partitions  the number of partitions, or the change that is under way (`2>6`)
 * @param onEnding    called with their number while processes that may have ended are announced
 * @throws LedgerUnfitError
 */
export async function quiet(
  fleet: Fleet,
  tags: readonly string[],
  partitions: number | string,
  onEnding: (processes: number) => void = () => undefined,
): Promise<void> {
  const { clock } = fleet
  const before = await announced(fleet, tags, partitions)
  const giveUpAt = clock.monotonic() + FORGOTTEN_MS
  for (let now = before; now.size > 0; now = await announced(fleet, tags, partitions)) {
    const running = [...now].filter(([name, until]) => until > (before.get(name) ?? 0)).map(([name]) => name)
    const alive = clock.monotonic() < giveUpAt ? running : [...now.keys()]
    if (alive.length > 0)
      throw new LedgerUnfitError(
        `processes of the fleet still run (${alive.join(', ')}): stop all gateways and fetchers first`,
      )
    onEnding(now.size)
    await clock.sleep(LOOK_MS)
  }
  for (const tag of tags) {
    const started = await begunJobs(fleet.redis, tag)
    if (started.length > 0)
      throw new LedgerUnfitError(
        `jobs of candidates are half way in (${started.length} in ${tag}): start a gateway, let it finish them, stop it again`,
      )
  }
}

/** The announced processes by role and id, and when each announcement expires. Consoles change nothing, so they may run. */
async function announced(
  fleet: Fleet,
  tags: readonly string[],
  partitions: number | string,
): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const tag of tags) {
    const scripts = look(fleet, tag, partitions)
    await scripts.call('fleet', { member: '', lifeMs: 0 }) // deletes expired announcements
    const flat = await fleet.redis.zrange(`${tag}:${KEY.fleet}`, '0', '-1', 'WITHSCORES')
    for (let at = 0; at < flat.length; at += 2) {
      const name = (flat[at] ?? '').split(' ', 2).join(' ')
      if (!name.startsWith('console ')) found.set(name, Math.max(found.get(name) ?? 0, Number(flat[at + 1])))
    }
  }
  return found
}

/**
 * Where a job that was begun may wait for its next turn: a deferred one passes through the first list, one with a BullMQ priority through
 * the second.
 */
const WAITING = ['delayed', 'prioritized', 'wait', 'paused']
const SORTED = WAITING.slice(0, 2)

/** Jobs that a gateway has begun: `ats` counts how often. */
async function begunJobs(redis: RedisLink, tag: string): Promise<string[]> {
  const queue = `${tag}:${CANDIDATES}`
  const begun = await redis.lrange(`${queue}:active`, 0, -1)
  for (const where of WAITING)
    for (let at = 0; ; at += PAGE) {
      const [key, first, last] = [`${queue}:${where}`, String(at), String(at + PAGE - 1)]
      const ids = await (SORTED.includes(where) ? redis.zrange(key, first, last) : redis.lrange(key, first, last))
      const times = await Promise.all(ids.map((id) => redis.hget(`${queue}:${id}`, 'ats')))
      begun.push(...ids.filter((_, n) => Number(times[n] ?? 0) > 0))
      if (ids.length < PAGE) break
    }
  return begun
}

/**
 * Waits until every lease has ended; leases expire, since no holder runs. A lease that Redis may have forgotten ends with the startup hold,
 * which does not move with the hosts and so must have ended. The same is true for a doubtful clock: instants that moved into a partition
 * whose time later jumps ahead would be too early by that much.
 * @param onWaiting  called with the number of leases, and how long the hold still lasts, ms
 */
export async function leasesEnd(
  fleet: Fleet,
  tags: readonly string[],
  gate: string,
  onWaiting: (leases: number, holdMs: number) => void,
): Promise<void> {
  const { redis, clock, quarantineMs } = fleet
  for (const tag of tags) {
    for (;;) {
      const scripts = look(fleet, tag, gate)
      await scripts.call('reap', { quarantineMs })
      const leases = await redis.hlen(keysOf(tag).leases)
      const [holdUntil, doubt] = await redis.hmget(keysOf(tag).epoch, EPOCH.holdUntil, EPOCH.doubt)
      const holdMs = Math.max(0, Number(holdUntil ?? 0) - scripts.now())
      if (leases === 0 && holdMs === 0 && doubt === null) break
      onWaiting(leases, holdMs)
      await clock.sleep(LOOK_MS)
    }
  }
}
