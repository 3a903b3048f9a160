/**
 * Moves one lane from one partition to another, while nothing else may write to either. A copy replaces what an earlier try left behind,
 * and the original is dropped in one step after all of it is copied. So a move that was broken off anywhere can be made again.
 */
import {
  crawlOf,
  decodeIn,
  idSlot,
  keysOf,
  LIST,
  type List,
  listsIn,
  MEMORY_INSTANTS,
  readLaneRecord,
  writeLaneRecord,
} from '@decorum/ledger/stored'
import { DEFAULT_CRAWL, isAssigned } from '@decorum/protocol'
import { copyKey, type Mover } from './copy-key.ts'
import { moveScripts } from './scripts.ts'

const ENTRIES = 1_000

/**
 * Nothing is done when the lane is not in its old partition: it has moved already.
 * @param aheadMs  how far the time of its new partition may be ahead of the old one's: its instants are moved on by that
 * @returns        how many URLs went along
 */
export async function moveLane(mover: Mover, from: string, to: string, lane: string, aheadMs: number): Promise<number> {
  const { redis, change } = mover
  const [here, there] = [keysOf(from), keysOf(to)]
  const due = await redis.zscore(here.due, lane)
  if (due === null) return 0
  const record = readLaneRecord((await redis.hget(here.lanes, lane)) ?? '')
  const first = record.first === '' ? [] : [record.first]
  let urls = first.length
  const crawls = new Map<string, number>()
  const lists = await listsIn(redis, here, lane)
  await eachId(mover, LIST.normal, first, to, 'SADD')
  for (const list of lists) {
    const count = await eachIdOf(mover, from, list, lane, to, 'SADD')
    await copyKey(mover, here.list(list, lane), to, there.list(list, lane))
    urls += count
    const crawl = crawlOf(list)
    if (crawl !== DEFAULT_CRAWL) crawls.set(crawl, (crawls.get(crawl) ?? 0) + count)
  }
  await copyKey(mover, here.turns(lane), to, there.turns(lane))
  const { memory } = record
  if (memory !== undefined) moveOn(memory, aheadMs)
  const ofCrawls = [...crawls].flat()
  const put = { lane, from, urls, due: String(Number(due) + aheadMs), record: writeLaneRecord(record) }
  await change.write(to, moveScripts.putLane, put, ofCrawls)
  await eachId(mover, LIST.normal, first, from, 'SREM')
  for (const list of lists) await eachIdOf(mover, from, list, lane, from, 'SREM')
  await change.write(from, moveScripts.dropLane, { lane, urls }, ofCrawls)
  return urls
}

function moveOn(memory: Record<keyof typeof MEMORY_INSTANTS, string>, aheadMs: number): void {
  for (const name of Object.keys(memory) as (keyof typeof memory)[])
    if (MEMORY_INSTANTS[name] && memory[name] !== '') memory[name] = (Number(memory[name]) + aheadMs).toFixed(3)
}

/** @returns how many URLs the list has */
async function eachIdOf(
  mover: Mover,
  from: string,
  list: List,
  lane: string,
  tag: string,
  how: 'SADD' | 'SREM',
): Promise<number> {
  for (let at = 0; ; at += ENTRIES) {
    const entries = await mover.redis.lrange(keysOf(from).list(list, lane), at, at + ENTRIES - 1)
    await eachId(mover, list, entries, tag, how)
    if (entries.length < ENTRIES) return at + entries.length
  }
}

/** Ids of a lane's URLs are stored where the lane is: SADD in its new partition, or SREM in its old one. */
async function eachId(
  { change }: Mover,
  list: List,
  entries: string[],
  tag: string,
  how: 'SADD' | 'SREM',
): Promise<void> {
  const ids = entries.map((entry) => decodeIn(list, entry).id).filter((id) => !isAssigned(id))
  const slots = ids.map((id) => idSlot(id, crawlOf(list))).flatMap(({ bucket, number }) => [bucket, number])
  if (slots.length > 0) await change.write(tag, moveScripts.putIds, { how }, slots)
}
