/** The stream of outcomes of one partition: for readers in groups, and its trimming by housekeeping. */
import { DEFAULT_CRAWL, outcomesKey } from '@decorum/protocol'
import { type Keys, keysOf } from './layout.ts'
import type { RedisLink } from './link.ts'
import { createGroup } from './stream-scripts.ts'

/**
 * Makes a group at every stream that lacks it; an existing group is left unchanged.
 * @param from  'now': skips outcomes that are already stored. But if the group exists at one of these streams, a stream that lacks it
 * belongs to a new partition, and everything there is newer than the group.
 */
export async function makeGroup(
  redis: RedisLink,
  streams: readonly string[],
  group: string,
  from: 'start' | 'now',
): Promise<void> {
  const started =
    from === 'start' || (await Promise.all(streams.map((stream) => hasGroup(redis, stream, group)))).some(Boolean)
  const made = streams.map(async (stream) => {
    try {
      await createGroup.run(redis, [stream], { group, from: started ? '0' : '$', crawl: crawlOfStream(stream) })
    } catch (error) {
      if (!String(error).includes('BUSYGROUP')) throw error
    }
  })
  await Promise.all(made)
}

/**
 * Makes the groups of the present partitions at the future ones, before anything is written there. Otherwise a reader that is currently
 * offline would miss outcomes that the other readers acknowledged and trimming dropped.
 */
export async function carryGroups(redis: RedisLink, before: readonly string[], tags: readonly string[]): Promise<void> {
  for (const crawl of [DEFAULT_CRAWL, ...(await crawlsIn(redis, before))]) {
    const groups = await Promise.all(before.map((tag) => groupsOf(redis, outcomesKey(tag, crawl))))
    const streams = tags.map((tag) => outcomesKey(tag, crawl))
    for (const name of new Set(groups.flat().map((group) => group.name))) await makeGroup(redis, streams, name, 'start')
  }
}

/** The crawl of a stream, '' for the default one. */
const crawlOfStream = (stream: string): string => /:outcomes:([a-z0-9-]+)$/.exec(stream)?.[1] ?? ''

/** The names of the crawls, beside the default one, in these partitions. */
export async function crawlsIn(redis: RedisLink, tags: readonly string[]): Promise<string[]> {
  const names = await Promise.all(tags.map((tag) => redis.hkeys(keysOf(tag).crawls)))
  return [...new Set(names.flat())].filter((name) => name !== DEFAULT_CRAWL)
}

async function hasGroup(redis: RedisLink, stream: string, group: string): Promise<boolean> {
  return (await groupsOf(redis, stream)).some(({ name }) => name === group)
}

/**
 * Instant of the oldest entry in any stream of these partitions, on Redis's clock, ms; undefined: there is none.
 * @throws any error of Redis: without an answer a stream's entries are unknown
 */
export async function oldestOutcome(redis: RedisLink, tags: readonly string[]): Promise<number | undefined> {
  const streams = await Promise.all(
    tags.map(async (tag) => {
      const crawls = [DEFAULT_CRAWL, ...(await crawlsIn(redis, [tag]))]
      return crawls.map((crawl) => outcomesKey(tag, crawl))
    }),
  )
  const first = await Promise.all(streams.flat().map((stream) => redis.xrange(stream, '-', '+', 'COUNT', 1)))
  const instants = first.flat().map(([id]) => Number.parseInt(id, 10))
  return instants.length === 0 ? undefined : Math.min(...instants)
}

/**
 * Drops what every group has acknowledged: everything before the oldest entry that some group has not read or not acknowledged. Without a
 * group nothing was read, so nothing is dropped. Groups only move forward, so a result of one command still holds for the next; a group
 * that is made in between begins with the entries that are still stored.
 */
export async function trimOutcomes(redis: RedisLink, { tag }: Keys, crawl = DEFAULT_CRAWL): Promise<void> {
  const stream = outcomesKey(tag, crawl)
  const groups = await groupsOf(redis, stream)
  if (groups.length === 0) return
  const unread: string[] = []
  for (const { name, delivered, pending } of groups) {
    unread.push(pending > 0 ? await oldestPending(redis, stream, name, delivered) : after(delivered))
  }
  const oldest = unread.reduce(earlier)
  // First by whole nodes, a bounded number; then exactly, because the limit of unread outcomes may be small
  const gone = await redis.xtrim(stream, 'MINID', '~', oldest)
  if (gone < NODES_BOUND) await redis.xtrim(stream, 'MINID', '=', oldest)
}

/** An approximate trim drops up to about 100 nodes of 100 entries; if it drops fewer entries than this, less than a node is left. */
const NODES_BOUND = 5_000

type Group = { name: string; pending: number; delivered: string }

async function groupsOf(redis: RedisLink, stream: string): Promise<Group[]> {
  let rows: unknown[]
  try {
    rows = (await redis.xinfo('GROUPS', stream)) as unknown[]
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

async function oldestPending(redis: RedisLink, stream: string, group: string, delivered: string): Promise<string> {
  const summary = (await redis.xpending(stream, group)) as [number, string | null, string | null, unknown]
  return summary[1] ?? after(delivered)
}

/** The next id, because MINID keeps an entry with an equal id. */
function after(id: string): string {
  const [time, sequence] = id.split('-')
  return `${time}-${BigInt(sequence ?? 0) + 1n}`
}

function earlier(a: string, b: string): string {
  const [at, as] = a.split('-').map(BigInt) as [bigint, bigint]
  const [bt, bs] = b.split('-').map(BigInt) as [bigint, bigint]
  return at < bt || (at === bt && as <= bs) ? a : b
}
