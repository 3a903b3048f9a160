/**
 * One change of partitions at a time. Whoever changes holds a lock that ends by itself, and has a number that only rises.
 * Each partition's epoch keeps the number of the change that shut its gate, and whatever is written there asks for it in the
 * same script: a run that was frozen, lost its lock and was overtaken changes nothing any more, wherever it wakes up.
 */
import { LedgerUnfitError } from './errors.ts'
import { keysOf, PARTITIONS_KEY, RETIRED_KEY } from './keys.ts'
import type { RedisLink } from './link.ts'
import type { Arg } from './scripts.ts'

const LOCK_KEY = '{decorum:partitions}:changing'
/** How many changes have begun: the latest one's number. */
const CHANGES_KEY = '{decorum:partitions}:changes'
const LIFE_MS = 10_000

const TAKE = `if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local number = redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], number, 'PX', ARGV[1])
return number`

/** Also when it has run out: no other change has begun since. */
const RENEW = `if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end`

const LET_GO = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`

const SHUT = `if tonumber(redis.call('HGET', KEYS[1], 'change') or '0') >= tonumber(ARGV[1]) then return redis.error_reply('OVERTAKEN change') end
redis.call('HSET', KEYS[1], 'change', ARGV[1], 'of', ARGV[2])`

const GUARD = `if redis.call('HGET', KEYS[1], 'change') ~= ARGV[1] then return redis.error_reply('OVERTAKEN change') end\n`

const WRITE_TAGS = `if redis.call('GET', KEYS[3]) ~= ARGV[1] then return redis.error_reply('OVERTAKEN change') end
redis.call('DEL', KEYS[1], KEYS[2])
local n = tonumber(ARGV[2])
redis.call('RPUSH', KEYS[1], unpack(ARGV, 3, n + 2))
if #ARGV > n + 2 then redis.call('RPUSH', KEYS[2], unpack(ARGV, n + 3)) end`

/** Every write throws LedgerUnfitError once another change has overtaken this one. */
export type Change = {
  /** Shuts a partition's gate; from then on it is this change that may write there. */
  shut(tag: string, gate: string): Promise<void>
  /** @param script  of one partition; its arguments are ARGV[2] and on */
  write(tag: string, script: string, ...args: Arg[]): Promise<unknown>
  writeTags(tags: string[], retired: string[]): Promise<void>
}

/** @throws LedgerUnfitError while another change has the lock */
export async function holdingChange<T>(redis: RedisLink, work: (change: Change) => Promise<T>): Promise<T> {
  const number = Number(await redis.eval(TAKE, 2, LOCK_KEY, CHANGES_KEY, LIFE_MS))
  if (number === 0)
    throw new LedgerUnfitError(
      `another 'decorum partitions' is at work, or was cut off within ${LIFE_MS / 1_000} s: let it end, then look again`,
    )
  const renew = setInterval(() => {
    redis.eval(RENEW, 2, LOCK_KEY, CHANGES_KEY, number, LIFE_MS).catch(() => undefined) // the next one, or it runs out
  }, LIFE_MS / 5)
  try {
    return await work(changeOf(redis, number))
  } finally {
    clearInterval(renew)
    await redis.eval(LET_GO, 1, LOCK_KEY, number).catch(() => undefined) // it runs out by itself
  }
}

function changeOf(redis: RedisLink, number: number): Change {
  const run = async (script: string, keys: string[], args: Arg[]): Promise<unknown> => {
    try {
      return await redis.eval(script, keys.length, ...keys, number, ...args)
    } catch (error) {
      if (!(error instanceof Error && error.message.includes('OVERTAKEN'))) throw error
      throw new LedgerUnfitError(`another 'decorum partitions' has overtaken this one, which has stopped`)
    }
  }
  // The second key is never there: while a slot is half moved, its partition refuses (keys.ts).
  const keys = (tag: string): string[] => [keysOf(tag).epoch, keysOf(tag).count('change')]
  return {
    async shut(tag, gate) {
      await run(SHUT, keys(tag), [gate])
    },
    write: (tag, script, ...args) => run(GUARD + script, keys(tag), args),
    async writeTags(tags, retired) {
      await run(WRITE_TAGS, [PARTITIONS_KEY, RETIRED_KEY, CHANGES_KEY], [tags.length, ...tags, ...retired])
    },
  }
}
