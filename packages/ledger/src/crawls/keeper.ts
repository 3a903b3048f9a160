/**
 * The crawls of all partitions: listed with their counts, changed, and cleared of what they hold. A record is written in the first
 * partition first, and then in the others; a process that finds one behind writes it again (`heal`), so that a change that dies in between is
 * whole within a second.
 */
import { DAY, DEFAULT_CRAWL, type Instant, type Outcome, outcomeOf, outcomesKey } from '@decorum/protocol'
import { LedgerUnavailableError } from '../errors.ts'
import { CRAWL, KEY, type Keys, laneName, listsOf, readLaneName } from '../layout.ts'
import type { RedisLink } from '../link.ts'
import { ALLOWED_WHEN_FULL } from '../lua-library.ts'
import { crawlsIn } from '../outcomes.ts'
import { decodeIn } from '../records/pending-text.ts'
import { answersOf, withDeadline } from '../scripts.ts'
import { thatAnswer } from '../that-answer.ts'
import type { Verbs } from '../verbs.ts'
import {
  type Changing,
  CrawlError,
  type CrawlRecord,
  changed,
  endedBy,
  endingOf,
  MOST_CRAWLS,
  readRecord,
  USUAL,
} from './record.ts'

export type Crawl = {
  name: string
  record: CrawlRecord
  /** URLs that are stored */
  waiting: number
  /** outcomes in its streams: what some group has not acknowledged, and what no group has read */
  unread: number
  /** the same of the partition that stores most of them: at OUTCOMES_LIMIT the crawl waits there */
  unreadInOne: number
  /** outcomes since the beginning, by kind */
  counts: Record<string, number>
  /** of bodies, on the wire */
  bytes: number
}

export type CrawlPlace = { keys: Keys; verbs: Pick<Verbs, 'crawl' | 'cancel'> }
type Places = { redis: RedisLink; places: readonly CrawlPlace[]; all: readonly Keys[]; callDeadlineMs: number }

const TRIES = 5
/** Of one step of `sweep`. */
const LANES_AT_ONCE = 20
const URLS_AT_ONCE = 100

/** @param names  absent: all, the default one first */
export async function listCrawls(from: Places, names?: readonly string[]): Promise<Crawl[]> {
  const { redis, all, callDeadlineMs } = from
  const tags = all.map(({ tag }) => tag)
  const known = names ?? [
    DEFAULT_CRAWL,
    ...(await withDeadline(crawlsIn(redis, tags), callDeadlineMs, 'crawls')).sort(),
  ]
  const answered = await thatAnswer(all.map((keys) => factsOf(from, keys, known)))
  const totals = names === undefined || names.includes(DEFAULT_CRAWL) ? await countsOf(from) : {}
  const crawls = known.map((name, at) =>
    crawlOf(
      name,
      answered.map((facts) => facts[at] ?? NOTHING),
    ),
  )
  const [first] = crawls
  if (first?.name === DEFAULT_CRAWL) takeDefault(first, totals, names === undefined ? crawls : await listCrawls(from))
  return crawls
}

/** Of the default crawl nothing is counted by itself: it has what the others have not. */
function takeDefault(first: Crawl, totals: Record<string, number>, crawls: readonly Crawl[]): void {
  const others = crawls.filter(({ name }) => name !== DEFAULT_CRAWL)
  const sum = (of: (crawl: Crawl) => number): number => others.reduce((all, crawl) => all + of(crawl), 0)
  first.waiting = Math.max(0, (totals.parked ?? 0) - (totals.left ?? 0) - sum(({ waiting }) => waiting))
  for (const kind of OUTCOMES_COUNTED) {
    const count = (totals[kind] ?? 0) - sum(({ counts }) => counts[kind] ?? 0)
    if (count > 0) first.counts[kind] = count
  }
}
const OUTCOMES_COUNTED = ['fetched', 'redirected', 'disallowed', 'failed', 'expired', 'invalid', 'refused'] as const

async function countsOf({ redis, places, callDeadlineMs }: Places): Promise<Record<string, number>> {
  const read = async ({ keys }: CrawlPlace) =>
    (await answersOf(redis.pipeline().hgetall(keys.counts), callDeadlineMs, 'crawls'))[0]
  const all = (await thatAnswer(places.map(read))) as Record<string, string>[]
  const sums: Record<string, number> = {}
  for (const counts of all) for (const [name, n] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + Number(n)
  return sums
}

type Facts = { fields: Record<string, string>; unread: number }
const NOTHING: Facts = { fields: {}, unread: 0 }

async function factsOf({ redis, callDeadlineMs }: Places, keys: Keys, names: readonly string[]): Promise<Facts[]> {
  const pipeline = redis.pipeline()
  for (const name of names) pipeline.hgetall(keys.crawl(name)).xlen(outcomesKey(keys.tag, name))
  const answers = await answersOf(pipeline, callDeadlineMs, 'crawls')
  return names.map((_, at) => ({
    fields: answers[2 * at] as Record<string, string>,
    unread: Number(answers[2 * at + 1]),
  }))
}

function crawlOf(name: string, answered: readonly Facts[]): Crawl {
  const number = ({ fields }: Facts, field: string): number => Number(fields[field] ?? 0)
  const counts: Record<string, number> = {}
  for (const kind of OUTCOMES_COUNTED) {
    const count = answered.reduce((sum, one) => sum + number(one, kind), 0)
    if (count > 0) counts[kind] = count
  }
  const records = answered.map(({ fields }) => readRecord(fields[CRAWL.record]))
  return {
    name,
    record: records.reduce((one, other) => (other.version > one.version ? other : one), USUAL),
    waiting: answered.reduce((sum, one) => sum + number(one, CRAWL.storedEver) - number(one, CRAWL.left), 0),
    unread: answered.reduce((sum, one) => sum + one.unread, 0),
    unreadInOne: Math.max(0, ...answered.map((one) => one.unread)),
    counts,
    bytes: answered.reduce((sum, one) => sum + number(one, CRAWL.bytes), 0),
  }
}

/**
 * @returns the record, and how many partitions did not answer: they get it within a second of their return
 * @throws  CrawlError · LedgerUnavailableError when the first partition does not answer: nothing was changed
 */
export async function changeCrawl(
  from: Places,
  changing: Changing,
  now: () => Instant,
): Promise<{ record: CrawlRecord; unreached: number }> {
  const { redis, places, callDeadlineMs } = from
  const [first, ...others] = places
  if (first === undefined) throw new LedgerUnavailableError('crawl', 'there is no partition')
  for (let tries = 0; tries < TRIES; tries++) {
    const [text] = await answersOf(
      redis.pipeline().hget(first.keys.crawl(changing.name), CRAWL.record),
      callDeadlineMs,
      'crawl',
    )
    const before = readRecord(text as string | null)
    const next = changed(before, changing, now())
    if ((await first.verbs.crawl(changing.name, next, before.version)).kind !== 'written') continue
    const answered = await Promise.allSettled(others.map(({ verbs }) => verbs.crawl(changing.name, next)))
    return { record: next, unreached: answered.filter(({ status }) => status === 'rejected').length }
  }
  throw new CrawlError(`others change the crawl '${changing.name}' at the same time: try again`)
}

/** Removes what is known of a crawl in one partition, unless it holds URLs or a group reads its outcomes. */
const FORGET = `${ALLOWED_WHEN_FULL}
local tag, name = string.match(KEYS[1], '^{.-}:'), ARGV[1]
local crawl, stream = tag .. '${KEY.crawl}' .. name, tag .. '${KEY.outcomes}:' .. name
local stored, gone = unpack(redis.call('HMGET', crawl, '${CRAWL.storedEver}', '${CRAWL.left}'))
if tonumber(stored or '0') > tonumber(gone or '0') then return 'stored' end
if redis.call('EXISTS', stream) == 1 and #redis.call('XINFO', 'GROUPS', stream) > 0 then return 'read' end
redis.call('UNLINK', crawl, stream, tag .. '${KEY.hostsOf}' .. name, tag .. '${KEY.lanesOf}' .. name)
redis.call('HDEL', tag .. '${KEY.crawls}', name)
return 'forgotten'`

/**
 * Forgets a crawl that holds no URLs and that no group reads: its record, its counts, and outcomes that no group was made for. A candidate
 * that names it makes it anew.
 * @returns  why not, or `forgotten`
 */
export async function forgetCrawl(
  { redis, all, callDeadlineMs }: Places,
  name: string,
): Promise<'forgotten' | 'stored' | 'read' | 'absent'> {
  if (name === DEFAULT_CRAWL) return 'stored'
  const pipeline = redis.pipeline()
  for (const keys of all) pipeline.hexists(keys.crawls, name)
  const known = await answersOf(pipeline, callDeadlineMs, 'crawls')
  if (known.every((one) => one === 0)) return 'absent'
  const [first, ...others] = all as [Keys, ...Keys[]]
  const forgetIn = async (keys: Keys): Promise<'forgotten' | 'stored' | 'read'> => {
    const answer = await withDeadline(redis.eval(FORGET, 1, keys.epoch, name), callDeadlineMs, 'crawls')
    return answer as 'forgotten' | 'stored' | 'read'
  }
  // The first partition last, because the others are updated from it.
  for (const keys of [...others, first]) {
    const answer = await forgetIn(keys)
    if (answer !== 'forgotten') return answer
  }
  // A gateway may have healed one of the others in between. What holds URLs or is read by now is a crawl of this name made anew.
  for (const keys of others) await forgetIn(keys)
  return 'forgotten'
}

/** A crawl may be called `constructor`, which every object has. */
const byName = (versions: unknown): Map<string, string> => new Map(Object.entries(versions as Record<string, string>))

/** What a gateway knows of crawls: their records, as the first partition has them. */
export type CrawlBook = {
  /** of a crawl of which nothing was set: USUAL */
  recordOf(name: string): CrawlRecord
  names(): Iterable<string>
  /** it was there at the last look; the default crawl always is */
  knows(name: string): boolean
  /** whether a candidate may name it: it is known, or there is room for one more */
  mayName(name: string): boolean
  /** reads what has changed since */
  look(): Promise<void>
}

export function crawlBook({ redis, places, callDeadlineMs }: Places): CrawlBook {
  const records = new Map<string, CrawlRecord>()
  return {
    recordOf: (name) => records.get(name) ?? USUAL,
    names: () => records.keys(),
    knows: (name) => name === DEFAULT_CRAWL || records.has(name),
    mayName: (name) => name === DEFAULT_CRAWL || records.has(name) || records.size < MOST_CRAWLS,
    async look() {
      const [first] = places
      if (first === undefined) return
      const [versions] = await answersOf(redis.pipeline().hgetall(first.keys.crawls), callDeadlineMs, 'crawls')
      const listed = byName(versions)
      // One that is listed under 0 and had a record was forgotten, and named anew since.
      for (const [name, { version }] of records)
        if (!listed.has(name) || (listed.get(name) === '0' && version > 0)) records.delete(name)
      const behind = [...listed]
        .filter(([name, version]) => (records.get(name)?.version ?? -1) < Number(version))
        .map(([name]) => name)
      if (behind.length === 0) return
      const pipeline = redis.pipeline()
      for (const name of behind) pipeline.hget(first.keys.crawl(name), CRAWL.record)
      const texts = (await answersOf(pipeline, callDeadlineMs, 'crawls')) as (string | null)[]
      for (const [at, name] of behind.entries()) records.set(name, readRecord(texts[at]))
    },
  }
}

/** What the crawls of one partition need: that it has their latest records, and that its share of their limits is right. */
export async function healCrawls(from: Places, partition: number, book: CrawlBook): Promise<void> {
  const { redis, places, callDeadlineMs } = from
  const place = places[partition]
  if (place === undefined) return
  const [versions] = await answersOf(redis.pipeline().hgetall(place.keys.crawls), callDeadlineMs, 'crawls')
  const known = byName(versions)
  const [first] = places
  const behind = [...book.names()].filter((name) => book.recordOf(name).version > Number(known.get(name) ?? 0))
  if (behind.length > 0 && first !== undefined) {
    // The book is up to a second old: what the first partition does not list any more, or lists without a record,
    // has been forgotten since, and stays so.
    const [listed] = await answersOf(redis.pipeline().hmget(first.keys.crawls, ...behind), callDeadlineMs, 'crawls')
    const alive = behind.filter((_, at) => Number((listed as (string | null)[])[at] ?? 0) > 0)
    for (const name of alive) await place.verbs.crawl(name, book.recordOf(name))
  }
  // A crawl that the first partition does not list is added there, so that every list has it.
  if (partition === 0 || first === undefined) return
  const pipeline = redis.pipeline()
  const unlisted = [...known.keys()].filter((name) => ![...book.names()].includes(name))
  for (const name of unlisted) pipeline.hsetnx(first.keys.crawls, name, '0')
  if (unlisted.length > 0) await answersOf(pipeline, callDeadlineMs, 'crawls')
}

/** Ends crawls whose end has come, and shares limits among the partitions. Once a second is enough. */
export async function limitCrawls(from: Places, book: CrawlBook, now: Instant): Promise<void> {
  const { redis, places, callDeadlineMs } = from
  const names = [...book.names()].filter((name) => {
    const { expiresAt, limits } = book.recordOf(name)
    return expiresAt !== undefined || limits !== undefined
  })
  if (names.length === 0) return
  const answered = await Promise.all(places.map(({ keys }) => factsOf(from, keys, names)))
  const today = String(Math.floor(now / DAY))
  for (const [at, name] of names.entries()) {
    const facts = answered.map((one) => one[at] ?? NOTHING)
    const { record, bytes, waiting } = crawlOf(name, facts)
    const end = endedBy(record, bytes, now)
    if (end !== undefined) {
      await places[0]?.verbs.crawl(name, end, record.version)
      continue
    }
    const { stored, pagesPerDay } = record.limits ?? {}
    if (places.length === 1 || (stored === undefined && pagesPerDay === undefined)) continue
    const takenIn = ({ fields }: Facts): number => (fields[CRAWL.day] === today ? Number(fields[CRAWL.today] ?? 0) : 0)
    const inAll = facts.reduce((sum, one) => sum + takenIn(one), 0)
    const shares = places.map(({ keys }, place) => {
      const one = facts[place] ?? NOTHING
      const here = Number(one.fields[CRAWL.storedEver] ?? 0) - Number(one.fields[CRAWL.left] ?? 0)
      const pipeline = redis.pipeline()
      if (stored !== undefined) pipeline.hset(keys.crawl(name), CRAWL.stored, Math.max(0, stored - waiting + here))
      if (pagesPerDay !== undefined)
        pipeline.hset(keys.crawl(name), CRAWL.perDay, Math.max(0, pagesPerDay - inAll + takenIn(one)))
      return answersOf(pipeline, callDeadlineMs, 'crawls')
    })
    await Promise.all(shares)
  }
}

/**
 * Ends some URLs of a crawl that is over, each with its outcome, in one partition. What is in flight ends with its request.
 * @returns how many; 0: nothing is left, but for what is in flight
 */
export async function sweepCrawl(
  { redis, callDeadlineMs }: Omit<Places, 'places' | 'all'>,
  { keys, verbs }: CrawlPlace,
  name: string,
  record: CrawlRecord,
  now: Instant,
): Promise<number> {
  const reason = endingOf(record)
  if (reason === undefined) return 0
  const [lanes] = await answersOf(
    redis.pipeline().srandmember(keys.lanesOf(name), LANES_AT_ONCE),
    callDeadlineMs,
    'sweep',
  )
  let ended = 0
  for (const lane of lanes as string[]) {
    const { agent, origin } = readLaneName(lane)
    for (const list of listsOf(name)) {
      const key = keys.list(list, laneName(agent, origin))
      const [entries] = await answersOf(redis.pipeline().lrange(key, 0, URLS_AT_ONCE - 1), callDeadlineMs, 'sweep')
      const urls = (entries as string[]).map((entry): { entry: string; outcome: Outcome } => {
        const { id, path, crawl, meta } = decodeIn(list, entry)
        const about = { id, url: origin + path, agent, at: Math.floor(now), attempts: 0, crawl, meta }
        return { entry, outcome: outcomeOf(about, { kind: 'refused', reason }) }
      })
      const answers = await verbs.cancel({ agent, origin, list }, urls)
      ended += answers.filter((answer) => answer === 'cancelled').length
    }
  }
  return ended
}
