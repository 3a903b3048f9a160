/**
 * One lane, or what is known of one origin, from one partition to another, while nobody else may write to either. A copy
 * replaces what an earlier try left behind, and the original goes in one step after all of it is there: cut off anywhere,
 * the same move can be made again.
 */
import { isAssigned } from '@decorum/protocol'
import { decodeEntry, idSlot } from './entry.ts'
import { keysOf } from './keys.ts'
import type { RedisLink } from './link.ts'
import { readState } from './state-text.ts'

const ENTRIES = 1_000

/** Takes a lane out of its old partition at once. */
const DROP_LANE = `local P, lane = ARGV[1], ARGV[2]
redis.call('UNLINK', P .. ':q:' .. lane, P .. ':h:' .. lane)
redis.call('HDEL', P .. ':mem', lane)
redis.call('HINCRBY', P .. ':counts', 'parked', ARGV[3])
return redis.call('ZREM', P .. ':due', lane)`

/** Counts it where it has come to: once, since the set of those that came stays until all have. */
const COUNT_LANE = `if redis.call('SADD', ARGV[1] .. ':moved', ARGV[2]) == 0 then return 0 end
return redis.call('HINCRBY', ARGV[1] .. ':counts', 'parked', ARGV[3])`

/**
 * @param aheadMs  how far the clock of its new server may be ahead of the old one's: its silence is that much longer there
 * @returns        how many URLs went along
 */
export async function moveLane(
  redis: RedisLink,
  from: string,
  to: string,
  lane: string,
  due: number,
  aheadMs: number,
): Promise<number> {
  let urls = 0
  for (const list of ['q', 'h']) {
    urls += await copyIds(redis, `${from}:${list}:${lane}`, from, to, 'SADD')
    await copyKey(redis, `${from}:${list}:${lane}`, `${to}:${list}:${lane}`)
  }
  const memory = await redis.hget(`${from}:mem`, lane)
  if (memory === null) await redis.hdel(`${to}:mem`, lane)
  else await redis.hset(`${to}:mem`, lane, later(memory, aheadMs))
  await redis.zadd(`${to}:due`, due + aheadMs, lane)
  await redis.eval(COUNT_LANE, 1, keysOf(to).epoch, to, `${from} ${lane}`, urls)
  for (const list of ['q', 'h']) await copyIds(redis, `${from}:${list}:${lane}`, from, to, 'SREM')
  await redis.eval(DROP_LANE, 1, keysOf(from).epoch, from, lane, String(-urls))
  return urls
}

/** A lane that is put off remembers its own clock (tries|list|clock|why|high, lua/common.lua): it moves like the other. */
function later(memory: string, aheadMs: number): string {
  const [tries, list, clock, ...rest] = memory.split('|')
  return [tries, list, clock ? (Number(clock) + aheadMs).toFixed(3) : '', ...rest].join('|')
}

/** Ids of a list's URLs are stored where the list is: SADD there, or SREM here. */
async function copyIds(
  redis: RedisLink,
  list: string,
  from: string,
  to: string,
  how: 'SADD' | 'SREM',
): Promise<number> {
  for (let at = 0; ; at += ENTRIES) {
    const entries = await redis.lrange(list, at, at + ENTRIES - 1)
    const pipeline = redis.pipeline()
    for (const entry of entries) {
      const { id } = decodeEntry(entry, 'normal')
      if (isAssigned(id)) continue
      const { bucket, number } = idSlot(id)
      if (how === 'SADD') pipeline.sadd(`${to}:ids:${bucket}`, number)
      else pipeline.srem(`${from}:ids:${bucket}`, number)
    }
    await run(pipeline)
    if (entries.length < ENTRIES) return at + entries.length
  }
}

/** Robots state, gaps, back-off, an operator's hand; and the body that its rules are in. */
export async function moveOrigin(
  redis: RedisLink,
  from: string,
  to: string,
  origin: string,
  aheadMs: number,
): Promise<void> {
  const [here, there] = [keysOf(from), keysOf(to)]
  const [state, backOff] = await redis.hmget(here.origin(origin), 's', 'bu')
  const { hash } = readState(state ?? '').copy ?? {}
  if (hash !== undefined) await copyKey(redis, here.body(hash), there.body(hash))
  await copyKey(redis, here.origin(origin), there.origin(origin))
  if (backOff && aheadMs > 0) await redis.hset(there.origin(origin), 'bu', (Number(backOff) + aheadMs).toFixed(3))
  await redis.unlink(here.origin(origin))
}

/** As it is, with the life it has left; what is not there is not there afterwards. */
async function copyKey(redis: RedisLink, from: string, to: string): Promise<void> {
  const [body, life] = [await redis.dumpBuffer(from), await redis.pttl(from)]
  if (body === null) await redis.unlink(to)
  else await redis.restore(to, Math.max(life, 0), body, 'REPLACE')
}

async function run(pipeline: ReturnType<RedisLink['pipeline']>): Promise<void> {
  if (pipeline.length === 0) return
  for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error
}
