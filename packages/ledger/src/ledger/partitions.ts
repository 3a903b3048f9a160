/** The partitions of an open ledger, and what all calls share: the partition of an origin, the time, the deadline, the stops. */
import { type Deadline, hostOf, partitionOf } from '@decorum/protocol'
import { checkRedis } from '../fit.ts'
import { EPOCH, type Keys, keysOf, STOPS } from '../layout.ts'
import type { RedisLink } from '../link.ts'
import { type Closings, closingsOf } from '../record/closings.ts'
import { keeperOf } from '../record/keeper.ts'
import { registerPartitions, tagsPlace, tagsVersion } from '../record/tags.ts'
import { type Scripts, scriptsOf, versionsText, withDeadline } from '../scripts.ts'
import { type LedgerOptions, verbSettings } from '../settings.ts'
import { stopKeeper } from '../stops/keeper.ts'
import type { StopRecord } from '../stops/record.ts'
import { thatAnswer } from '../that-answer.ts'
import { NO_RATES } from '../verbs/rates.ts'
import { type Verbs, verbsOf } from '../verbs.ts'
import { whyHeld } from '../why-held.ts'

type Partition = { closings: Closings; redis: RedisLink; keys: Keys; scripts: Scripts; verbs: Verbs }

export type Partitions = Awaited<ReturnType<typeof openPartitions>>

/** @throws LedgerUnfitError when this Redis cannot keep the promises · LedgerUnavailableError when no partition answers */
export async function openPartitions(redis: RedisLink, options: LedgerOptions, deadline: Deadline) {
  const warnings = await checkRedis(redis, deadline)
  const { clock } = deadline
  const settings = verbSettings(options)
  const holdMs = settings.leaseMs + settings.quarantineMs
  const isNew = options.isNew ?? options.nowMs !== undefined
  const isVirtual = options.nowMs !== undefined // then the age of the Redis server has no meaning
  const known = isNew || isVirtual ? { isNew } : { holdMs }
  const registered = await registerPartitions(clock, redis, options.partitions, known)
  const { tags, retired } = registered
  const recordsAt = (place: number) => ({
    get versions() {
      return versionsText(stops.known.version, rates.known.version)
    },
    report(versions: string) {
      const [ofStops, ofRates] = versions.split(',').map(Number)
      stops.report(place, ofStops ?? 0)
      rates.report(place, ofRates ?? 0)
    },
  })
  const all = [...tags, ...retired].map((tag, place): Partition => {
    const keys = keysOf(tag)
    const scripts = scriptsOf(redis, keys, {
      records: place < tags.length ? recordsAt(place) : undefined,
      partitions: tags.length,
      holdMs,
      longestLeaseMs: settings.leaseMs,
      callDeadlineMs: deadline.ms,
      clock,
      nowMs: options.nowMs,
      mostMs: options.mostMs,
      excess: options.excess,
      onEpoch() {
        void reportWhyHeld(keys, scripts)
        void closings.writeAgain()
      },
      onCall: options.onCall,
    })
    const verbs = verbsOf(scripts, settings)
    const closings = closingsOf(clock, holdMs, {
      restore: verbs.restore,
      keptUntil: async () => Number((await timed(redis.hget(keys.epoch, EPOCH.keptUntil), 'epoch')) ?? 0),
      now: scripts.now,
    })
    return { redis, keys, scripts, verbs, closings }
  })
  const active = all.slice(0, tags.length)
  const of = (partition: number): Partition => {
    const found = all[partition]
    if (found === undefined) throw new RangeError(`there is no partition ${partition}`)
    return found
  }
  const placeOf = tags.length === 1 ? () => 0 : remembering((origin) => partitionOf(hostOf(origin), tags.length))
  const timed = <T>(work: Promise<T>, what: string): Promise<T> => withDeadline(work, deadline, what)
  const now = (partition = 0): number =>
    of(partition).scripts.now() || Math.max(...all.map(({ scripts }) => scripts.now()))
  const wall = (partition = 0): number => now(partition) - of(partition).scripts.aheadMs()
  const notice = options.onNotice ?? (() => {})
  const reported = new Map<string, string>()
  /** Reads the epoch from Redis: several calls may have returned the new epoch at once, and it is reported only once. */
  const reportWhyHeld = async (keys: Keys, scripts: Scripts): Promise<void> => {
    const found = await timed(redis.hmget(keys.epoch, EPOCH.id, EPOCH.why, EPOCH.holdUntil), 'epoch').catch(() => [])
    const sentence = whyHeld(
      found[1] ?? '',
      Number(found[2]) - scripts.now(),
      tags.length === 1 ? '' : keys.tag,
      clock.machine(),
    )
    if (sentence === undefined || reported.get(keys.tag) === found[0]) return
    reported.set(keys.tag, found[0] ?? '')
    notice(sentence)
  }
  const stops = stopKeeper(
    clock,
    active.map(({ keys, verbs }) => ({
      async read() {
        const text = await timed(redis.hget(keys.stops, STOPS.record), 'stops')
        return text === null ? undefined : (JSON.parse(text) as StopRecord)
      },
      write: (record, expected) => verbs.stops(record, wall(), expected),
    })),
    wall,
  )
  const rates = keeperOf(
    active.map(({ verbs }) => ({ write: verbs.rates })),
    NO_RATES,
    () => {},
  )
  const tagsKeeper = keeperOf([tagsPlace(redis)], registered, () => {})
  // These first calls also bring the time and the epoch.
  const seen = await thatAnswer(active.map(({ verbs }) => verbs.fleet()))
  await Promise.all(active.map(({ keys, scripts }) => reportWhyHeld(keys, scripts)))
  await stops.settled() // a partition without the stops gets them before this process grants anything there
  if (seen.length < tags.length)
    warnings.push(
      `${tags.length - seen.length} of ${tags.length} partitions do not answer: a master of the cluster is away`,
    )
  return {
    redis,
    deadline,
    /** settings of the verbs, passed with each call; some may change while the ledger is open */
    settings,
    warnings,
    tags,
    retired,
    /** the partitions in which hosts live, in the order of `tags` */
    active,
    /** `active`, followed by the retired ones */
    all,
    /** the partition at this place in `all` */
    of,
    /** the partition in which an origin lives */
    ofOrigin: (origin: string): Partition => of(placeOf(origin)),
    placeOf,
    /** settles as `work` does, or fails with LedgerUnavailableError when Redis does not answer in time */
    timed,
    now,
    wall,
    stops,
    rates,
    /** Checks whether the list of partitions still exists, and writes it again if Redis has lost it. */
    async checkTags(): Promise<void> {
      tagsKeeper.report(0, await timed(tagsVersion(redis), 'partitions'))
    },
  }
}

/** Number of origins whose partition is cached: each verb of each URL needs it, and computing it takes a SHA-1. */
const PLACES = 10_000

function remembering(find: (origin: string) => number): (origin: string) => number {
  const places = new Map<string, number>()
  return (origin) => {
    const known = places.get(origin)
    if (known !== undefined) return known
    if (places.size >= PLACES) places.clear()
    const place = find(origin)
    places.set(origin, place)
    return place
  }
}
