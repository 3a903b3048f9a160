/**
 * What every partition has: least delays, stops, policies, and the records of crawls. A partition that comes, or that was unreachable when
 * they changed, gets the latest version before it is opened, so nothing is granted there without them.
 */
import {
  CRAWL,
  CRAWL_MOVES,
  EPOCH,
  type EPOCH_MOVES,
  KEY,
  keysOf,
  LAYOUT,
  readRecord,
  STOPS,
} from '@decorum/ledger/stored'
import { DAY } from '@decorum/protocol'
import type { Mover } from './copy-key.ts'
import { moveScripts } from './scripts.ts'
import { aheadMs, type Clock } from './server-clocks.ts'

type FieldThat<Answer> = {
  [Name in keyof typeof EPOCH_MOVES]: (typeof EPOCH_MOVES)[Name] extends Answer ? Name : never
}[keyof typeof EPOCH_MOVES]

/** A field of the epoch that begins with its version, and the hash that belongs to it; with its instants moved on. */
type Document = {
  field(text: string, byMs: number): string
  hash?: { key: 'stops' | 'policies'; value(text: string, byMs: number, name: string): string }
}

/** Ends that are not set, and stops without an end, are no instants. */
const moved = (instant: string, byMs: number): string =>
  byMs === 0 || instant === STOPS.never || Number(instant) === 0 ? instant : (Number(instant) + byMs).toFixed(3)

/** Their forms are in layout.ts. */
const DOCUMENTS: Record<FieldThat<'everywhere'>, Document> = {
  leastDelays: {
    field: (text, byMs) => text.replace(/(;\S+ \d+ )([\d.]+)/g, (_, front, at) => front + moved(at, byMs)),
  },
  stops: {
    field: (text, byMs) => text.replace(/^(\d+ )(\S+)/, (_, front, end) => front + moved(end, byMs)),
    hash: { key: 'stops', value: (text, byMs, name) => (name === STOPS.record ? text : moved(text, byMs)) },
  },
  policies: {
    field: (text, byMs) => text.replace(/^(\d+ \d+ )(\S+)/, (_, front, till) => front + moved(till, byMs)),
    hash: { key: 'policies', value: (text, byMs) => text.replace(/^\S+/, (at) => moved(at, byMs)) },
  },
}

/** Fields that are written by one command. */
const PAGE = 500
const versionOf = (text: string | null | undefined): number => Number.parseInt(text ?? '0', 10)

type Partitions = Mover & { tags: readonly string[]; clocks: Map<string, Clock> }

/** @param from  all partitions that may have them */
export async function spreadDocuments(to: Partitions, from: readonly string[]): Promise<void> {
  const { redis, change, tags, clocks } = to
  for (const [name, { field, hash }] of Object.entries(DOCUMENTS) as [FieldThat<'everywhere'>, Document][]) {
    const texts = new Map<string, string>()
    for (const tag of from) texts.set(tag, (await redis.hget(keysOf(tag).epoch, EPOCH[name])) ?? '')
    const [source, text] = [...texts].reduce((one, other) => (versionOf(other[1]) > versionOf(one[1]) ? other : one))
    if (text === '') continue
    const entries = hash === undefined ? [] : Object.entries(await redis.hgetall(`${source}:${KEY[hash.key]}`))
    for (const tag of tags) {
      if (versionOf(await redis.hget(keysOf(tag).epoch, EPOCH[name])) >= versionOf(text)) continue
      const byMs = aheadMs(clocks, source, tag)
      for (let at = 0; hash !== undefined && at < entries.length; at += PAGE) {
        const items = entries.slice(at, at + PAGE).flatMap(([one, value]) => [one, hash.value(value, byMs, one)])
        await change.write(tag, moveScripts.putHash, { name: KEY[hash.key], isFirst: at === 0 ? '1' : '' }, items)
      }
      // Last: by its version a change that is taken up again sees that all of it is there.
      await change.write(tag, moveScripts.putEpoch, {}, [EPOCH[name], field(text, byMs)])
    }
  }
}

/**
 * When Redis lost its latest writes, and when every request of then has ended: until then the end of a lane's last exchange may be unknown,
 * wherever the lane is. A partition that has lost nothing delays its own lanes by that, too, and none opens early.
 */
export async function spreadLoss({ redis, change, tags, clocks }: Partitions, from: readonly string[]): Promise<void> {
  const losses = new Map<string, number[]>()
  for (const tag of from) {
    const text = await redis.hget(keysOf(tag).epoch, EPOCH.lost)
    if (text) losses.set(tag, text.split(' ').map(Number))
  }
  if (losses.size === 0) return
  for (const tag of tags) {
    const moved = [...losses].map(([source, instants]) => instants.map((at) => at + aheadMs(clocks, source, tag)))
    const latest = [0, 1].map((n) => Math.max(...moved.map((instants) => instants[n] ?? 0)).toFixed(3))
    await change.write(tag, moveScripts.putEpoch, {}, [EPOCH.lost, latest.join(' ')])
  }
}

const RECORD_FIELDS = (Object.keys(CRAWL_MOVES) as (keyof typeof CRAWL)[])
  .filter((name) => CRAWL_MOVES[name] === 'everywhere')
  .map((name) => CRAWL[name])

/** @returns the names of all crawls */
export async function spreadCrawls(to: Partitions, from: readonly string[]): Promise<string[]> {
  const { redis, change, tags } = to
  const versions = new Map<string, Map<string, number>>()
  for (const tag of from)
    for (const [name, version] of Object.entries(await redis.hgetall(keysOf(tag).crawls)))
      versions.set(name, (versions.get(name) ?? new Map()).set(tag, Number(version)))
  for (const [name, known] of versions) {
    const [source, latest] = [...known].reduce((one, other) => (other[1] > one[1] ? other : one))
    const values = await redis.hmget(keysOf(source).crawl(name), ...RECORD_FIELDS)
    for (const tag of tags) {
      if ((known.get(tag) ?? -1) >= latest) continue
      const fields = RECORD_FIELDS.flatMap((field, n) => [field, values[n] ?? ''])
      if (latest > 0) await change.write(tag, moveScripts.putHash, { name: `${KEY.crawl}${name}`, isFirst: '' }, fields)
      await change.write(tag, moveScripts.putEpoch, {}, [EPOCH.layout, LAYOUT.withCrawls])
      await change.write(tag, moveScripts.putHash, { name: KEY.crawls, isFirst: '' }, [name, String(latest)])
    }
  }
  return [...versions.keys()]
}

/**
 * Deals the limits of crawls that hold for all partitions together, as gateways do each second (crawls/limits.ts of the ledger): a partition
 * that comes would take in as many URLs as come until then.
 */
export async function dealLimits(
  { redis, change, tags }: Mover & { tags: readonly string[] },
  names: readonly string[],
) {
  const [first] = tags
  if (first === undefined) return
  const today = String(Math.floor(Number((await redis.time())[0]) / (DAY / 1_000)))
  for (const name of names) {
    const { limits } = readRecord(await redis.hget(keysOf(first).crawl(name), CRAWL.record))
    const { stored, pagesPerDay } = limits ?? {}
    if (stored === undefined && pagesPerDay === undefined) continue
    const counts = await Promise.all(
      tags.map(async (tag) => {
        const fields = [CRAWL.storedEver, CRAWL.left, CRAWL.day, CRAWL.today]
        const [came, left, day, ofDay] = await redis.hmget(keysOf(tag).crawl(name), ...fields)
        return { stored: Number(came ?? 0) - Number(left ?? 0), today: day === today ? Number(ofDay ?? 0) : 0 }
      }),
    )
    const sum = (of: (one: (typeof counts)[number]) => number) => counts.reduce((all, one) => all + of(one), 0)
    const share = (most: number | undefined, all: number, here: number): string =>
      most === undefined ? '' : String(Math.max(0, most - all + here))
    for (const [at, here] of counts.entries()) {
      const fields = [
        CRAWL.stored,
        share(
          stored,
          sum((one) => one.stored),
          here.stored,
        ),
      ]
      fields.push(
        CRAWL.perDay,
        share(
          pagesPerDay,
          sum((one) => one.today),
          here.today,
        ),
      )
      await change.write(tags[at] as string, moveScripts.putHash, { name: `${KEY.crawl}${name}`, isFirst: '' }, fields)
    }
  }
}
