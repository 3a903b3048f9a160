/**
 * The ledger alone: store, reserve, start and complete per second while the lanes grow a hundredfold and more, and what a
 * stored URL and an idle origin weigh. Real scripts on a real Redis; the clock is given, so that a delay costs no time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ledger, Pending, ReservedLane, StoreItem } from '@decorum/ledger'
import { keysOf, openLedger } from '@decorum/ledger'
import { assignedId, type Outcome } from '@decorum/protocol'
import { step, unknownOrigin } from '@decorum/robots'
import { median, round, spread, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'
import { type BenchRedis, benchRedis } from './frame/redis.ts'

const AGENT = 'bench'
/** Items per call, as the gateway sends them. */
const CALL = 200
/** Calls on their way at once. */
const WIDTH = 4
const DELAY_MS = 1_000
const CLOCK_STEP_MS = 100_000

type Verb = 'store' | 'reserve' | 'start' | 'complete'
const VERBS: Verb[] = ['store', 'reserve', 'start', 'complete']
type Rate = { perSecond: number; redis: number }

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const sizes = short ? [200, 2_000] : [1_000, 100_000, 1_000_000]
  const items = short ? 1_000 : 40_000
  const rounds = short ? 1 : 3
  const speeds = new Map<number, Record<Verb, Rate[]>>()
  for (const lanes of sizes) speeds.set(lanes, await speedAt(lanes, items, rounds))
  const weights = await weigh(short)
  return { name: 'lanes', lines: [...speedLines(speeds, items, rounds), '', ...weights] }
}

type Bench = { redis: BenchRedis; ledger: Ledger; clock: { now: number } }

async function openBench(): Promise<Bench> {
  const redis = await benchRedis()
  const clock = { now: Date.now() + CLOCK_STEP_MS } // ahead of Redis's own clock, and never behind itself
  const ledger = await openLedger({ redis: redis.url, partitions: 1, nowMs: () => clock.now, callDeadlineMs: 60_000 })
  clock.now += CLOCK_STEP_MS // the hold of a new ledger is over
  return { redis, ledger, clock }
}

async function speedAt(lanes: number, items: number, rounds: number): Promise<Record<Verb, Rate[]>> {
  const bench = await openBench()
  const { redis, ledger, clock } = bench
  const rates: Record<Verb, Rate[]> = { store: [], reserve: [], start: [], complete: [] }
  const timed = async (verb: Verb, count: number, work: () => Promise<void>): Promise<void> => {
    const cpu = await redis.cpuMicros()
    const startedAt = performance.now()
    await work()
    const seconds = (performance.now() - startedAt) / 1_000
    rates[verb].push({ perSecond: count / seconds, redis: ((await redis.cpuMicros()) - cpu) / count })
  }
  try {
    await storeAll(ledger, lanes, 0, lanes) // one URL a lane: the size of the ledger
    let at = lanes
    for (let i = 0; i < rounds; i++) {
      await timed('store', items, () => storeAll(ledger, lanes, at, items))
      at += items
      for (let left = Math.min(items, lanes); left > 0; clock.now += CLOCK_STEP_MS) {
        const count = Math.min(left, lanes)
        const taken: ReservedLane[] = []
        await timed('reserve', count, async () => {
          while (taken.length < count) taken.push(...(await reserve(ledger, Math.min(CALL, count - taken.length))))
        })
        await timed('start', count, () =>
          inChunks(taken, (chunk) => Promise.all(chunk.map((lane) => start(ledger, lane)))),
        )
        await timed('complete', count, () =>
          inChunks(taken, (chunk) => Promise.all(chunk.map((lane) => complete(ledger, lane)))),
        )
        await redis.client.xtrim(keysOf(ledger.tags[0] as string).outcomes, 'MAXLEN', 0)
        left -= count
      }
    }
    return rates
  } finally {
    await ledger.close()
    await redis.stop()
  }
}

/** URLs by turns over all lanes, from the `from`-th on. */
async function storeAll(
  ledger: Ledger,
  lanes: number,
  from: number,
  count: number,
  idOf: (n: number) => string = chosenFor,
): Promise<void> {
  const calls = Array.from({ length: Math.ceil(count / CALL) }, (_, call) => call * CALL)
  await inChunks(calls, (starts) =>
    Promise.all(
      starts.map((start) => {
        const size = Math.min(CALL, count - start)
        return ledger.store(
          0,
          Array.from({ length: size }, (_, i) => item(from + start + i, lanes, idOf)),
        )
      }),
    ),
  )
}

const originOf = (lane: number): string => `https://www.host-${lane}.example`

/** As a frontier writes them, which are looked up, and as a gateway assigns them: hundred to a job. */
const chosenFor = (n: number): string => `f3a9-${n.toString(36)}`
const assignedTo = (n: number): string => assignedId('0', { id: `${Math.floor(n / 100) + 1}`, timestamp: 0 }, n % 100)

function item(n: number, lanes: number, idOf: (n: number) => string): StoreItem {
  const origin = originOf(n % lanes)
  return { lane: { agent: AGENT, origin }, pending: { ...pendingOf(n, origin), id: idOf(n) } }
}

/** A URL of 90 characters, origin included. */
function pendingOf(n: number, origin: string): Omit<Pending, 'id'> {
  const path = `/articles/2026/11/20/a-title-of-usual-length-${n}`
  return {
    path: path.padEnd(90 - origin.length, '-'),
    expiresAt: 4_000_000_000_000,
    hops: 0,
    priority: 'normal',
  }
}

async function reserve(ledger: Ledger, limit: number): Promise<ReservedLane[]> {
  const taken = await ledger.reserve(0, { limit, aheadMs: 0, inFlightLimit: 10_000_000, peek: 1 })
  if (taken.kind === 'wait') throw new Error(`nothing to reserve: ${taken.why}`)
  return taken.lanes
}

async function start(ledger: Ledger, { agent, origin, fence, robots }: ReservedLane): Promise<void> {
  const permit = await ledger.start({ kind: 'page', agent, origin, fence, version: robots.version, delayMs: DELAY_MS })
  if (permit.kind !== 'granted') throw new Error(`start: ${permit.kind}`)
}

async function complete(ledger: Ledger, lane: ReservedLane): Promise<void> {
  const { agent, origin, fence, urls } = lane
  const head = urls[0] as Pending
  const outcome: Outcome = {
    id: head.id,
    url: origin + head.path,
    agent,
    at: 0,
    attempts: 1,
    kind: 'failed',
    reason: 'connect',
    detail: '',
  }
  const told = await ledger.complete({
    agent,
    origin,
    fence,
    delayMs: DELAY_MS,
    load: { kind: 'normal' },
    elapsedMs: 0,
    outcome,
  })
  if (told !== 'completed') throw new Error(`complete: ${told}`)
}

async function inChunks<T>(all: T[], work: (chunk: T[]) => Promise<unknown>): Promise<void> {
  const size = typeof all[0] === 'number' ? WIDTH : CALL * WIDTH
  for (let at = 0; at < all.length; at += size) await work(all.slice(at, at + size))
}

function speedLines(speeds: Map<number, Record<Verb, Rate[]>>, items: number, rounds: number): string[] {
  const rows = [...speeds].map(([lanes, rates]) => [
    round(lanes, 0),
    ...VERBS.flatMap((verb) => [
      round(median(rates[verb].map((rate) => rate.perSecond)) / 1_000, 0),
      spread(rates[verb].map((rate) => rate.redis)),
    ]),
  ])
  return [
    `Thousands a second and Redis µs per item, up to ${round(items, 0)} items a round, ${rounds} rounds, ${CALL} items a call, ${WIDTH} calls on their way; URLs of 90 characters spread over all lanes, so each call meets ${CALL} lanes.`,
    '',
    ...table(['lanes', ...VERBS.flatMap((verb) => [`${verb} k/s`, 'µs'])], rows),
    '',
    ...flatness(speeds),
  ]
}

/** The largest against the smallest ledger: per second, and by CPU, since wall rates of a shared machine are noise. */
function flatness(speeds: Map<number, Record<Verb, Rate[]>>): string[] {
  const [small, ...others] = [...speeds.entries()]
  const large = others.at(-1)
  if (small === undefined || large === undefined) return []
  const change = (read: (rate: Rate) => number): string => {
    const of = (rates: Record<Verb, Rate[]>, verb: Verb): number => median(rates[verb].map(read))
    const percent = (verb: Verb): string => round((of(large[1], verb) / of(small[1], verb) - 1) * 100, 0)
    return VERBS.map((verb) => `${verb} ${percent(verb)} %`).join(', ')
  }
  const sizes = `At ${round(large[0], 0)} lanes against ${round(small[0], 0)}`
  return [
    `${sizes}, items a second: ${change((rate) => rate.perSecond)}; Redis CPU per item: ${change((rate) => rate.redis)}.`,
  ]
}

async function weigh(short: boolean): Promise<string[]> {
  const rows: string[][] = []
  for (const perLane of [1, 20, 100]) {
    const lanes = Math.ceil((short ? 2_000 : 200_000) / perLane)
    for (const [ids, idOf] of [
      ['assigned', assignedTo],
      ['chosen', chosenFor],
    ] as const) {
      const fill = (bench: Bench): Promise<void> => storeAll(bench.ledger, lanes, 0, lanes * perLane, idOf)
      rows.push([
        `stored URL under an id ${ids === 'assigned' ? 'that was assigned' : 'of its own'}, ${perLane} a lane`,
        round(await bytesPer(lanes * perLane, fill), 0),
      ])
    }
  }
  const origins = short ? 1_000 : 20_000
  const { idle, expired } = await weighOrigins(origins)
  rows.push(['idle origin: rules known, nothing waiting (body of robots.txt apart)', round(idle, 0)])
  rows.push(['the same after its clock and its life have run down', round(expired, 0)])
  return table(['what', 'bytes of Redis'], rows)
}

async function bytesPer(count: number, fill: (bench: Bench) => Promise<void>): Promise<number> {
  const bench = await openBench()
  const before = await bench.redis.memoryBytes()
  await fill(bench)
  const bytes = (await bench.redis.memoryBytes()) - before
  await bench.ledger.close()
  await bench.redis.stop()
  return bytes / count
}

/** Every origin is visited once and then left alone, until even its memory runs out. */
async function weighOrigins(origins: number): Promise<{ idle: number; expired: number }> {
  const bench = await openBench()
  const { redis, ledger } = bench
  try {
    await visitAll(bench, CALL) // scripts and tables are there
    await expireAll(bench)
    const before = await redis.memoryBytes()
    await visitAll(bench, origins)
    const idle = ((await redis.memoryBytes()) - before) / origins
    await expireAll(bench)
    return { idle, expired: ((await redis.memoryBytes()) - before) / origins }
  } finally {
    await ledger.close()
    await redis.stop()
  }
}

/** robots.txt learned, one page settled, the silence run down. */
async function visitAll({ redis, ledger, clock }: Bench, origins: number): Promise<void> {
  const body = { hash: 'a'.repeat(32), bytes: new TextEncoder().encode('User-agent: *\nDisallow: /private\n') }
  for (let from = 0; from < origins; from += CALL) {
    await storeAll(ledger, origins, from, CALL)
    const asked = await reserve(ledger, CALL)
    await Promise.all(
      asked.map(async ({ agent, origin, fence, robots }) => {
        await ledger.start({ kind: 'robots', agent, origin, fence, version: robots.version, delayMs: DELAY_MS })
        const state = step(unknownOrigin, { kind: 'answered', status: 200, hash: body.hash, jitter: 0 }, clock.now)
        const delays = [{ agent, delayMs: DELAY_MS }]
        await ledger.record({ agent, origin, fence, state, body, delays, delayMs: DELAY_MS, elapsedMs: 0 })
      }),
    )
    clock.now += CLOCK_STEP_MS
    const lanes = await reserve(ledger, CALL)
    await Promise.all(lanes.map((lane) => start(ledger, lane)))
    await Promise.all(lanes.map((lane) => complete(ledger, lane)))
    clock.now += CLOCK_STEP_MS
    await ledger.reserve(0, { limit: CALL, aheadMs: 0, inFlightLimit: 10_000_000, peek: 1 }) // drops lanes that have run down
    await ledger.reap(0) // and what is remembered of changed gates, as housekeeping does
  }
  await redis.client.del(keysOf(ledger.tags[0] as string).outcomes)
}

/** Their life is a month: it is cut short by the same command that set it, and Redis does the rest. */
async function expireAll({ redis, ledger }: Bench): Promise<void> {
  const pattern = keysOf(ledger.tags[0] as string).origin('*')
  const keys = await redis.client.keys(pattern)
  const others = (await redis.client.dbsize()) - keys.length
  const endless = await keysWithoutEnd(redis, keys)
  if (endless > 0) throw new Error(`${endless} of ${keys.length} idle origins would never expire`)
  for (let at = 0; at < keys.length; at += 1_000) {
    const pipeline = redis.client.pipeline()
    for (const key of keys.slice(at, at + 1_000)) pipeline.pexpire(key, 1)
    await pipeline.exec()
  }
  while ((await redis.client.dbsize()) > others) await sleep(50) // KEYS hides what has expired, its memory is freed later
}

async function keysWithoutEnd(redis: BenchRedis, keys: string[]): Promise<number> {
  const pipeline = redis.client.pipeline()
  for (const key of keys) pipeline.pttl(key)
  const answers = (await pipeline.exec()) ?? []
  return answers.filter(([, ttl]) => ttl === -1).length
}
