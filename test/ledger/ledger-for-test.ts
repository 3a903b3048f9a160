/** A ledger on virtual time and an emptied real Redis, and short ways to say what a test wants to happen in it. */

import type { LedgerOptions, ReservedLane, StartRequest, StoreItem } from '@decorum/ledger'
import { EPOCH, FIELD, keysOf } from '@decorum/ledger/testing'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import type { Outcome } from '@decorum/protocol'
import { systemClock } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import { PATIENT } from '../support/patient.ts'
import type { TestRedis } from '../support/redis.ts'

/** Lengths that tests count with, ms. */
export const LEASE = 45_000
export const QUARANTINE = 10_000
export const RESERVE = 30_000
/** How long an empty Redis grants nothing: FIRST_HOLD_MS in lua/lib/epoch.lua. */
export const FIRST_HOLD = 1_000

export { PATIENT }

export const ORIGIN = 'http://site.test'
export const AGENT = 'bot'
export const TAG = '{decorum:0}'
export const keys = keysOf(TAG)

/** Fields of an origin by their names. */
export type OriginFields = { [Name in keyof typeof FIELD]?: string | number }

export type Clock = { now: number; pass(ms: number): number }

export const clockAt = (now = 1_800_000_000_000): Clock => ({
  now,
  pass(ms) {
    this.now += ms
    return this.now
  },
})

export type UrlItem = Extract<StoreItem, { pending: unknown }>

/** A URL for a lane; `id` doubles as its path. */
export function url(
  id: string,
  more: Partial<UrlItem['pending']> & { agent?: string; origin?: string; mark?: string } = {},
): UrlItem {
  const { agent = AGENT, origin = ORIGIN, mark, ...pending } = more
  return {
    lane: { agent, origin },
    pending: { id, path: `/${id}`, expiresAt: 4_000_000_000_000, hops: 0, priority: 'normal', ...pending },
    ...(mark === undefined ? {} : { mark }),
  }
}

export const urls = (...ids: string[]): UrlItem[] => ids.map((id) => url(id))

/** A terminal outcome of the candidate `id`. */
export function outcomeOf(id: string, body: Partial<Outcome> = {}): Outcome {
  return {
    id,
    url: `${ORIGIN}/${id}`,
    agent: AGENT,
    kind: 'failed',
    reason: 'connect',
    detail: '',
    at: 1,
    attempts: 1,
    ...body,
  } as Outcome
}

export type Bench = {
  ledger: LedgerWithViews
  clock: Clock
  /** a second connection, to look at what is really stored */
  raw: Redis
  /** another process's view of the same ledger: it has just started */
  another(): Promise<LedgerWithViews>
  /** everything that is due now, by origin and agent */
  reserve(more?: { limit?: number; aheadMs?: number; inFlightLimit?: number; peek?: number }): Promise<ReservedLane[]>
  /** the one lane that is due: fails when there is none or another */
  reserveOne(more?: { aheadMs?: number; peek?: number }): Promise<ReservedLane>
  /** start it as a page of version 0 */
  startPage(
    lane: ReservedLane,
    more?: { delayMs?: number; version?: number; kind?: StartRequest['kind'] },
  ): ReturnType<LedgerWithViews['start']>
  /** the exchange of the head is over, well, and the URL leaves */
  finish(lane: ReservedLane, more?: { delayMs?: number; elapsedMs?: number }): ReturnType<LedgerWithViews['complete']>
  /** store → reserve → start → complete of one URL: the lane is due `delayMs` from now */
  visit(id: string, delayMs: number): Promise<void>
  outcomes(): Promise<Outcome[]>
  /** ORIGIN as if another call had written these fields: after every lane that is reserved already */
  setOrigin(fields: OriginFields): Promise<void>
  /** Redis is another run from now on: it was started again, or a replica took over */
  restartRedis(): Promise<void>
  /** instant at which a lane is due; undefined when it is not in that set */
  dueOf(agent?: string, origin?: string): Promise<number | undefined>
}

/**
 * An empty ledger whose first hold is over.
 * @param options.hold  true: the first hold is still running
 */
export async function emptyLedger(
  redis: Pick<TestRedis, 'url'>,
  options: Omit<Partial<LedgerOptions>, 'clock'> & { hold?: boolean; clock?: Clock; random?: () => number } = {},
): Promise<Bench> {
  const { hold = false, clock = clockAt(), random = systemClock.random, ...rest } = options
  const raw = new Redis(redis.url)
  await raw.flushall()
  const opened: LedgerWithViews[] = []
  onTestFinished(async () => {
    await Promise.all(opened.map((ledger) => ledger.close()))
    raw.disconnect()
  })
  const open = async (): Promise<LedgerWithViews> => {
    const ledger = await openLedgerWithViews({
      redis: redis.url,
      partitions: 1,
      leaseMs: LEASE,
      quarantineMs: QUARANTINE,
      reserveMs: RESERVE,
      nowMs: () => clock.now,
      clock: { ...systemClock, random },
      ...PATIENT,
      ...rest,
    })
    opened.push(ledger)
    return ledger
  }
  const ledger = await open()
  if (!hold) clock.pass(FIRST_HOLD)

  const reserve: Bench['reserve'] = async (more = {}) => {
    const taken = await ledger.reserve(0, { limit: 100, aheadMs: 0, inFlightLimit: 10_000, peek: 1, ...more })
    return taken.kind === 'reserved' ? taken.lanes : []
  }
  const reserveOne: Bench['reserveOne'] = async (more = {}) => {
    const lanes = await reserve(more)
    const [lane] = lanes
    if (lane === undefined || lanes.length > 1) throw new Error(`${lanes.length} lanes are due, one was expected`)
    return lane
  }
  const startPage: Bench['startPage'] = ({ agent, origin, fence }, more = {}) =>
    ledger.start({ agent, origin, fence, kind: 'page', version: 0, delayMs: 1_000, ...more })
  const finish: Bench['finish'] = ({ agent, origin, fence, urls }, more = {}) =>
    ledger.complete({
      agent,
      origin,
      fence,
      delayMs: 1_000,
      elapsedMs: 0,
      load: { kind: 'normal' },
      outcome: outcomeOf(urls[0]?.id ?? ''),
      ...more,
    })
  return {
    ledger,
    clock,
    raw,
    another: open,
    reserve,
    reserveOne,
    startPage,
    finish,
    async visit(id, delayMs) {
      await ledger.store(0, urls(id))
      const lane = await reserveOne()
      await startPage(lane, { delayMs })
      await finish(lane, { delayMs })
    },
    async outcomes() {
      const rows = await raw.xrange(keys.outcomes, '-', '+')
      return rows.map(([, fields]) => JSON.parse(fields[1] as string) as Outcome)
    },
    async setOrigin(fields) {
      const stored = Object.entries(fields).map(([name, value]) => [FIELD[name as keyof typeof FIELD], String(value)])
      await raw.hset(keys.origin(ORIGIN), ...stored.flat())
      await raw.hdel(keys.origin(ORIGIN), FIELD.allOpen)
      await raw.zadd(keys.changed, (await raw.hget(keys.epoch, EPOCH.fence)) ?? 0, ORIGIN)
    },
    restartRedis: async () => void (await raw.hset(keys.epoch, EPOCH.run, `another-${clock.now}`)),
    async dueOf(agent = AGENT, origin = ORIGIN) {
      const score = await raw.zscore(keys.due, `${agent} ${origin}`)
      return score === null ? undefined : Number(score)
    },
  }
}

/** Another agent's robots.txt order brings rules that owe `delayMs` to AGENT's lane. */
export async function recordDelay({ ledger, reserve }: Bench, delayMs: number): Promise<void> {
  const asker = { agent: `asker-${delayMs}`, origin: ORIGIN } // of its own, and shut for long afterwards
  await ledger.store(0, [url(`ask-${delayMs}`, asker)])
  const lane = (await reserve()).find(({ agent }) => agent === asker.agent)
  if (lane === undefined) throw new Error('the asking lane is not due')
  const { fence, robots } = lane
  await ledger.start({ ...asker, fence, kind: 'robots', version: robots.version, delayMs: 0 })
  const delays = [{ agent: AGENT, delayMs }]
  await ledger.record({ ...asker, fence, state: robots.state, delays, delayMs: 3_600_000, elapsedMs: 0 })
}
