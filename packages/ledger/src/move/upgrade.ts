/**
 * Brings a ledger of layout 3, or of 4 with crawls, to this version's 5 and 6, while URLs wait and leases run:
 * docs/decisions/0021-upgrades.md.
 *
 * close    every partition refuses both versions; requests in flight still end
 * prepare  leases are written in the new form to a key beside the present one, and so are the lanes that a pause holds; a step back is
 * possible
 * switch   one script per partition puts these in place and records the instant; this version may then run there
 *
 * All other keys stay unchanged. Fixtures of both layouts are in test/ledger/layouts.
 */

import { ORDERS, systemClock } from '@decorum/protocol'
import { checkRedis, LedgerUnfitError, mastersOf, type RedisLink, readTags } from '../index.ts'
import { EPOCH, KEY, keysOf, LAYOUT } from '../stored.ts'
import { type Change, holdingChange } from './change-lock.ts'
import { upgradeScripts as steps } from './scripts.ts'

export type UpgradeOptions = {
  redis: RedisLink
  /** return to the earlier layout, while no partition has the new one */
  back?: boolean
  onProgress?: (progress: Upgraded) => void
}
export type Upgraded = {
  from: string
  to: string
  /** number of processes that were announced within the last 5 s: they are refused from the first step on */
  processes: number
  /** number of rewritten leases */
  leases: number
  /** number of lanes that a pause holds */
  lanes: number
  /** from the closing of the first partition to the opening of the last, ms: nothing is granted meanwhile */
  closedMs: number
}

/** The layouts that this version can upgrade. */
const FROM = ['3', '4']
const CALL_MS = 10_000
/** Number of entries in one step: it keeps Redis busy for a millisecond or two. */
const STEP = 200

async function allTags(redis: RedisLink): Promise<string[]> {
  const { tags, retired } = await readTags(redis)
  return [...tags, ...retired]
}

/**
 * The layouts of the partitions that were ever called, without duplicates; a change that is under way looks like `3>5`. The layout with
 * crawls is also this version's.
 */
export async function layoutsOf(redis: RedisLink): Promise<string[]> {
  const tags = await allTags(redis)
  const found = await Promise.all(tags.map((tag) => redis.hmget(keysOf(tag).epoch, EPOCH.layout, EPOCH.run)))
  const layouts = found.flatMap(([layout, run]) => ((layout ?? run) ? [layout ?? '1'] : []))
  return [...new Set(layouts.map((layout) => (layout === LAYOUT.withCrawls ? LAYOUT.version : layout)))]
}

/** A layout that is not this version's, without the target of a change; undefined: nothing is left to do. */
async function otherLayout(redis: RedisLink): Promise<string | undefined> {
  return (await layoutsOf(redis)).find((layout) => layout !== LAYOUT.version)?.split('>')[0]
}

/** Whether the ledger has an earlier layout that this version knows, and no process has announced itself for 5 s. */
export async function canUpgradeAlone(redis: RedisLink): Promise<boolean> {
  const from = await otherLayout(redis)
  return from !== undefined && FROM.includes(from) && (await processesOf(redis, await allTags(redis))) === 0
}

/**
 * Safe to repeat after an interruption: it resumes. A ledger with this version's layout is left unchanged.
 * @throws LedgerUnfitError for a layout that this version does not know, while another change is under way, and for a step back that comes
 * too late
 */
export async function upgrade(options: UpgradeOptions): Promise<Upgraded> {
  const { redis, back } = options
  await checkRedis(redis, { clock: systemClock, ms: CALL_MS })
  const to = LAYOUT.version
  const from = await otherLayout(redis)
  const done = { from: from ?? to, to, processes: 0, leases: 0, lanes: 0, closedMs: 0 }
  if (from === undefined && back)
    throw new LedgerUnfitError(`there is nothing to step back from: layout ${to} is in use`)
  if (from === undefined) return done
  if (!FROM.includes(from))
    throw new LedgerUnfitError(
      `this version cannot read layout ${from}: it knows ${[...FROM, to].join(', ')} (docs/upgrading.md)`,
    )
  return holdingChange(redis, (change) => underLock(options, change, done))
}

async function underLock(options: UpgradeOptions, change: Change, done: Upgraded): Promise<Upgraded> {
  const tags = await allTags(options.redis)
  done.processes = await processesOf(options.redis, tags)
  const closedAt = systemClock.monotonic()
  const closed: string[] = []
  const switched: string[] = []
  for (const tag of tags) {
    await change.take(tag)
    const stands = String(await change.run(tag, steps.begin, {}, FROM))
    if (stands === 'closed') closed.push(tag)
    else if (stands === 'switched') switched.push(tag)
    else if (stands !== 'unused')
      throw new LedgerUnfitError(
        `partition ${tag} has layout ${stands}, not ${FROM.join(' or ')} as others have: restore a backup`,
      )
  }
  if (options.back) {
    await stepBack(change, closed, switched.length)
    return done
  }
  await prepare(options, change, closed, done)
  for (const tag of closed) await change.run(tag, steps.switch, {})
  done.closedMs = Math.round(systemClock.monotonic() - closedAt)
  return done
}

async function stepBack(change: Change, closed: string[], switched: number): Promise<void> {
  if (switched > 0)
    throw new LedgerUnfitError(
      `a step back is too late: ${switched} partition${switched === 1 ? ' has' : 's have'} layout ${LAYOUT.version} already. Finish with 'decorum ledger upgrade', or restore a backup`,
    )
  for (const tag of closed) await change.run(tag, steps.stepBack, {})
}

async function prepare(
  { redis, onProgress }: UpgradeOptions,
  change: Change,
  closed: string[],
  done: Upgraded,
): Promise<void> {
  for (const tag of closed)
    for (const [what, step] of [
      ['leases', steps.putLeases],
      ['lanes', steps.holdLanes],
    ] as const) {
      let cursor = '0'
      do {
        const [next, count] = (await change.run(tag, step, { cursor, count: STEP })) as [string, number]
        cursor = next
        done[what] += count
        onProgress?.(done)
      } while (cursor !== '0')
    }
  await dropOrders(redis, change, closed)
}

/** Deletes waiting orders of the earlier version: their reservations expire, and the URLs stay first in their lanes. */
async function dropOrders(redis: RedisLink, change: Change, closed: string[]): Promise<void> {
  for (const server of mastersOf(redis)) {
    const pages: AsyncIterable<string[]> = server.scanStream({ match: `{decorum:*}:${ORDERS}:*`, count: 5 * STEP })
    for await (const keys of pages) {
      for (const tag of closed) {
        const found = keys.filter((key) => key.startsWith(`${tag}:`))
        if (found.length > 0) await change.write(tag, ['UNLINK', ...found])
      }
    }
  }
}

/** Number of announced processes, read without the ledger's script, which supports only one layout. */
async function processesOf(redis: RedisLink, tags: string[]): Promise<number> {
  const [seconds] = await redis.time()
  const found = await Promise.all(
    tags.map(async (tag) => {
      const shift = await redis.hget(keysOf(tag).epoch, EPOCH.shift)
      const now = Number(seconds) * 1_000 + Number(shift ?? 0)
      return redis.zrangebyscore(`${tag}:${KEY.fleet}`, now, '+inf', 'LIMIT', 0, 1_000)
    }),
  )
  return new Set(found.flat().map((member) => member.split(' ', 2).join(' '))).size
}
