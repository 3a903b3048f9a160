import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { RequestLine } from '@decorum/audit'
import { now as clock } from '@decorum/cli/synthetic-web'
import { Redis } from 'ioredis'
import type { Times } from './manners.ts'

/** A stretch in which a process was kept from running, ms of clock(), and its name. */
export type Stall = { at: number; until: number; who: string }

export type Stalls = {
  /** those so far */
  seen(): Stall[]
  /** @param from  those that ended before are left out: while everything starts every process is late */
  end(from: number): Stall[]
}

const EVERY_MS = 50
const HERE = 'the storm'
const REPORTER = fileURLToPath(new URL('report-stalls.mjs', import.meta.url))

/**
 * When this process, its Redis, and the processes that it starts from now on and that fetch or answer, were kept from running by a busy
 * machine or disk.
 * @param folder  where they write it down
 */
export function watchStalls(folder: string, redisUrl: string): Stalls {
  const file = join(folder, 'stalls.ndjson')
  const { NODE_OPTIONS = '' } = process.env
  Object.assign(process.env, { STORM_STALLS: file, NODE_OPTIONS: `${NODE_OPTIONS} --import ${REPORTER}` })
  const seen: Stall[] = []
  const late = (who: string, at: number): void => {
    const until = clock()
    // What was late here delays the answer of Redis as well, and is told already.
    const here = seen.filter((one) => who !== one.who && one.who === HERE && one.until > at)
    const from = Math.max(at, ...here.map((one) => one.until))
    if (until - from > 2 * EVERY_MS) seen.push({ at: from, until, who })
  }
  let last = clock()
  const timer = setInterval(() => {
    late(HERE, last)
    last = clock()
  }, EVERY_MS)
  const over = new AbortController()
  const all = (): Stall[] => {
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
    return [...seen, ...lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line) as Stall)]
  }
  void askAgainAndAgain(redisUrl, over.signal, late)
  return {
    seen: all,
    end(from) {
      clearInterval(timer)
      over.abort()
      delete process.env.STORM_STALLS
      process.env.NODE_OPTIONS = NODE_OPTIONS
      return all().filter(({ until }) => until > from)
    },
  }
}

/** Redis tells nobody that it stood still, so it is asked; while it is away it is not. */
async function askAgainAndAgain(
  redisUrl: string,
  signal: AbortSignal,
  late: (who: string, at: number) => void,
): Promise<void> {
  const redis = new Redis(redisUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => EVERY_MS,
  })
  redis.on('error', () => undefined)
  while (!signal.aborted) {
    const at = clock()
    await redis.ping().catch(() => undefined)
    late('Redis', at)
    await sleep(EVERY_MS)
  }
  redis.disconnect()
}

export const longestOf = (stalls: readonly Stall[]): number => Math.max(0, ...stalls.map(({ at, until }) => until - at))

/** How far from what it is judged by a stall may have been: a busy machine keeps one process from running sooner than another. */
const NEAR_MS = 5_000

/** The longest that was seen between two instants, or shortly before or after, ms. */
export const longestNear = (stalls: readonly Stall[], from: number, until = from): number =>
  longestOf(stalls.filter((stall) => stall.until >= from - NEAR_MS && stall.at <= until + NEAR_MS))

/**
 * How long an exchange between two instants may have been kept waiting in all, ms: by the fetcher, or the process that grants permits,
 * that was late most, by Redis, by its site and by this process, whose links some of them use. Many short stalls delay it as much as a long one.
 */
export function keptWaiting(stalls: readonly Stall[], from: number, until: number): number {
  const near = stalls.filter((stall) => stall.until > from && stall.at < until)
  const sums = [...Map.groupBy(near, ({ who }) => who)].map(([who, its]) => ({
    isOneOfMany: who.startsWith('fetcher') || who.startsWith('permits'),
    ms: its.reduce((sum, stall) => sum + Math.min(stall.until, until) - Math.max(stall.at, from), 0),
  }))
  const ofOneOfMany = sums.filter(({ isOneOfMany }) => isOneOfMany).map(({ ms }) => ms)
  const ofOthers = sums.filter(({ isOneOfMany }) => !isOneOfMany).reduce((sum, { ms }) => sum + ms, 0)
  return Math.max(0, ...ofOneOfMany) + ofOthers
}

/** Between a permit and the site's hearing of the request. */
export const ON_ITS_WAY_MS = 300

/**
 * Whether an exchange was kept waiting for so long that its visitor gave it up or lost its lease: what its site saw of it, and what it
 * was kept waiting, are together as long.
 */
export function outlasted(line: RequestLine, { deadlineMs, leaseMs }: Times, stalls: readonly Stall[]): boolean {
  const [least, from] = line.cut
    ? [deadlineMs * 0.9, line.start - deadlineMs]
    : [leaseMs - ON_ITS_WAY_MS, line.start - leaseMs]
  return line.end - line.start + keptWaiting(stalls, from, line.cut ? line.end : line.end + leaseMs) >= least
}

/** Something that happened to one process, ms of clock(). */
export type OfOne = { name: string; at: number; until: number }

/**
 * Without what the storm has done itself: a process that it stopped tells of that as a stall as well, and so does one that it has started
 * and that loads its modules. No other was kept from running.
 * @param own  freezes, each from its SIGSTOP to its SIGCONT, and starts, each until the process was ready
 */
export function withoutOwn(stalls: readonly Stall[], own: readonly OfOne[]): Stall[] {
  return stalls.flatMap((stall) => {
    const its = own.filter(({ name, at, until }) => name === stall.who && stall.at < until && stall.until > at)
    if (its.length === 0) return [stall]
    const rest = its.reduce<Stall[]>(
      (left, { at, until }) =>
        left.flatMap((one) => [
          { ...one, until: Math.min(one.until, at) },
          { ...one, at: Math.max(one.at, until) },
        ]),
      [stall],
    )
    return rest.filter(({ at, until }) => until - at > 2 * EVERY_MS)
  })
}
