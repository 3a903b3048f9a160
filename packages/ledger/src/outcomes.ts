/** The stream of outcomes of one partition, for readers in groups; and its trimming, for housekeeping. */
import type { Outcome } from '@decorum/protocol'
import type { Keys } from './keys.ts'
import type { RedisLink } from './link.ts'

export type Entry = { stream: string; id: string; outcome: Outcome }

/** Makes a group that reads from the beginning of what is stored; one that exists is left alone. */
export async function makeGroup(redis: RedisLink, keys: Keys, group: string): Promise<void> {
  try {
    await redis.xgroup('CREATE', keys.outcomes, group, '0', 'MKSTREAM')
  } catch (error) {
    if (!String(error).includes('BUSYGROUP')) throw error
  }
}

/**
 * Drops what every group has acknowledged: everything before the oldest entry that some group has not read or not
 * acknowledged. Without a group nothing has been read, so nothing goes.
 */
export async function trimOutcomes(redis: RedisLink, keys: Keys): Promise<void> {
  const groups = await groupsOf(redis, keys)
  if (groups.length === 0) return
  const unread: string[] = []
  for (const { name, delivered, pending } of groups) {
    unread.push(pending > 0 ? await oldestPending(redis, keys, name, delivered) : after(delivered))
  }
  const oldest = unread.reduce(earlier)
  // By whole nodes first, a bounded number of them; then to the entry: a limit on unread outcomes may be a small number
  const gone = await redis.xtrim(keys.outcomes, 'MINID', '~', oldest)
  if (gone < NODES_BOUND) await redis.xtrim(keys.outcomes, 'MINID', '=', oldest)
}

/** Redis drops about 100 nodes of 100 entries per approximate call; with fewer gone, less than a node is left to drop. */
const NODES_BOUND = 5_000

type Group = { name: string; pending: number; delivered: string }

async function groupsOf(redis: RedisLink, keys: Keys): Promise<Group[]> {
  let rows: unknown[]
  try {
    rows = (await redis.xinfo('GROUPS', keys.outcomes)) as unknown[]
  } catch (error) {
    if (String(error).includes('no such key')) return []
    throw error
  }
  return rows.map((row) => {
    const list = row as (string | number)[]
    const field = (name: string): string => String(list[list.indexOf(name) + 1])
    return { name: field('name'), pending: Number(field('pending')), delivered: field('last-delivered-id') }
  })
}

async function oldestPending(redis: RedisLink, keys: Keys, group: string, delivered: string): Promise<string> {
  const summary = (await redis.xpending(keys.outcomes, group)) as [number, string | null, string | null, unknown]
  return summary[1] ?? after(delivered)
}

/** The id right behind one: MINID keeps what is equal. */
function after(id: string): string {
  const [time, sequence] = id.split('-')
  return `${time}-${BigInt(sequence ?? 0) + 1n}`
}

function earlier(a: string, b: string): string {
  const [at, as] = a.split('-').map(BigInt) as [bigint, bigint]
  const [bt, bs] = b.split('-').map(BigInt) as [bigint, bigint]
  return at < bt || (at === bt && as <= bs) ? a : b
}
