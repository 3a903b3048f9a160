/**
 * One lane, or what is known of one origin, from one partition to another, while nobody else may write to either. A copy
 * replaces what an earlier try left behind, and the original goes in one step after all of it is there: cut off anywhere,
 * the same move can be made again.
 */
import { isAssigned } from '@decorum/protocol'
import { hashesOf } from '@decorum/robots'
import type { Change } from './change-lock.ts'
import { decodeEntry, idSlot } from './entry.ts'
import { keysOf } from './keys.ts'
import { partsOf } from './lane-lists.ts'
import type { RedisLink } from './link.ts'
import { readState } from './state-text.ts'

export type Mover = { redis: RedisLink; change: Change }

const ENTRIES = 1_000

/** Takes a lane out of its old partition at once. */
const DROP_LANE = `local P, lane = ARGV[2], ARGV[3]
redis.call('UNLINK', P .. ':q:' .. lane, P .. ':h:' .. lane)
redis.call('HDEL', P .. ':lanes', lane)
redis.call('HINCRBY', P .. ':counts', 'parked', ARGV[4])
return redis.call('ZREM', P .. ':due', lane)`

/** Its clock and memory; and it is counted where it has come to: once, since the set of those that came stays until all have. */
const PUT_LANE = `local P, lane = ARGV[2], ARGV[3]
if ARGV[7] ~= '' then redis.call('HSET', P .. ':lanes', lane, ARGV[7]) end
redis.call('ZADD', P .. ':due', ARGV[6], lane)
if redis.call('SADD', P .. ':moved', ARGV[4] .. ' ' .. lane) == 1 then redis.call('HINCRBY', P .. ':counts', 'parked', ARGV[5]) end`

const PUT_KEY = `redis.call('RESTORE', ARGV[2], ARGV[3], ARGV[4], 'REPLACE')`
const PUT_FIELD = `redis.call('HSET', ARGV[2], ARGV[3], ARGV[4])`
const DROP_KEY = `redis.call('UNLINK', ARGV[2])`
const EACH_ID = (command: 'SADD' | 'SREM') =>
  `for at = 3, #ARGV, 2 do redis.call('${command}', ARGV[2] .. ':ids:' .. ARGV[at], ARGV[at + 1]) end`

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
  const due = await redis.zscore(`${from}:due`, lane)
  if (due === null) return 0
  const { memory, first } = partsOf((await redis.hget(`${from}:lanes`, lane)) ?? '')
  const head = first === '' ? [] : [first.replace(/^\+/, '')]
  let urls = head.length
  await eachId({ redis, change }, head, to, 'SADD')
  for (const list of ['q', 'h']) {
    urls += await eachIdOf({ redis, change }, `${from}:${list}:${lane}`, to, 'SADD')
    await copyKey({ redis, change }, `${from}:${list}:${lane}`, to, `${to}:${list}:${lane}`)
  }
  const record = later(memory, aheadMs) + first
  await change.write(to, PUT_LANE, to, lane, from, urls, String(Number(due) + aheadMs), record)
  await eachId({ redis, change }, head, from, 'SREM')
  for (const list of ['q', 'h']) await eachIdOf({ redis, change }, `${from}:${list}:${lane}`, from, 'SREM')
  await change.write(from, DROP_LANE, from, lane, -urls)
  return urls
}

/** A lane that is put off remembers its own clock: it moves like the other. */
function later(memory: string, aheadMs: number): string {
  if (memory === '') return ''
  const [none, tries, list, clock, ...rest] = memory.split('|')
  return [none, tries, list, clock ? (Number(clock) + aheadMs).toFixed(3) : '', ...rest].join('|')
}

/** @returns how many URLs the list has */
async function eachIdOf(mover: Mover, list: string, tag: string, how: 'SADD' | 'SREM'): Promise<number> {
  for (let at = 0; ; at += ENTRIES) {
    const entries = await mover.redis.lrange(list, at, at + ENTRIES - 1)
    await eachId(mover, entries, tag, how)
    if (entries.length < ENTRIES) return at + entries.length
  }
}

/** Ids of a lane's URLs are stored where the lane is: SADD in its new partition, or SREM in its old one. */
async function eachId({ change }: Mover, entries: string[], tag: string, how: 'SADD' | 'SREM'): Promise<void> {
  const ids = entries.map((entry) => decodeEntry(entry, 'normal').id).filter((id) => !isAssigned(id))
  const slots = ids.map(idSlot).flatMap(({ bucket, number }) => [bucket, number])
  if (slots.length > 0) await change.write(tag, EACH_ID(how), tag, ...slots)
}

/** Of an origin (lua/common.lua): the ends of back-off, pause, block and delay by hand. */
const INSTANTS = ['bu', 'pu', 'ku', 'oe', 'se']

/** Robots state, delays, back-off, an operator's hand; and the body that its rules are in. Nothing, when it has moved already. */
export async function moveOrigin(
  { redis, change }: Mover,
  from: string,
  to: string,
  origin: string,
  aheadMs: number,
): Promise<void> {
  const [here, there] = [keysOf(from), keysOf(to)]
  const [state, ...instants] = await redis.hmget(here.origin(origin), 's', ...INSTANTS)
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
  // Of one moment: a key that ends between the two would be there for ever at its new place (a life of 0).
  const answers = await redis.multi().dumpBuffer(key).pttl(key).exec()
  const [body = null, life = -1] = (answers ?? []).map(([, value]) => value as Buffer | number | null)
  if (body === null) return false
  await change.write(to, PUT_KEY, target, life === -1 ? 0 : Math.max(Number(life), 1), body)
  return true
}
