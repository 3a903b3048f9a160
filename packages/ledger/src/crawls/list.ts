/** The crawls of all partitions, listed with their counts. */
import { DEFAULT_CRAWL, type Deadline, outcomesKey } from '@decorum/protocol'
import { CRAWL, type Keys } from '../layout.ts'
import type { RedisLink } from '../link.ts'
import { crawlsIn } from '../outcomes.ts'
import { answersOf, withDeadline } from '../scripts.ts'
import { thatAnswer } from '../that-answer.ts'
import type { Verbs } from '../verbs.ts'
import { type CrawlRecord, readRecord, USUAL } from './record.ts'

export type Crawl = {
  name: string
  record: CrawlRecord
  /** number of stored URLs */
  waiting: number
  /** outcomes in its streams that some group has not acknowledged, or that no group has read */
  unread: number
  /** unread outcomes in the partition that stores most of them: at OUTCOMES_LIMIT the crawl waits there */
  unreadInOne: number
  /** outcomes by kind, since the crawl began */
  counts: Record<string, number>
  /** bytes of response bodies, on the wire */
  bytes: number
}

export type CrawlPlace = { keys: Keys; verbs: Pick<Verbs, 'crawl' | 'cancel'> }
/** `places`: the partitions where hosts live; `all`: including the retired ones */
export type Places = { redis: RedisLink; places: readonly CrawlPlace[]; all: readonly Keys[]; deadline: Deadline }

/** @param names  absent: all crawls, the default one first */
export async function listCrawls(from: Places, names?: readonly string[]): Promise<Crawl[]> {
  const { redis, all, deadline } = from
  const tags = all.map(({ tag }) => tag)
  const known = names ?? [DEFAULT_CRAWL, ...(await withDeadline(crawlsIn(redis, tags), deadline, 'crawls')).sort()]
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

/** The default crawl has no counts: it gets what remains when those of the other crawls are subtracted from the totals. */
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

async function countsOf({ redis, places, deadline }: Places): Promise<Record<string, number>> {
  const read = async ({ keys }: CrawlPlace) =>
    (await answersOf(redis.pipeline().hgetall(keys.counts), deadline, 'crawls'))[0]
  const all = (await thatAnswer(places.map(read))) as Record<string, string>[]
  const sums: Record<string, number> = {}
  for (const counts of all) for (const [name, n] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + Number(n)
  return sums
}

export type Facts = { fields: Record<string, string>; unread: number }
export const NOTHING: Facts = { fields: {}, unread: 0 }

export async function factsOf({ redis, deadline }: Places, keys: Keys, names: readonly string[]): Promise<Facts[]> {
  const pipeline = redis.pipeline()
  for (const name of names) pipeline.hgetall(keys.crawl(name)).xlen(outcomesKey(keys.tag, name))
  const answers = await answersOf(pipeline, deadline, 'crawls')
  return names.map((_, at) => ({
    fields: answers[2 * at] as Record<string, string>,
    unread: Number(answers[2 * at + 1]),
  }))
}

export function crawlOf(name: string, answered: readonly Facts[]): Crawl {
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
