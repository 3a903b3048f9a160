/**
 * A frontier pours a million URLs of one host in beside ten thousand hosts that are being crawled: what becomes of the
 * others' pace? Once with the default limit of a lane, which refuses nine in ten, once with a limit that lets all of them in.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openFrontier } from '@decorum/client'
import { keysOf, MAX_ITEMS } from '@decorum/ledger'
import { type LedgerWithViews, openLedgerWithViews, type PartitionView } from '@decorum/ledger/views'
import { round, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'
import { type BenchRedis, benchRedis } from './frame/redis.ts'
import { startChild } from './relay/child.ts'

const TAG = '{decorum:0}'
const BIG = 'https://www.one-big-host.example'
const SLOTS = 400
const LOOK_MS = 250
const DAY = 86_400_000

type Setting = { hosts: number; delayMs: number; big: number; limits: number[]; phaseMs: number; perHost: number }
type Phase = { name: string; seconds: number; pace: number; redisShare: number }
type Result = { limit: number; phases: Phase[]; stored: number; refused: number; waiting: number }

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const setting: Setting = short
    ? { hosts: 100, delayMs: 500, big: 4_000, limits: [1_000], phaseMs: 1_000, perHost: 20 }
    : { hosts: 10_000, delayMs: 10_000, big: 1_000_000, limits: [100_000, 2_000_000], phaseMs: 40_000, perHost: 30 }
  const results: Result[] = []
  for (const limit of setting.limits) results.push(await oneRun(setting, limit))
  return { name: 'one-host', lines: report(setting, results) }
}

async function oneRun(setting: Setting, limit: number): Promise<Result> {
  const { hosts, delayMs, big, phaseMs } = setting
  const agents = JSON.stringify([
    { name: 'bench', userAgent: 'bench/1 (+https://example.com/bot)', minDelayMs: delayMs, maxDelayMs: delayMs },
  ])
  const redis = await benchRedis()
  const stops: (() => Promise<unknown>)[] = [() => redis.stop()]
  try {
    const env = {
      REDIS_URL: redis.url,
      DECORUM_AGENTS: agents,
      LANE_LIMIT: String(limit),
      LOG_LEVEL: 'silent',
      PORT: '0',
    }
    const gateway = await startChild('gateway.ts', [], env)
    stops.push(gateway.stop)
    const fetcher = await startChild('noop-fetcher.ts', [redis.url, agents])
    stops.push(fetcher.stop)
    fetcher.width(SLOTS)
    const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1, callDeadlineMs: 60_000 })
    stops.push(() => ledger.close())
    const stopTrimming = trimmer(redis)
    stops.push(stopTrimming)

    await storeOthers(ledger, setting)
    await sleep(delayMs) // robots.txt of the last of them
    const phases: Phase[] = []
    const phase = async (name: string, work: () => Promise<unknown>): Promise<void> => {
      phases.push(await paceOf(name, redis, ledger, hosts / delayMs, work))
      process.stderr.write(`  ${limit}: ${JSON.stringify(phases.at(-1))}\n`)
    }
    await phase('before', () => sleep(phaseMs))
    await phase('while they come in', () => pourIn(redis, ledger, big))
    await phase('with them', () => sleep(phaseMs))
    const { parked = 0, refused = 0, absorbed = 0 } = (await ledger.viewPartition(0)).counts
    const stored = parked - hosts * setting.perHost
    if (stored + refused !== big || absorbed > 0) throw new Error(`of ${big}: ${stored} stored, ${refused} refused`)
    const waiting = (await ledger.viewOrigin(BIG, ['bench'])).lanes[0]?.waiting ?? 0
    return { limit, phases, stored, refused, waiting }
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

/** A reader of outcomes that keeps up. */
function trimmer(redis: BenchRedis): () => Promise<void> {
  let running = true
  const done = (async () => {
    while (running) {
      await redis.client.xtrim(keysOf(TAG).outcomes, 'MAXLEN', 0)
      await sleep(LOOK_MS)
    }
  })()
  return async () => {
    running = false
    await done
  }
}

/** Their first visits spread over one delay, as they would be after a while. */
async function storeOthers(ledger: LedgerWithViews, { hosts, delayMs, perHost }: Setting): Promise<void> {
  const expiresAt = Date.now() + DAY
  const startedAt = performance.now()
  const perCall = Math.max(1, Math.floor(MAX_ITEMS / perHost))
  for (let from = 0; from < hosts; from += perCall) {
    const items = Array.from({ length: Math.min(perCall, hosts - from) * perHost }, (_, i) => {
      const origin = `https://www.host-${from + Math.floor(i / perHost)}.example`
      const pending = {
        id: `${from}-${i}`,
        path: `/articles/a-page-${i}`,
        expiresAt,
        hops: 0,
        priority: 'normal' as const,
      }
      return { lane: { agent: 'bench', origin }, pending }
    })
    await ledger.store(0, items)
    await sleep(Math.max(0, (from / hosts) * delayMs - (performance.now() - startedAt)))
  }
}

/** Through the front door; resolves when each of them is stored or refused. */
async function pourIn(redis: BenchRedis, ledger: LedgerWithViews, big: number): Promise<void> {
  const frontier = await openFrontier({ redis: redis.url })
  const before = await ledger.viewPartition(0)
  const taken = ({ counts }: PartitionView): number => (counts.parked ?? 0) + (counts.refused ?? 0)
  for (let from = 0; from < big; from += 2_000) {
    const urls = Array.from({ length: Math.min(2_000, big - from) }, (_, i) => ({
      url: `${BIG}/articles/2026/11/20/a-title-of-usual-length-${from + i}`,
    }))
    await frontier.enqueue(urls)
  }
  while (taken(await ledger.viewPartition(0)) - taken(before) < big) await sleep(LOOK_MS)
  await frontier.close()
}

/** @param permitted  visits a millisecond that the delays allow. The big host's own visits, one a delay, are lost among them. */
async function paceOf(
  name: string,
  redis: BenchRedis,
  ledger: LedgerWithViews,
  permitted: number,
  work: () => Promise<unknown>,
): Promise<Phase> {
  const look = async () => ({
    at: performance.now(),
    cpu: await redis.cpuMicros(),
    fetched: (await ledger.viewPartition(0)).counts.fetched ?? 0,
  })
  const before = await look()
  await work()
  const after = await look()
  const ms = after.at - before.at
  return {
    name,
    seconds: ms / 1_000,
    pace: (after.fetched - before.fetched) / (ms * permitted),
    redisShare: (after.cpu - before.cpu) / (ms * 1_000),
  }
}

function report({ hosts, delayMs, big }: Setting, results: Result[]): string[] {
  const rows = results.flatMap(({ limit, phases }) =>
    phases.map(({ name, seconds, pace, redisShare }) => [
      `limit ${round(limit, 0)}: ${name}`,
      round(seconds, 0),
      round(pace, 3),
      round(pace / (phases[0]?.pace ?? Number.NaN), 3),
      `${round(redisShare * 100, 0)} %`,
    ]),
  )
  const sums = results.map(
    ({ limit, stored, refused, waiting }) =>
      `With a limit of ${round(limit, 0)}: ${round(stored, 0)} stored and ${round(refused, 0)} refused as \`lane-full\`, ${round(stored + refused, 0)} in all; ${round(waiting, 0)} wait at the end.`,
  )
  return [
    `${round(hosts, 0)} hosts at a delay of ${round(delayMs / 1_000, 0)} s (${round((hosts / delayMs) * 1_000, 0)} visits a second are permitted), and ${round(big, 0)} URLs of one more host through \`candidates\`, as fast as they go in; a real gateway, a fetcher without a network, ${SLOTS} slots. Pace: visits of the others over those that their delays permit.`,
    '',
    ...table(['', 's', 'pace', 'over before', 'Redis, of a core'], rows),
    '',
    ...sums,
  ]
}
