/**
 * The list of partitions: a record that the first process of a fleet writes and `decorum ledger partitions` changes. It decides where the
 * state of a host is stored, so all processes must have the same list: the epoch of each partition also has the number, and refuses callers
 * that know another.
 */
import { type Clock, partitionTags } from '@decorum/protocol'
import { LedgerUnfitError } from '../errors.ts'
import { emptySinceMs } from '../fit.ts'
import { ANNOUNCED, CHANGES_KEY, EPOCH, keysOf, NEW_KEY, PARTITIONS_KEY, RETIRED_KEY } from '../layout.ts'
import type { RedisLink } from '../link.ts'
import { carryGroups } from '../outcomes.ts'
import { markNew, recordTags } from '../record-scripts.ts'
import type { Place, Versioned, Written } from './place.ts'

/** Largest number of partitions (DECORUM_PARTITIONS). */
const MOST = 1_024

/**
 * Tags in order; `retired`: tags of an earlier number, which may still hold outcomes and candidates. Empty before the fleet's first start.
 */
type Tags = { tags: string[]; retired: string[] }
/** `version`: the number of the change that produced the tags, counted from 1; 0: there are none */
export type TagsRecord = Tags & Versioned

export async function readTags(redis: RedisLink): Promise<Tags> {
  const lists = [PARTITIONS_KEY, RETIRED_KEY].map((key) => redis.lrange(key, 0, MOST - 1))
  const [tags = [], retired = []] = await Promise.all(lists)
  return { tags, retired }
}

/** Reads only the version: cheap enough for once a second. */
export async function tagsVersion(redis: RedisLink): Promise<number> {
  const [isThere, changes] = await Promise.all([redis.exists(PARTITIONS_KEY), redis.get(CHANGES_KEY)])
  return isThere === 0 ? 0 : Number(changes ?? 0) + 1
}

/** Reads the record; version 0 if there is none. */
const readRecord = async (redis: RedisLink): Promise<TagsRecord> => ({
  version: await tagsVersion(redis),
  ...(await readTags(redis)),
})

export const tagsPlace = (redis: RedisLink): Place<TagsRecord> => ({
  read: () => readRecord(redis),
  async write({ version, tags, retired }) {
    const keys = [PARTITIONS_KEY, RETIRED_KEY, CHANGES_KEY, NEW_KEY]
    const args = { number: version - 1, count: tags.length }
    const answer = await recordTags.run(redis, keys, args, [...tags, ...retired])
    const [kind, number] = answer as [Written['kind'], number]
    return { kind, version: Number(number) + 1 }
  },
})

/** The announcement expires after this: by then the Redis may have been used, and emptied. */
const NEW_LIFE_MS = 3_600_000

/**
 * Announces that a Redis has never held a ledger. An empty one may also have been emptied under a fleet, so without this nothing is granted
 * there for lease + quarantine (docs/decisions/0015-an-empty-ledger.md).
 * @param how  'unknown' if only processes of the caller can know its address and password: then there is no hold
 */
export async function announceNew(redis: RedisLink, how: keyof typeof ANNOUNCED = 'plain'): Promise<void> {
  await redis.set(NEW_KEY, ANNOUNCED[how], 'PX', NEW_LIFE_MS)
}

/**
 * `isNew`: whether the caller vouches that this Redis is new, as `announceNew` does; `holdMs`: how long nothing may be granted in a Redis
 * that is not known to be new.
 */
type Known = { isNew: boolean } | { holdMs: number }

/**
 * Stores the partitions the first time; later the number must be the same.
 * @throws LedgerUnfitError
 */
export async function registerPartitions(
  clock: Clock,
  redis: RedisLink,
  count: number,
  known: Known,
): Promise<TagsRecord> {
  let found = await readRecord(redis)
  if (found.version === 0) found = await registerFirst(clock, redis, count, known)
  const there = found.tags.length
  if (there === count) return found
  throw new LedgerUnfitError(
    `this Redis holds ${there} partition${there === 1 ? '' : 's'}, DECORUM_PARTITIONS says ${count}: use ${there}, or stop the fleet and change it: 'decorum ledger partitions ${count}'`,
  )
}

/** Running processes check once a second whether the list still exists, and need a moment to reconnect. */
const RECONNECT_MS = 1_500
const PAUSE_MS = 100

/** Writes the first list. Groups are copied from the first partition: a frontier that started before the fleet reads only its stream. */
async function registerFirst(clock: Clock, redis: RedisLink, count: number, known: Known): Promise<TagsRecord> {
  const first = partitionTags(1)
  // If this Redis may have been emptied under a fleet, running processes know the list and write it again.
  const waitMs = 'holdMs' in known && ((await holdLeft(redis, known))?.ms ?? RECONNECT_MS) > 0 ? RECONNECT_MS : 0
  for (const from = clock.monotonic(); clock.monotonic() < from + waitMs; await clock.sleep(PAUSE_MS)) {
    const found = await readRecord(redis)
    if (found.version > 0) return found
  }
  const left = await holdLeft(redis, known)
  const wanted = partitionTags(count)
  const number = await redis.hget(keysOf(first[0] as string).epoch, EPOCH.partitions)
  if (number !== null && number !== String(count))
    throw new LedgerUnfitError(
      `this Redis has lost the list of its partitions, and there were ${number}: use ${number}`,
    )
  if (left !== undefined)
    await Promise.all(
      wanted.map((tag) =>
        markNew.run(redis, [keysOf(tag).epoch], { leftMs: Math.max(0, left.ms), announced: left.as }),
      ),
    )
  await tagsPlace(redis).write({ version: 1, tags: wanted, retired: [] })
  const written = await readRecord(redis)
  await carryGroups(redis, first, written.tags)
  return written
}

/** How long a lease of an earlier ledger may still last, ms, and what is announced; undefined: unknown. */
async function holdLeft(redis: RedisLink, known: Known): Promise<{ ms: number; as: string } | undefined> {
  if ('isNew' in known && known.isNew) return { ms: 0, as: ANNOUNCED.plain }
  const as = await redis.get(NEW_KEY)
  if (as !== null) return { ms: 0, as }
  if (!('holdMs' in known) || redis.isCluster) return undefined
  const emptyMs = emptySinceMs(await redis.info('everything'))
  return emptyMs === undefined ? undefined : { ms: known.holdMs - emptyMs, as: ANNOUNCED.plain }
}
