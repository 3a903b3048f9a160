/**
 * Another number of partitions for a ledger that is in use: hosts whose partition is another one afterwards move there, with
 * their URLs, clocks, ids, robots state and back-off. The fleet stands still meanwhile, and a gate at every partition
 * refuses whoever knows another number: docs/decisions/0009-redis-cluster.md.
 */
import { CANDIDATES, hostOf, ORDERS, partitionOf, partitionTags, readUrl } from '@decorum/protocol'
import { LedgerUnfitError } from './errors.ts'
import { checkRedis, readTags } from './fit.ts'
import { keysOf, PARTITIONS_KEY, RETIRED_KEY, readLaneName } from './keys.ts'
import { mastersOf, type RedisLink } from './link.ts'
import { moveLane, moveOrigin } from './move-lane.ts'
import { defineVerbs } from './scripts.ts'
import { leasesEnd, quiet } from './standstill.ts'

export type RepartitionOptions = {
  redis: RedisLink
  to: number
  leaseMs: number
  quarantineMs: number
  /** told what is going on, often */
  onProgress?: (progress: RepartitionProgress) => void
}
export type RepartitionProgress =
  | { kind: 'waiting' /** leases that have not ended yet */; leases: number }
  | { kind: 'moving'; lanes: number; origins: number; urls: number }
export type Repartitioned = {
  from: number
  to: number
  lanes: number
  origins: number
  urls: number
  /** no host lives there any more; what lies there is still read */
  retired: string[]
}

const CALL_MS = 10_000
const PAGE = 500

/**
 * Safe to call again after it broke off, with the same number.
 * @throws LedgerUnfitError when this Redis will not do, processes of the fleet still run, a job is half way in, or another
 *         change is under way
 */
export async function repartition(options: RepartitionOptions): Promise<Repartitioned> {
  const { redis, to, onProgress = () => undefined } = options
  await checkRedis(redis, CALL_MS)
  defineVerbs(redis)
  const before = await readTags(redis)
  const [first] = before.tags
  if (first === undefined)
    throw new LedgerUnfitError('no fleet has run on this Redis yet: start one with DECORUM_PARTITIONS set')
  const pending = await redis.hget(keysOf(first).epoch, 'of')
  const began = pending?.includes('>') ? pending : undefined
  if (began !== undefined && !began.endsWith(`>${to}`))
    throw new LedgerUnfitError(
      `a change of partitions (${began}) is not finished: give ${began.split('>')[1]} again first`,
    )
  const from = Number.parseInt(began ?? String(before.tags.length), 10)
  const done: Repartitioned = { from, to, lanes: 0, origins: 0, urls: 0, retired: before.retired }
  if (began === undefined && before.tags.length === to) return done

  const tags = partitionTags(to, [...before.tags, ...before.retired])
  const all = [...new Set([...before.tags, ...before.retired, ...tags])]
  if (began === undefined) await quiet(options, before.tags)
  const gate = `${from}>${to}`
  await putAll(redis, all, { of: gate })
  await leasesEnd(options, [...before.tags, ...before.retired], gate, (leases) =>
    onProgress({ kind: 'waiting', leases }),
  )

  const clocks = await clocksOf(redis, all)
  const move: Move = { redis, tags, clocks, done, onProgress }
  if (before.tags.length !== to) for (const at of before.tags.keys()) await clearOutbox(redis, before.tags, at)
  for (const tag of all) await moveLanes(move, tag)
  await moveOrigins(move, all)

  const retired = all.filter((tag) => !tags.includes(tag))
  // Serial numbers of jobs and fences go on where the highest was: ids that come from them are never given twice.
  const jobs = await highest(all, (tag) => redis.get(`${tag}:${CANDIDATES}:id`))
  for (const tag of tags) await redis.eval(RAISE, 1, `${tag}:${CANDIDATES}:id`, jobs)
  const fence = await highest(all, (tag) => redis.hget(keysOf(tag).epoch, 'fence'))
  await redis.eval(WRITE_TAGS, 2, PARTITIONS_KEY, RETIRED_KEY, tags.length, ...tags, ...retired)
  for (const tag of all) await redis.unlink(`${tag}:moved`)
  // The first last: as long as its gate is shut, the change can be taken up again.
  await putAll(redis, all.toReversed(), { of: String(to), fence })
  return { ...done, retired }
}

/** Frontiers go on adding jobs meanwhile: the counter only ever rises. */
const RAISE = `if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], ARGV[1]) end`

const WRITE_TAGS = `redis.call('DEL', KEYS[1], KEYS[2])
local n = tonumber(ARGV[1])
redis.call('RPUSH', KEYS[1], unpack(ARGV, 2, n + 1))
if #ARGV > n + 1 then redis.call('RPUSH', KEYS[2], unpack(ARGV, n + 2)) end`

type Move = {
  redis: RedisLink
  tags: string[]
  clocks: Map<string, Clock>
  done: Repartitioned
  onProgress: NonNullable<RepartitionOptions['onProgress']>
}

const homeOf = (tags: string[], origin: string): string => tags[partitionOf(hostOf(origin), tags.length)] as string

async function moveLanes({ redis, tags, clocks, done, onProgress }: Move, from: string): Promise<void> {
  let cursor = '0'
  do {
    const [next, flat] = await redis.zscan(`${from}:due`, cursor, 'COUNT', PAGE)
    cursor = next
    for (let at = 0; at < flat.length; at += 2) {
      const lane = flat[at] as string
      const to = homeOf(tags, readLaneName(lane).origin)
      if (to === from) continue
      done.urls += await moveLane(redis, from, to, lane, Number(flat[at + 1]), aheadMs(clocks, from, to))
      done.lanes++
      onProgress({ kind: 'moving', lanes: done.lanes, origins: done.origins, urls: done.urls })
    }
  } while (cursor !== '0')
}

/** By their keys, one walk over each server; on the way, orders of partitions that are given up go: none can be begun. */
async function moveOrigins({ redis, tags, clocks, done, onProgress }: Move, all: string[]): Promise<void> {
  for (const server of mastersOf(redis)) {
    let cursor = '0'
    do {
      const [next, keys] = await server.scan(cursor, 'MATCH', '{decorum:*', 'COUNT', PAGE)
      cursor = next
      for (const key of keys) {
        const end = key.indexOf('}') + 1
        const [from, rest] = [key.slice(0, end), key.slice(end)]
        if (!all.includes(from)) continue
        if (rest.startsWith(`:${ORDERS}:`) && !tags.includes(from)) await redis.unlink(key)
        if (!rest.startsWith(':o:')) continue
        const origin = rest.slice(3)
        const to = homeOf(tags, origin)
        if (to === from) continue
        await moveOrigin(redis, from, to, origin, aheadMs(clocks, from, to))
        done.origins++
        onProgress({ kind: 'moving', lanes: done.lanes, origins: done.origins, urls: done.urls })
      }
    } while (cursor !== '0')
  }
}

/** Entries whose candidate is stored already: its mark lies in the partition that its host belonged to. */
async function clearOutbox(redis: RedisLink, tags: string[], partition: number): Promise<void> {
  const { outbox } = keysOf(tags[partition] as string)
  for (const [id, fields] of await redis.xrange(outbox, '-', '+')) {
    const at = readUrl((JSON.parse(fields[1] ?? '{}') as { url?: string }).url ?? '')
    const home = 'refused' in at ? tags[partition] : homeOf(tags, at.origin)
    const mark = keysOf(home as string).mark(`outbox:${partition}:${id}`)
    if ((await redis.exists(mark)) === 1) await redis.xdel(outbox, id)
  }
}

/** A server's clock against this process's, ms: it lies between. */
type Clock = { least: number; most: number }

async function clocksOf(redis: RedisLink, tags: string[]): Promise<Map<string, Clock>> {
  const clocks = new Map<string, Clock>()
  if (mastersOf(redis).length === 1) return clocks // one server, one clock
  for (const tag of tags) {
    const asked = performance.now()
    const answer = (await redis.eval(`return redis.call('TIME')`, 1, keysOf(tag).epoch)) as [string, string]
    const time = Number(answer[0]) * 1_000 + Number(answer[1]) / 1_000
    clocks.set(tag, { least: time - performance.now(), most: time - asked })
  }
  return clocks
}

/** How far one's clock may be ahead of another's: a silence that moves there ends by so much later, never earlier. */
function aheadMs(clocks: Map<string, Clock>, from: string, to: string): number {
  return Math.max(0, (clocks.get(to)?.most ?? 0) - (clocks.get(from)?.least ?? 0))
}

async function putAll(redis: RedisLink, tags: string[], fields: Record<string, string>): Promise<void> {
  for (const tag of tags) await redis.hset(keysOf(tag).epoch, fields)
}

async function highest(tags: string[], read: (tag: string) => Promise<string | null>): Promise<string> {
  const found = await Promise.all(tags.map(read))
  return String(found.reduce((most, one) => Math.max(most, Number(one ?? 0)), 0))
}
