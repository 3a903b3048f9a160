/**
 * Copies the records that every partition has: least delays, stops, policies, and crawls. A new partition, or one that was unreachable when
 * they changed, gets the latest version before it is opened, so nothing is granted there without them.
 */

import { DAY } from '@decorum/protocol'
import { CRAWL, CRAWL_MOVES, EPOCH, type EPOCH_MOVES, keysOf, LAYOUT, readRecord, sharesOf } from '../stored.ts'
import type { Place } from './move-keys.ts'

type Moves = typeof EPOCH_MOVES
type Everywhere = { [Name in keyof Moves]: Moves[Name] extends 'everywhere' ? Name : never }[keyof Moves]

/**
 * The places of instants in each record: in its field of the epoch, which begins with the version, and in the values of the hash of the
 * same name. Their formats are in layout.ts.
 */
const DOCUMENTS: Record<Everywhere, { instants: RegExp; hash?: 'stops' | 'policies' }> = {
  leastDelays: { instants: /(?<=;\S+ \d+ )[\d.]+/g },
  stops: { instants: /(?<=^\d+ )[\d.]+/, hash: 'stops' },
  policies: { instants: /(?<=^\d+ \d+ )[\d.]+/, hash: 'policies' },
}
/** The instant that begins a value. An end that never comes, and the whole record as JSON, do not begin with a number and stay. */
const FIRST = /^[\d.]+/

/** Adds `byMs` to the instants in a text; the instant 0 means none and stays 0. */
const moveOn = (text: string, instants: RegExp, byMs: number): string =>
  byMs === 0 ? text : text.replace(instants, (at) => (Number(at) === 0 ? at : (Number(at) + byMs).toFixed(3)))

/** Number of fields that one command writes. */
const PAGE = 500

type At = { tag: string; version: number }
/** The latest version; of equal ones the first. */
const latestOf = <T extends At>(all: T[]): T => all.reduce((one, other) => (other.version > one.version ? other : one))

export async function spreadDocuments({ redis, change, there, tags, ahead }: Place): Promise<void> {
  for (const [name, { instants, hash }] of Object.entries(DOCUMENTS)) {
    const field = EPOCH[name as Everywhere]
    const read = async (tag: string) => {
      const text = (await redis.hget(keysOf(tag).epoch, field)) ?? '0'
      return { tag, text, version: Number.parseInt(text, 10) }
    }
    const latest = latestOf(await Promise.all(there.map(read)))
    const entries = hash === undefined ? [] : Object.entries(await redis.hgetall(keysOf(latest.tag)[hash]))
    for (const tag of tags) {
      if ((await read(tag)).version >= latest.version) continue
      const byMs = ahead(latest.tag, tag)
      const keys = keysOf(tag)
      if (hash !== undefined) await change.write(tag, ['UNLINK', keys[hash]])
      for (let at = 0; hash !== undefined && at < entries.length; at += PAGE) {
        const some = entries.slice(at, at + PAGE).flatMap(([one, value]) => [one, moveOn(value, FIRST, byMs)])
        await change.write(tag, ['HSET', keys[hash], ...some])
      }
      // Written last: a resumed change recognizes by the version that the whole record is there.
      await change.write(tag, ['HSET', keys.epoch, field, moveOn(latest.text, instants, byMs)])
    }
  }
}

/**
 * Copies the instant at which Redis lost its latest writes, and when every request of that time has ended: until then the end of a lane's
 * last exchange may be unknown, wherever the lane is. A partition that has lost nothing delays its lanes by that too, and none opens early.
 */
export async function spreadLoss({ redis, change, there, tags, ahead }: Place): Promise<void> {
  const texts = await Promise.all(there.map((tag) => redis.hget(keysOf(tag).epoch, EPOCH.lost)))
  const losses = texts.flatMap((text, n) => (text ? [{ tag: there[n] as string, instants: text.split(' ') }] : []))
  for (const tag of losses.length === 0 ? [] : tags) {
    const latest = [0, 1].map((n) => Math.max(...losses.map((one) => Number(one.instants[n]) + ahead(one.tag, tag))))
    const text = latest.map((at) => at.toFixed(3)).join(' ')
    await change.write(tag, ['HSET', keysOf(tag).epoch, EPOCH.lost, text])
  }
}

const fieldsThat = (answer: 'everywhere' | 'share'): string[] =>
  (Object.keys(CRAWL_MOVES) as (keyof typeof CRAWL)[])
    .filter((name) => CRAWL_MOVES[name] === answer)
    .map((name) => CRAWL[name])
const RECORD = fieldsThat('everywhere')
const SHARES = fieldsThat('share')

/** @returns the names of all crawls */
export async function spreadCrawls({ redis, change, there, tags }: Place): Promise<string[]> {
  const lists = new Map<string, Map<string, string>>() // a map, because a crawl may be called `constructor`
  for (const tag of there) lists.set(tag, new Map(Object.entries(await redis.hgetall(keysOf(tag).crawls))))
  const names = new Set([...lists.values()].flatMap((list) => [...list.keys()]))
  for (const name of names) {
    const at = (tag: string): At => ({ tag, version: Number(lists.get(tag)?.get(name) ?? -1) })
    const latest = latestOf(there.map(at))
    const values = await redis.hmget(keysOf(latest.tag).crawl(name), ...RECORD)
    for (const tag of tags) {
      if (at(tag).version >= latest.version) continue
      const { crawl, crawls, epoch } = keysOf(tag)
      await change.write(
        tag,
        ['HDEL', crawl(name), ...RECORD, ...SHARES],
        ...RECORD.flatMap((field, n) => (values[n] ? [['HSET', crawl(name), field, values[n]]] : [])),
        ['HSET', epoch, EPOCH.layout, LAYOUT.withCrawls],
        ['HSET', crawls, name, latest.version],
      )
    }
  }
  return [...names]
}

/**
 * Divides the limits of crawls among the partitions, as gateways do each second: without a share, a new partition would take in any number
 * of URLs until then.
 */
export async function dealLimits({ redis, change, tags }: Place, names: readonly string[]): Promise<void> {
  const today = String(Math.floor(Number((await redis.time())[0]) / (DAY / 1_000)))
  for (const name of names) {
    const partitions = await Promise.all(tags.map((tag) => redis.hgetall(keysOf(tag).crawl(name))))
    const shares = sharesOf(readRecord(partitions[0]?.[CRAWL.record]), partitions, today)
    for (const [at, tag] of tags.entries())
      if (shares[at]?.length) await change.write(tag, ['HSET', keysOf(tag).crawl(name), ...shares[at]])
  }
}
