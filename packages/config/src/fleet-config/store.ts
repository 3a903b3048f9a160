/** The document in Redis: a record with a version (docs/decisions/0028-one-replicated-record.md), and earlier records. */

import { libraryOf, type Place, type RedisLink, ratesVersion, type Written } from '@decorum/ledger'
import type { FleetValues } from '../index.ts'

/** In the hash slot of the list of partitions, which belongs to no partition. */
const CURRENT_KEY = '{decorum:partitions}:config'
const HISTORY_KEY = '{decorum:partitions}:config-history'
/** Number of versions that are kept. */
export const HISTORY = 100
/** Largest document, as JSON: HISTORY versions must fit into Redis beside the fleet's data. */
const MAX_BYTES = 1024 * 1024
const lua = libraryOf({ folder: new URL('./lua/', import.meta.url) })
const writeScript = lua.script('write', ['expected', 'least', 'at', 'record', 'most'], { whenFull: true })

/** environment: from the first process that had such a value · apply, rollback: by a person · memory: restored after Redis lost it */
export type Via = 'environment' | 'apply' | 'rollback' | 'memory'
export type Draft = { values: FleetValues; by: string; reason: string; via: Via }
/**
 * `at`: when it was decided, by Redis's clock, ms. After a loss of Redis two records may have the same version, but never the same `at`.
 */
export type Version = Draft & { version: number; at: number }

/** Another version was written after the one on which this change is based. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError'
}

/** Reads version and time; version 0: there is no document yet. */
export async function readHead(redis: RedisLink): Promise<{ version: number; at: number }> {
  const [version, at] = await redis.hmget(CURRENT_KEY, 'version', 'at')
  return { version: Number(version ?? 0), at: Number(at ?? 0) }
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

/** The place of the document, for a process that restores it. */
export const configPlace = (redis: RedisLink): Place<Version> => ({
  read: () => readCurrent(redis),
  async write({ version, at, values, by }, expected) {
    const draft: Draft = { values, by, reason: 'Redis had lost it', via: 'memory' }
    const { kind, version: inForce } = await put(redis, draft, { expected, least: version, at })
    return { kind, version: inForce }
  },
})

/**
 * Writes the next version: later than every version that any answering partition has taken over, in case Redis has lost some of them.
 * @param expected  the version on which the change is based; 0: there was none
 * @throws OvertakenError when it is no longer the current one; then nothing was written
 */
export async function write(redis: RedisLink, expected: number, draft: Draft): Promise<Version> {
  const least = Math.max(expected, await ratesVersion(redis)) + 1
  const { kind, version, at } = await put(redis, draft, { expected, least })
  if (kind !== 'written')
    throw new OvertakenError(
      `the configuration has become version ${version} meanwhile, and this change was made from version ${expected}: look at it ('decorum config show') and try again`,
    )
  return { ...draft, version, at }
}

async function put(
  redis: RedisLink,
  draft: Draft,
  { expected, least, at }: { expected: number | undefined; least: number; at?: number },
): Promise<Written & { at: number }> {
  const record = JSON.stringify(draft)
  if (Buffer.byteLength(record) > MAX_BYTES)
    throw new Error(`the configuration is larger than ${MAX_BYTES / 1024} KiB: shorten DECORUM_AGENTS or PACE_GROUPS`)
  const args = { expected: expected ?? '', least, at: at ?? '', record, most: HISTORY }
  const answer = (await writeScript.run(redis, [CURRENT_KEY, HISTORY_KEY], args)) as string[]
  return { kind: answer[0] as Written['kind'], version: Number(answer[1]), at: Number(answer[2]) }
}
