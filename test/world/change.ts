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
    await repartition({ redis: directLink(server), to, clock, ...times })
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

/** The real connection, with the world's time for calls of the ledger. */
function directLink(server: Server): RedisLink {
  return new Proxy(server.real, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown
      if (name === 'defineCommand' || typeof value !== 'function')
        return name === 'defineCommand' ? () => undefined : value
      return (...args: unknown[]) => {
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
