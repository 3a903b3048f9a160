/**
 * Moves one lane, or what is known of one origin, from one partition to another, while nothing else may write to either. A copy
 * replaces what an earlier try left behind, and the original is dropped in one step after all of it is copied. So a move that was
 * broken off anywhere can be made again.
 */
import { DEFAULT_CRAWL, isAssigned } from '@decorum/protocol'
import { hashesOf } from '@decorum/robots'
import {
  CRAWL,
  crawlOf,
  EPOCH,
  FIELD,
  KEY,
  keysOf,
  LAYOUT,
  LIST,
  type List,
  readLaneRecord,
  writeLaneRecord,
} from '../layout.ts'
import type { RedisLink } from '../link.ts'
import { listsIn } from '../records/lane-lists.ts'
import { decodeIn, idSlot } from '../records/pending-text.ts'
import { readState } from '../records/state-text.ts'
import { valuesOf } from '../scripts.ts'
import type { Change } from './change-lock.ts'

export type Mover = { redis: RedisLink; change: Change }

const ENTRIES = 1_000

/** Takes a lane out of its old partition in one step. ARGV[5] and on: crawls that are not the default one, and how many URLs less they have. */
const DROP_LANE = `local P, lane = ARGV[2], ARGV[3]
redis.call('UNLINK', P .. ':${KEY.normal}' .. lane, P .. ':${KEY.high}' .. lane, P .. ':${KEY.turns}' .. lane)
redis.call('HDEL', P .. ':${KEY.lanes}', lane)
redis.call('HINCRBY', P .. ':${KEY.counts}', 'parked', ARGV[4])
for i = 5, #ARGV, 2 do
  local crawl = ARGV[i]
  redis.call('UNLINK', P .. ':${LIST.normal}@' .. crawl .. ':' .. lane, P .. ':${LIST.high}@' .. crawl .. ':' .. lane)
  redis.call('SREM', P .. ':${KEY.lanesOf}' .. crawl, lane)
  redis.call('HINCRBY', P .. ':${KEY.crawl}' .. crawl, '${CRAWL.storedEver}', ARGV[i + 1])
end
return redis.call('ZREM', P .. ':${KEY.due}', lane)`

/** Of one crawl that is not the default one, before the lane itself is put. */
const PUT_CRAWL = `local P, lane, crawl = ARGV[2], ARGV[3], ARGV[4]
redis.call('HSET', KEYS[1], '${EPOCH.layout}', '${LAYOUT.withCrawls}')
redis.call('HSETNX', P .. ':${KEY.crawls}', crawl, '0')
if redis.call('SADD', P .. ':${KEY.lanesOf}' .. crawl, lane) == 1 then redis.call('HINCRBY', P .. ':${KEY.crawl}' .. crawl, '${CRAWL.storedEver}', ARGV[5]) end`

/** Puts a lane into its new partition, where it is counted once: the set of lanes that came stays until all have come. */
const PUT_LANE = `local P, lane = ARGV[2], ARGV[3]
if ARGV[7] ~= '' then redis.call('HSET', P .. ':${KEY.lanes}', lane, ARGV[7]) end
redis.call('ZADD', P .. ':${KEY.due}', ARGV[6], lane)
if redis.call('SADD', P .. ':${KEY.moved}', ARGV[4] .. ' ' .. lane) == 1 then redis.call('HINCRBY', P .. ':${KEY.counts}', 'parked', ARGV[5]) end`

const PUT_KEY = `redis.call('RESTORE', ARGV[2], ARGV[3], ARGV[4], 'REPLACE')`
const PUT_FIELD = `redis.call('HSET', ARGV[2], ARGV[3], ARGV[4])`
const DROP_KEY = `redis.call('UNLINK', ARGV[2])`
const EACH_ID = (command: 'SADD' | 'SREM') =>
  `for at = 3, #ARGV, 2 do redis.call('${command}', ARGV[2] .. ':${KEY.ids}' .. ARGV[at], ARGV[at + 1]) end`

/**
 * Nothing is done when the lane is not in its old partition: it has moved already.
 * @param aheadMs  how far the time of its new partition may be ahead of the old one's: its instants are moved on by that
 * @returns        how many URLs went along
 */
export async function moveLane(
  { redis, change }: Mover,
  from: string,
  to: string,
  lane: string,
  aheadMs: number,
): Promise<number> {
  const [here, there] = [keysOf(from), keysOf(to)]
  const due = await redis.zscore(here.due, lane)
  if (due === null) return 0
  const record = readLaneRecord((await redis.hget(here.lanes, lane)) ?? '')
  const head = record.first === '' ? [] : [record.first]
  let urls = head.length
  const crawls = new Map<string, number>()
  const lists = await listsIn(redis, here, lane)
  await eachId({ redis, change }, LIST.normal, head, to, 'SADD')
  for (const list of lists) {
    const count = await eachIdOf({ redis, change }, from, list, lane, to, 'SADD')
    await copyKey({ redis, change }, here.list(list, lane), to, there.list(list, lane))
    urls += count
    const crawl = crawlOf(list)
    if (crawl !== DEFAULT_CRAWL) crawls.set(crawl, (crawls.get(crawl) ?? 0) + count)
  }
  await copyKey({ redis, change }, here.turns(lane), to, there.turns(lane))
  for (const [crawl, count] of crawls) await change.write(to, PUT_CRAWL, to, lane, crawl, count)
  // A lane that a gate holds remembers its own due time, which moves on like the other.
  const { memory } = record
  if (memory?.ownDue) memory.ownDue = (Number(memory.ownDue) + aheadMs).toFixed(3)
  await change.write(to, PUT_LANE, to, lane, from, urls, String(Number(due) + aheadMs), writeLaneRecord(record))
  await eachId({ redis, change }, LIST.normal, head, from, 'SREM')
  for (const list of lists) await eachIdOf({ redis, change }, from, list, lane, from, 'SREM')
  const left = [...crawls].flatMap(([crawl, count]) => [crawl, -count])
  await change.write(from, DROP_LANE, from, lane, -urls, ...left)
  return urls
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
  if (slots.length > 0) await change.write(tag, EACH_ID(how), tag, ...slots)
}

/** Instants among the fields of an origin. Robots fetches are over when hosts move. */
const INSTANTS = [
  ...[FIELD.backOffUntil, FIELD.pausedUntil, FIELD.blockedUntil],
  ...[FIELD.overrideUntil, FIELD.robotsStateEnds],
]

/** Robots state, delays, back-off and operations, and the body that its rules are in. Does nothing when it has moved already. */
export async function moveOrigin(
  { redis, change }: Mover,
  from: string,
  to: string,
  origin: string,
  aheadMs: number,
): Promise<void> {
  const [here, there] = [keysOf(from), keysOf(to)]
  const [state, ...instants] = await redis.hmget(here.origin(origin), FIELD.robotsState, ...INSTANTS)
  for (const hash of hashesOf(readState(state ?? '')))
    await copyKey({ redis, change }, here.body(hash), to, there.body(hash))
  if (!(await copyKey({ redis, change }, here.origin(origin), to, there.origin(origin)))) return
  for (const [n, field] of INSTANTS.entries()) {
    const instant = instants[n]
    if (instant && aheadMs !== 0)
      await change.write(to, PUT_FIELD, there.origin(origin), field, (Number(instant) + aheadMs).toFixed(3))
  }
  await change.write(from, DROP_KEY, here.origin(origin))
}

/**
 * As it is, with the life it has left.
 * @returns  false when it is not there: what lies at its new place, brought by an earlier try, stays
 */
async function copyKey({ redis, change }: Mover, key: string, to: string, target: string): Promise<boolean> {
  // In one step: a key that expires between the two reads would stay for ever at its new place (a life of 0).
  const answers = await redis.multi().dumpBuffer(key).pttl(key).exec()
  const [body, life] = valuesOf(answers, 'copyKey') as [Buffer | null, number]
  if (body === null) return false
  await change.write(to, PUT_KEY, target, life === -1 ? 0 : Math.max(life, 1), body)
  return true
}
