/**
 * `decorum partitions`, as an operator runs it while the fleet stands still: its real work on the real Redis. It takes no virtual time, but for what
 * it waits for.
 */
import { type RedisLink, readTags } from '@decorum/ledger'
import { repartition } from '@decorum/ledger/move'
import { keysOf } from '@decorum/ledger/testing'
import { type Clock, hostOf, partitionOf, type Timer } from '@decorum/protocol'
import type { Redis } from 'ioredis'
import { isScript } from './calls.ts'
import { TIME_AT, timed } from './link.ts'
import { ENDS_KEY } from './redis-lua.ts'
import type { Server } from './server.ts'
import { START, type Timeline } from './timeline.ts'

type Times = { leaseMs: number; quarantineMs: number }
type Tags = Awaited<ReturnType<typeof readTags>>

/**
 * Resolves within events of the timeline, with the partitions that there are then, and what is held or was counted for hosts and has not moved with them, in words.
 * @throws LedgerUnfitError, as the command does
 */
export function changePartitions(
  timeline: Timeline,
  server: Server,
  to: number,
  times: Times,
): Promise<Tags & { left: string[] }> {
  let pause = Promise.withResolvers<void>()
  const work = async (): Promise<Tags & { left: string[] }> => {
    const clock = clockOf(timeline, goOn, () => pause.resolve())
    const before = await heldFor(server.real, server.tags)
    const ends = await endsOf(server.real)
    await repartition({ redis: directLink(server), to, clock, ...times })
    await moveEnds(server.real, ends)
    const now = await readTags(server.real)
    const after = await heldFor(server.real, now.tags)
    const isThere = ([what, { host }]: [string, Place]): boolean =>
      after.get(what)?.tag === now.tags[partitionOf(host, now.tags.length)]
    return { ...now, left: [...before].filter((one) => !isThere(one)).map(([what]) => what) }
  }
  const goOn = (resume: () => void) => (): Promise<void> => {
    pause = Promise.withResolvers()
    resume()
    return Promise.race([pause.promise, over])
  }
  const { promise: over, resolve: isOver } = Promise.withResolvers<void>()
  return new Promise((resolve, reject) => {
    const begin = (): void => void work().then(resolve, reject).finally(isOver)
    timeline.after(0, 'the number of partitions is changed', goOn(begin))
  })
}

/** Key → when it ends, by the world's time. */
async function endsOf(redis: Redis): Promise<Map<string, string>> {
  const ends = new Map<string, string>()
  const flat = await redis.zrange(ENDS_KEY, '0', '-1', 'WITHSCORES')
  for (let at = 0; at < flat.length; at += 2) ends.set(String(flat[at]), String(flat[at + 1]))
  return ends
}

/** A key takes its end along, which stands under its former name. */
async function moveEnds(redis: Redis, before: ReadonlyMap<string, string>): Promise<void> {
  const nameOf = (key: string): string => key.slice(key.indexOf('}'))
  const ends = new Map([...before].map(([key, at]) => [nameOf(key), at]))
  const there = new Set(await redis.keys('{decorum:*'))
  for (const key of before.keys()) if (!there.has(key)) await redis.zrem(ENDS_KEY, key)
  for (const key of there) {
    const at = before.has(key) ? undefined : ends.get(nameOf(key))
    if (at !== undefined && (await redis.pttl(key)) > 0) await redis.zadd(ENDS_KEY, at, key)
  }
}

type Place = { host: string; tag: string }
/** How many requests were made to a host today, and its lanes that a policy holds: in words, with where they stand. */
async function heldFor(redis: Redis, tags: readonly string[]): Promise<Map<string, Place>> {
  const found = new Map<string, Place>()
  for (const tag of tags) {
    for (const key of await redis.keys(`${tag}:requests:*`))
      for (const [host, count] of Object.entries(await redis.hgetall(key)))
        found.set(`${host}: ${count} requests`, { host, tag })
    for (const lane of await redis.smembers(keysOf(tag).heldByPolicy))
      found.set(`${lane}: held by a policy`, { host: hostOf(lane.slice(lane.indexOf(' ') + 1)), tag })
  }
  return found
}

/** Deadlines of its calls never pass: they take no virtual time. */
class NoTimer implements Timer {
  unref(): Timer {
    return this
  }
}

function clockOf(timeline: Timeline, goOn: (resume: () => void) => () => unknown, waits: () => void): Clock {
  const timer = new NoTimer()
  return {
    machine: () => timeline.now,
    monotonic: () => timeline.now - START,
    timeout: () => timer,
    interval: () => timer,
    soon: (act) => queueMicrotask(act),
    cancel: () => undefined,
    sleep: (ms) =>
      new Promise((resolve) => {
        timeline.after(ms, 'the change of partitions looks again', goOn(resolve))
        waits()
      }),
    random: () => 0,
  }
}

type Pages = AsyncIterable<(string | Buffer)[]>
/** Scans, and how many items an entry has. */
const SCANS = { scanStream: 1, sscanStream: 1, hscanBufferStream: 2, zscanStream: 2 } as const

/** Each Redis has another order of its own in which it scans. @returns one page of all, by their names */
async function* inOrder(pages: Pages, size: number): Pages {
  const entries: (string | Buffer)[][] = []
  for await (const page of pages) for (let at = 0; at < page.length; at += size) entries.push(page.slice(at, at + size))
  const byName = new Map(entries.map((entry) => [String(entry[0]), entry]))
  yield [...byName.keys()].sort().flatMap((name) => byName.get(name) ?? [])
}

/** The real connection, with the world's time for calls of the ledger. */
function directLink(server: Server): RedisLink {
  return new Proxy(server.real, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown
      if (name === 'defineCommand') return () => undefined
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (typeof name === 'string' && name in SCANS)
          return inOrder(Reflect.apply(value, target, args) as Pages, SCANS[name as keyof typeof SCANS])
        const isVerb = typeof name === 'string' && isScript(name)
        if (isVerb) args[TIME_AT] = timed(String(args[TIME_AT]), server.time())
        const answer = (value as (...of: unknown[]) => unknown).apply(target, args)
        if (!isVerb) return answer
        return (answer as Promise<unknown>).then((reply) => {
          server.noted(reply)
          return reply
        })
      }
    },
  })
}
