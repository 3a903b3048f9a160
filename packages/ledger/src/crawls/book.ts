/**
 * The crawls that one process knows. Each crawl has a record (docs/decisions/0028-one-replicated-record.md) that every partition holds, and
 * the list of a partition has the version of each. `forgotten` distinguishes a crawl that was forgotten from one that Redis has lost.
 */
import { DEFAULT_CRAWL } from '@decorum/protocol'
import { CRAWL } from '../layout.ts'
import { answersOf } from '../scripts.ts'
import type { CrawlPlace, Places } from './list.ts'
import { type CrawlRecord, MOST_CRAWLS, readRecord, USUAL } from './record.ts'

export type CrawlBook = {
  /** the record; USUAL for a crawl that has no settings */
  recordOf(name: string): CrawlRecord
  names(): Iterable<string>
  /** whether the crawl existed when the lists were last read; always true for the default crawl */
  has(name: string): boolean
  /** whether a candidate may name the crawl: it is known, or there is room for one more */
  mayName(name: string): boolean
  /** Reads the records that changed since the last call, from the partitions that answer, and writes to each the records that it lacks. */
  refresh(): Promise<void>
}

/** A map, because a crawl may be called `constructor`, which every object has. */
type Versions = Map<string, number>
type Seen = { place: CrawlPlace; listed: Versions; forgotten: Versions }

export function crawlBook({ redis, places, deadline }: Omit<Places, 'all'>): CrawlBook {
  const records = new Map<string, CrawlRecord>()
  const answers = (pipeline: Parameters<typeof answersOf>[0]) => answersOf(pipeline, deadline, 'crawls')

  const listsOf = async (place: CrawlPlace): Promise<Seen> => {
    const { crawls, forgotten } = place.keys
    const [listed, gone] = await answers(
      redis
        .pipeline()
        .hgetall(crawls)
        .zrange(forgotten, ...FORGOTTEN),
    )
    const versions = Object.entries(listed as Record<string, string>).map(([name, version]) => [name, version] as const)
    return { place, listed: versionsOf(versions), forgotten: versionsOf((gone as string[]).map(readForgotten)) }
  }
  const readFrom = async ({ keys }: CrawlPlace, names: string[]): Promise<void> => {
    const pipeline = redis.pipeline()
    for (const name of names) pipeline.hget(keys.crawl(name), CRAWL.record)
    const texts = (await answers(pipeline)) as (string | null)[]
    for (const [at, name] of names.entries()) {
      const record = readRecord(texts[at])
      if (record.version >= (records.get(name)?.version ?? 0)) records.set(name, record)
    }
  }
  const forget = (seen: Seen[], goneAt: Versions): void => {
    const isListed = (name: string): boolean => seen.some(({ listed }) => listed.has(name))
    for (const [name, { version }] of records)
      if (version <= (goneAt.get(name) ?? -1)) records.delete(name)
      // A crawl without a record is known from the lists alone.
      else if (version === 0 && seen.length === places.length && !isListed(name)) records.delete(name)
  }
  return {
    recordOf: (name) => records.get(name) ?? USUAL,
    names: () => records.keys(),
    has: (name) => name === DEFAULT_CRAWL || records.has(name),
    mayName: (name) => name === DEFAULT_CRAWL || records.has(name) || records.size < MOST_CRAWLS,
    async refresh() {
      const found = await Promise.allSettled(places.map(listsOf))
      const seen = found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      const [first] = found
      if (seen.length === 0 && first?.status === 'rejected') throw first.reason
      const goneAt = versionsOf(seen.flatMap(({ forgotten }) => [...forgotten]))
      forget(seen, goneAt)
      for (const { place, listed } of seen) {
        const isNew = ([name, version]: [string, number]): boolean =>
          version > (records.get(name)?.version ?? -1) && (version === 0 || version > (goneAt.get(name) ?? 0))
        const later = [...listed].filter(isNew).map(([name]) => name)
        if (later.length > 0) await readFrom(place, later)
      }
      for (const { place, listed } of seen) {
        const behind = [...records].filter(([name, { version }]) => version > (listed.get(name) ?? 0))
        for (const [name, record] of behind) await place.verbs.crawl(name, record)
      }
    },
  }
}

/** Several versions of one name: the latest counts. */
function versionsOf(pairs: Iterable<readonly [string, number | string]>): Versions {
  const versions: Versions = new Map()
  for (const [name, version] of pairs) versions.set(name, Math.max(versions.get(name) ?? 0, Number(version)))
  return versions
}

/** Number of forgotten crawls that are kept in the set. */
export const MOST_FORGOTTEN = 1_000
/** The whole set `forgotten`, as arguments of ZRANGE. */
export const FORGOTTEN = ['0', String(MOST_FORGOTTEN - 1)] as const
/** A member of `forgotten`: the name of a crawl, and the version that was forgotten. */
export const readForgotten = (member: string): [string, string] => member.split(' ', 2) as [string, string]
