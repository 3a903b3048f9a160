/**
 * One change of a whole ledger at a time: of the number of partitions, or of the layout. A change holds a lock that ends by itself, and has a number that only rises. The epoch of each
 * partition keeps the number of the change that closed it, and every write there checks it in the same script. So a run that was
 * frozen, lost its lock and was overtaken changes nothing any more, wherever it wakes up.
 */
import type { Arg } from '../calls.ts'
import { LedgerUnfitError } from '../errors.ts'
import { CHANGE_LOCK_KEY, CHANGES_KEY, EPOCH, keysOf, PARTITIONS_KEY, RETIRED_KEY } from '../layout.ts'
import type { RedisLink } from '../link.ts'

const LIFE_MS = 10_000

const TAKE = `if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local number = redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], number, 'PX', ARGV[1])
return number`

/** Also when the lock has run out, as long as no other change has begun since. */
const RENEW = `if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end`

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`

const CLOSE = `if tonumber(redis.call('HGET', KEYS[1], '${EPOCH.change}') or '0') >= tonumber(ARGV[1]) then return redis.error_reply('OVERTAKEN change') end
redis.call('HSET', KEYS[1], '${EPOCH.change}', ARGV[1])
if ARGV[2] then redis.call('HSET', KEYS[1], '${EPOCH.partitions}', ARGV[2]) end`

const GUARD = `if redis.call('HGET', KEYS[1], '${EPOCH.change}') ~= ARGV[1] then return redis.error_reply('OVERTAKEN change') end\n`

const WRITE_TAGS = `if redis.call('GET', KEYS[3]) ~= ARGV[1] then return redis.error_reply('OVERTAKEN change') end
redis.call('DEL', KEYS[1], KEYS[2])
local n = tonumber(ARGV[2])
redis.call('RPUSH', KEYS[1], unpack(ARGV, 3, n + 2))
if #ARGV > n + 2 then redis.call('RPUSH', KEYS[2], unpack(ARGV, n + 3)) end`

/** Every write throws LedgerUnfitError once another change has overtaken this one. */
export type Change = {
  /** From here on this change may write to a partition, and no earlier one. */
  take(tag: string): Promise<void>
  /** Closes a partition to all that know another number; from then on this change may write there. */
  close(tag: string, gate: string): Promise<void>
  /** @param script  of one partition; its arguments are ARGV[2] and on */
  write(tag: string, script: string, ...args: Arg[]): Promise<unknown>
  writeTags(tags: string[], retired: string[]): Promise<void>
}

/** @throws LedgerUnfitError while another change has the lock */
export async function holdingChange<T>(redis: RedisLink, work: (change: Change) => Promise<T>): Promise<T> {
  const number = Number(await redis.eval(TAKE, 2, CHANGE_LOCK_KEY, CHANGES_KEY, LIFE_MS))
  if (number === 0)
    throw new LedgerUnfitError(
      `another 'decorum partitions' or 'decorum upgrade' is at work, or was cut off within ${LIFE_MS / 1_000} s: let it end, then look again`,
    )
  const renew = setInterval(() => {
    redis.eval(RENEW, 2, CHANGE_LOCK_KEY, CHANGES_KEY, number, LIFE_MS).catch(() => undefined) // the next one, or it runs out
  }, LIFE_MS / 5)
  try {
    return await work(changeOf(redis, number))
  } finally {
    clearInterval(renew)
    await redis.eval(RELEASE, 1, CHANGE_LOCK_KEY, number).catch(() => undefined) // it runs out by itself
  }
}

function changeOf(redis: RedisLink, number: number): Change {
  const run = async (script: string, keys: string[], args: Arg[]): Promise<unknown> => {
    try {
      return await redis.eval(script, keys.length, ...keys, number, ...args)
    } catch (error) {
      if (!(error instanceof Error && error.message.includes('OVERTAKEN'))) throw error
      throw new LedgerUnfitError(
        `another 'decorum partitions' or 'decorum upgrade' has overtaken this one, which has stopped`,
      )
    }
  }
  // The second key never exists, so that a partition whose slot is half moved refuses (KEY.partitions in layout.ts).
  const keys = (tag: string): string[] => [keysOf(tag).epoch, keysOf(tag).count('change')]
  return {
    async close(tag, gate) {
      await run(CLOSE, keys(tag), [gate])
    },
    async take(tag) {
      await run(CLOSE, keys(tag), [])
    },
    write: (tag, script, ...args) => run(GUARD + script, keys(tag), args),
    async writeTags(tags, retired) {
      await run(WRITE_TAGS, [PARTITIONS_KEY, RETIRED_KEY, CHANGES_KEY], [tags.length, ...tags, ...retired])
    },
  }
}
