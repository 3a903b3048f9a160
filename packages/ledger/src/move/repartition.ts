/**
 * Changes the number of partitions of a ledger that is in use: hosts whose partition changes move, with everything that belongs to them by
 * KEY_MOVES. The fleet stands still meanwhile, and every partition refuses callers that know another number:
 * docs/decisions/0009-redis-cluster.md.
 */

import { type Clock, partitionTags, readUrl, systemClock } from '@decorum/protocol'
import { checkRedis, LedgerUnfitError, type RedisLink, readTags } from '../index.ts'
import { ANNOUNCED, type Arg, carryGroups, defineVerbs, EPOCH, KEY, keysOf, outboxMark } from '../stored.ts'
import { type Change, holdingChange } from './change-lock.ts'
import { dealLimits, spreadCrawls, spreadDocuments, spreadLoss } from './everywhere.ts'
import { homeOf, moveKeys, type Place } from './move-keys.ts'
import { moveLane } from './move-lane.ts'
import { measureClocks } from './server-clocks.ts'
import { leasesEnd, quiet } from './standstill.ts'
import { moveSums } from './sums.ts'

export type RepartitionOptions = {
  redis: RedisLink
  to: number
  leaseMs: number
  quarantineMs: number
  /** default: the real clock */
  clock?: Clock
  /** called often with the progress */
  onProgress?: (progress: RepartitionProgress) => void
}
export type RepartitionProgress =
  /** number of processes that are still announced, and may have ended */
  | { kind: 'ending'; processes: number }
  | {
      kind: 'waiting'
      /** number of leases that have not ended yet */
      leases: number
      /** remaining wait for leases that a Redis may have forgotten, ms */
      holdMs: number
    }
  | ({ kind: 'moving' } & Moved)
type Moved = { lanes: number; origins: number; urls: number }
export type Repartitioned = Moved & {
  from: number
  to: number
  /** tags without hosts, whose queues and streams are still read */
  retired: string[]
}

const CALL_MS = 10_000
const PAGE = 500

/**
 * Safe to repeat with the same number after an interruption.
 * @throws LedgerUnfitError when this Redis is unsuitable, processes of the fleet still run, a job is partly taken in, or another change is
 * under way
 */
export async function repartition({ clock = systemClock, ...options }: RepartitionOptions): Promise<Repartitioned> {
  const { redis } = options
  await checkRedis(redis, { clock, ms: CALL_MS })
  defineVerbs(redis)
  return holdingChange(redis, (change) => underLock({ clock, ...options }, change), clock)
}

async function underLock(options: RepartitionOptions & { clock: Clock }, change: Change): Promise<Repartitioned> {
  const { redis, to, clock, onProgress = () => undefined } = options
  const before = await readTags(redis)
  const [first] = before.tags
  if (first === undefined)
    throw new LedgerUnfitError('no fleet has run on this Redis yet: start one with DECORUM_PARTITIONS set')
  const [pending, moving] = await redis.hmget(keysOf(first).epoch, EPOCH.partitions, EPOCH.moving)
  const began = pending?.includes('>') ? pending : undefined
  if (began !== undefined && !began.endsWith(`>${to}`))
    throw new LedgerUnfitError(
      `a change of partitions (${began}) is not finished: give ${began.split('>')[1]} again first`,
    )
  const from = Number.parseInt(began ?? String(before.tags.length), 10)
  const done: Repartitioned = { from, to, lanes: 0, origins: 0, urls: 0, retired: before.retired }
  if (began === undefined && before.tags.length === to) return done

  const there = [...before.tags, ...before.retired]
  const tags = partitionTags(to, there)
  const [firstAfter = first] = tags
  const all = [...new Set([...there, ...tags])]
  const gate = `${from}>${to}`
  if (began === undefined) await quiet(options, there, from, (processes) => onProgress({ kind: 'ending', processes }))
  for (const tag of all) await change.take(tag, gate)
  const putAll = async (last: string, ...fields: Arg[]): Promise<void> => {
    // While the first partition is closed, the change can be resumed, so the first is opened last.
    for (const tag of [...all.filter((one) => one !== last), last])
      await change.write(tag, ['HSET', keysOf(tag).epoch, ...fields])
  }
  if (moving !== gate) {
    // A gateway that started before the partitions were closed may have begun a job since, so jobs are checked once more: from now on that
    // gateway can store nothing. After this check no job can be partly taken in, and a resumed change need not check again.
    await quiet(options, there, gate).catch(async (error: unknown) => {
      if (error instanceof LedgerUnfitError) await putAll(first, EPOCH.partitions, from)
      throw error
    })
    await putAll(first, EPOCH.moving, gate)
  }
  await leasesEnd(options, there, gate, (leases, holdMs) => onProgress({ kind: 'waiting', leases, holdMs }))

  const moved = (kind: 'lanes' | 'origins', urls = 0): void => {
    done[kind]++
    done.urls += urls
    onProgress({ kind: 'moving', ...done })
  }
  const place: Place = { redis, change, there, tags, all, ahead: await measureClocks(redis, clock, all), moved }
  if (before.tags.length !== to) await clearOutboxes(place, before.tags)
  await spreadDocuments(place)
  await spreadLoss(place)
  const crawls = await spreadCrawls(place)
  await moveLanes(place)
  await moveKeys(place)
  const retired = all.filter((tag) => !tags.includes(tag))
  for (const tag of retired) await moveSums(place, tag, firstAfter, crawls)
  await dealLimits(place, crawls)

  // Numbers of jobs and fences continue from the highest one, so that ids made of them are never given twice; also in retired queues,
  // because their place among the tags may become that of another partition. Frontiers go on adding jobs meanwhile, so the numbers of jobs
  // are only raised.
  const jobIdOf = (tag: string): string => `${tag}:${KEY.candidateJob}id`
  const jobs = await numbersOf(all, (tag) => redis.get(jobIdOf(tag)))
  for (const [n, tag] of all.entries())
    await change.write(tag, ['INCRBY', jobIdOf(tag), Math.max(...jobs) - (jobs[n] ?? 0)])
  const fence = Math.max(...(await numbersOf(all, (tag) => redis.hget(keysOf(tag).epoch, EPOCH.fence))))
  await carryGroups(redis, there, tags)
  await change.writeTags(tags, retired)
  for (const tag of all) await change.write(tag, ['UNLINK', keysOf(tag).moved])
  // Every lease has ended, and the hosts have just arrived: the first call of a new partition need not wait.
  const opened = [EPOCH.partitions, to, EPOCH.fence, fence, EPOCH.moving, '', EPOCH.restartAnnounced, ANNOUNCED.plain]
  await putAll(firstAfter, ...opened)
  return { ...done, retired }
}

async function moveLanes(place: Place): Promise<void> {
  const { redis, all, tags, ahead, moved } = place
  for (const from of all) {
    const pages: AsyncIterable<string[]> = redis.zscanStream(keysOf(from).due, { count: PAGE })
    for await (const flat of pages)
      for (const lane of flat.filter((_, at) => at % 2 === 0)) {
        const to = homeOf(tags, 'lane', lane, from)
        if (to !== from) moved('lanes', await moveLane(place, from, to, lane, ahead(from, to)))
      }
  }
}

/** Deletes entries whose candidate is already stored: its mark is in the partition to which its host belonged. */
async function clearOutboxes({ redis, change, there }: Place, tags: string[]): Promise<void> {
  for (const tag of there) {
    const { outbox } = keysOf(tag)
    for (const [id, fields] of await redis.xrange(outbox, '-', '+')) {
      const at = readUrl((JSON.parse(fields[1] ?? '{}') as { url?: string }).url ?? '')
      const home = 'refused' in at ? tag : homeOf(tags, 'origin', at.origin, tag)
      const mark = keysOf(home).mark(outboxMark(tag, id))
      if ((await redis.exists(mark)) === 1) await change.write(tag, ['XDEL', outbox, id])
    }
  }
}

async function numbersOf(tags: readonly string[], read: (tag: string) => Promise<string | null>): Promise<number[]> {
  return (await Promise.all(tags.map(read))).map((one) => Number(one ?? 0))
}
