/**
 * Moves one lane from one partition to another, while nothing else may write to either. A copy replaces the remains of an earlier try, and
 * the original is deleted in one step after all of it is copied. So an interrupted move can be repeated.
 */

import { DEFAULT_CRAWL, isAssigned } from '@decorum/protocol'
import {
  type Arg,
  CRAWL,
  crawlOf,
  decodeIn,
  EPOCH,
  idSlot,
  type Keys,
  keysOf,
  LAYOUT,
  LIST,
  type List,
  listsIn,
  MEMORY_INSTANTS,
  readLaneRecord,
  writeLaneRecord,
} from '../stored.ts'
import { copyKey, type Mover } from './copy-key.ts'

const ENTRIES = 1_000
const INSTANTS = (Object.keys(MEMORY_INSTANTS) as (keyof typeof MEMORY_INSTANTS)[]).filter(
  (name) => MEMORY_INSTANTS[name],
)

/**
 * Does nothing when the lane is not in its old partition: it has already moved.
 * @param aheadMs  how far the time of its new partition may be ahead of the old one's; added to its instants
 * @returns        how many URLs moved with it
 */
export async function moveLane(mover: Mover, from: string, to: string, lane: string, aheadMs: number): Promise<number> {
  const { redis, change } = mover
  const [here, there] = [keysOf(from), keysOf(to)]
  const score = await redis.zscore(here.due, lane)
  if (score === null) return 0
  // A place in the line of due lanes is meaningless in another partition: there the lane is due from now on.
  const due = Number(score) >= 0 ? Number(score) : Number(await redis.hget(here.epoch, EPOCH.now))
  const { memory, ...urlsOfRecord } = readLaneRecord((await redis.hget(here.lanes, lane)) ?? '')
  for (const name of INSTANTS) if (memory?.[name]) memory[name] = (Number(memory[name]) + aheadMs).toFixed(3)
  const lists = await listsIn(redis, here, lane)
  /** Adds or removes the ids of the lane's URLs in a partition; returns the number of URLs by crawl. */
  const eachId = async (how: 'SADD' | 'SREM', keys: Keys): Promise<Map<string, number>> => {
    const counts = new Map(lists.map((list) => [crawlOf(list), 0]))
    for await (const [list, entries] of urlsOf(mover, here, lane, lists, urlsOfRecord.first)) {
      const crawl = crawlOf(list)
      counts.set(crawl, (counts.get(crawl) ?? 0) + entries.length)
      const ids = entries.map((entry) => decodeIn(list, entry).id).filter((id) => !isAssigned(id))
      const slots = ids.map((id) => idSlot(id, crawl))
      if (slots.length > 0)
        await change.write(keys.tag, ...slots.map(({ bucket, number }) => [how, keys.ids(bucket), number]))
    }
    return counts
  }
  const counts = await eachId('SADD', there)
  for (const list of lists) await copyKey(mover, here.list(list, lane), to, there.list(list, lane))
  await copyKey(mover, here.turns(lane), to, there.turns(lane))

  const urls = [...counts.values()].reduce((sum, one) => sum + one, 0)
  const crawls = [...counts].filter(([crawl]) => crawl !== DEFAULT_CRAWL)
  const counted = (keys: Keys, sign: 1 | -1): Arg[][] => [
    ['HINCRBY', keys.counts, 'parked', sign * urls],
    ...crawls.map(([crawl, count]) => ['HINCRBY', keys.crawl(crawl), CRAWL.storedEver, sign * count]),
  ]
  const record = writeLaneRecord({ memory, ...urlsOfRecord })
  // URLs are counted once, however often the move is repeated.
  const mark = `lane ${from} ${lane}`
  const isCounted = (await redis.sismember(there.moved, mark)) === 1
  await change.write(
    to,
    ...(record === '' ? [] : [['HSET', there.lanes, lane, record]]),
    ['ZADD', there.due, String(due + aheadMs), lane],
    ...crawls.flatMap(([crawl]): Arg[][] => [
      ['HSET', there.epoch, EPOCH.layout, LAYOUT.withCrawls],
      ['HSETNX', there.crawls, crawl, '0'],
      ['SADD', there.lanesOf(crawl), lane],
    ]),
    ...(isCounted ? [] : [['SADD', there.moved, mark], ...counted(there, 1)]),
  )
  await eachId('SREM', here)
  await change.write(
    from,
    ['ZREM', here.due, lane],
    ['HDEL', here.lanes, lane],
    ['UNLINK', here.turns(lane), ...lists.map((list) => here.list(list, lane))],
    ...crawls.map(([crawl]) => ['SREM', here.lanesOf(crawl), lane]),
    ...counted(here, -1),
  )
  return urls
}

/** @param first  the first URL, from the record of the lane; it precedes the list q */
async function* urlsOf(
  { redis }: Mover,
  here: Keys,
  lane: string,
  lists: List[],
  first: string,
): AsyncGenerator<[List, string[]]> {
  if (first !== '') yield [LIST.normal, [first]]
  for (const list of lists)
    for (let at = 0; ; at += ENTRIES) {
      const entries = await redis.lrange(here.list(list, lane), at, at + ENTRIES - 1)
      yield [list, entries]
      if (entries.length < ENTRIES) break
    }
}
