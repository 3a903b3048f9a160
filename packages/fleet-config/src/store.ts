/** The document in Redis: one record with a version, written by compare-and-set, and the records before it. */
import type { FleetValues } from '@decorum/config'
import type { RedisLink } from '@decorum/ledger'

/** In the hash slot of the list of partitions, which does not belong to any partition. */
const CURRENT_KEY = '{decorum:partitions}:config'
const HISTORY_KEY = '{decorum:partitions}:config-history'
/** Versions that are kept. */
export const HISTORY = 100
/** Of the document as JSON: as many versions must fit into Redis beside the work. */
const MAX_BYTES = 1024 * 1024

/** environment: of the first process that had something to say · apply, rollback: a person · memory: Redis had lost it */
export type Via = 'environment' | 'apply' | 'rollback' | 'memory'
export type Draft = { values: FleetValues; by: string; reason: string; via: Via }
/** `at`: Redis's clock, ms */
export type Version = Draft & { version: number; at: number }

/** Another version has been written since the one that this change was made from. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError'
}

const WRITE = `#!lua flags=allow-oom
local current = redis.call('HGET', KEYS[1], 'version') or '0'
if current ~= ARGV[1] then return {'overtaken', current} end
local t = redis.call('TIME')
local at = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
local version = string.format('%.0f', math.max(tonumber(current) + 1, tonumber(ARGV[2])))
redis.call('HSET', KEYS[1], 'version', version, 'at', at, 'record', ARGV[3])
redis.call('RPUSH', KEYS[2], version .. ' ' .. at .. ' ' .. ARGV[3])
redis.call('LTRIM', KEYS[2], -tonumber(ARGV[4]), -1)
return {'written', version, at}`

/** Version 0: there is no document yet. */
export async function readVersion(redis: RedisLink): Promise<number> {
  return Number((await redis.hget(CURRENT_KEY, 'version')) ?? 0)
}

export async function readCurrent(redis: RedisLink): Promise<Version | undefined> {
  const [version, at, record] = await redis.hmget(CURRENT_KEY, 'version', 'at', 'record')
  return version && record ? { ...(JSON.parse(record) as Draft), version: Number(version), at: Number(at) } : undefined
}

/** Newest first. */
export async function readHistory(redis: RedisLink): Promise<Version[]> {
  const entries = await redis.lrange(HISTORY_KEY, -HISTORY, -1)
  return entries.reverse().map((entry) => {
    const [, version, at, record] = /^(\d+) (\d+) (.*)$/s.exec(entry) ?? []
    return { ...(JSON.parse(record ?? '{}') as Draft), version: Number(version), at: Number(at) }
  })
}

/**
 * @param expected  the version that the change was made from; 0: there was none
 * @param atLeast   of a document that Redis has lost: its version does not fall behind what processes have seen
 * @throws OvertakenError when it is no longer the current one; nothing has been written then
 */
export async function write(redis: RedisLink, expected: number, draft: Draft, atLeast = 1): Promise<Version> {
  const record = JSON.stringify(draft)
  if (Buffer.byteLength(record) > MAX_BYTES)
    throw new Error(`the configuration is larger than ${MAX_BYTES / 1024} KiB: shorten DECORUM_AGENTS or PACE_GROUPS`)
  const keys = [CURRENT_KEY, HISTORY_KEY]
  const answer = (await redis.eval(WRITE, 2, ...keys, expected, atLeast, record, HISTORY)) as string[]
  if (answer[0] !== 'written')
    throw new OvertakenError(
      `the configuration has become version ${answer[1]} meanwhile, and this change was made from version ${expected}: look at it ('decorum config show') and try again`,
    )
  return { ...draft, version: Number(answer[1]), at: Number(answer[2]) }
}
