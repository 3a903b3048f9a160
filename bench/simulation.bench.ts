/**
 * A million origins and twenty million URLs in virtual time: is any lane forgotten while slots are free, and what do
 * Redis and a gateway spend and hold, from the first tenth of the run to the last? `SIMULATION_ORIGINS` and
 * `SIMULATION_URLS` make it smaller or larger.
 */

import { loadAgents } from '@decorum/config'
import { keysOf } from '@decorum/ledger'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { round, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'
import { type BenchRedis, benchRedis } from './frame/redis.ts'
import { type Fleet, simulatedFleet, type Tally } from './simulation/fleet.ts'
import { lateness } from './simulation/lateness.ts'
import { frontierOf, type Web, zipfWeb } from './simulation/web.ts'

const SEED = 20_261_120
const DELAY_MS = 1_000
const PARTS = 10
const MIB = 1024 ** 2

type Setting = { origins: number; urls: number; cap: number; slots: number; window: number; share: number }
type Row = {
  virtualSeconds: number
  redisMicros: number
  nodeMicros: number
  /** by Redis's own count, those of scripts included: what a busy machine cannot blur */
  commands: number
  perCall: number
  lanes: number
  stored: number
  redisBytes: number
  nodeBytes: number
  late: { half: number; most: number; greatest: number }
}

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const setting: Setting = short
    ? { origins: 1_000, urls: 3_000, cap: 30, slots: 100, window: 2_000, share: 20 }
    : {
        origins: Number(process.env.SIMULATION_ORIGINS ?? 1_000_000),
        urls: Number(process.env.SIMULATION_URLS ?? 20_000_000),
        cap: 20_000,
        slots: 10_000,
        window: 2_500_000,
        share: 400,
      }
  const redis = await benchRedis()
  try {
    await redis.client.config('SET', 'appendonly', 'no')
    return { name: 'simulation', lines: await simulate(redis, setting) }
  } finally {
    await redis.stop()
  }
}

async function simulate(redis: BenchRedis, setting: Setting): Promise<string[]> {
  const web = zipfWeb({ ...setting, seed: SEED })
  const clock = { now: Math.ceil(Date.now() / 100_000 + 1) * 100_000 } // ahead of Redis's own, in whole ticks
  const ledger = await openLedgerWithViews({
    redis: redis.url,
    partitions: 1,
    nowMs: () => clock.now,
    callDeadlineMs: 60_000,
  })
  clock.now += 100_000 // the hold of a new ledger is over
  const userAgent = 'simulation/1 (+https://example.com/bot)'
  const agents = JSON.stringify([{ name: 'simulation', userAgent, minDelayMs: DELAY_MS }])
  const agent = loadAgents({ agents, defaultDelayMs: DELAY_MS, maxDelayMs: 10_000 }).default
  const frontier = frontierOf(web, agent.key, setting.share)
  const { slots, window } = setting
  const fleet = simulatedFleet({ ledger, agent, clock, web, frontier, slots, window })
  try {
    const rows = await rowsOf(redis, ledger, clock, fleet, web)
    const view = await ledger.viewPartition(0)
    const { parked: storedEver, left, absorbed = 0 } = view.counts
    const each =
      [storedEver, left, fleet.tally.left].every((count) => count === web.urls) && absorbed + view.inFlight === 0
    if (!each) throw new Error(`of ${web.urls} URLs: ${JSON.stringify(view)}`)
    return report(setting, web, fleet.tally, rows)
  } finally {
    await ledger.close()
  }
}

async function rowsOf(
  redis: BenchRedis,
  ledger: LedgerWithViews,
  clock: { now: number },
  { tick, tally }: Fleet,
  web: Web,
): Promise<Row[]> {
  const rows: Row[] = []
  const startedAt = clock.now
  const look = async () => ({
    ...tally,
    redis: await redis.cpuMicros(),
    node: nodeMicros(),
    commands: await commandsSoFar(redis),
  })
  let before = await look()
  for (let part = 1; part <= PARTS; part++) {
    tally.all = lateness()
    for (let ticks = 0; tally.left < (web.urls * part) / PARTS; ticks++) {
      await tick()
      if (ticks % 16 === 0) await redis.client.xtrim(keysOf(ledger.tags[0] as string).outcomes, 'MAXLEN', 0)
    }
    await redis.client.xtrim(keysOf(ledger.tags[0] as string).outcomes, 'MAXLEN', 0)
    const after = await look()
    const urls = after.left - before.left
    const { lanes, waiting } = await ledger.viewPartition(0)
    const row: Row = {
      virtualSeconds: (clock.now - startedAt) / 1_000,
      redisMicros: (after.redis - before.redis) / urls,
      nodeMicros: (after.node - before.node) / urls,
      commands: (after.commands - before.commands) / urls,
      perCall: (after.taken - before.taken) / (after.takes - before.takes),
      lanes,
      stored: waiting,
      redisBytes: await redis.memoryBytes(),
      nodeBytes: process.memoryUsage.rss(),
      late: { half: tally.all.quantile(0.5), most: tally.all.quantile(0.99), greatest: tally.all.greatest },
    }
    rows.push(row)
    process.stderr.write(`  ${part * (100 / PARTS)} %: ${JSON.stringify(row)}\n`)
    before = after
  }
  return rows
}

async function commandsSoFar(redis: BenchRedis): Promise<number> {
  const text = await redis.client.info('commandstats')
  return [...text.matchAll(/:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0)
}

function nodeMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

function report(setting: Setting, web: Web, tally: Tally, rows: Row[]): string[] {
  const { free } = tally
  const body = rows.map((row, part) => [
    `${(part + 1) * (100 / PARTS)} %`,
    round(row.virtualSeconds, 0),
    round(row.commands),
    round(row.perCall, 0),
    round(row.lanes, 0),
    round(row.stored, 0),
    round(row.redisMicros),
    round(row.nodeMicros),
    round(row.redisBytes / MIB, 0),
    round(row.nodeBytes / MIB, 0),
    `${round(row.late.half, 0)} · ${round(row.late.most, 0)} · ${round(row.late.greatest, 0)}`,
  ])
  return [
    `${round(web.origins, 0)} origins, ${round(web.urls, 0)} URLs by Zipf's law (the n-th largest has 1/n of the largest, at most ${round(setting.cap, 0)} and at least one), seed ${SEED}. Time is virtual for the sites: delay ${DELAY_MS} ms, for 5 % of them 2 to 10 s; an exchange takes 275 ms on average; ${round(setting.slots, 0)} fetch slots. LedgerWithViews, scripts, robots gate and \`decide\` are the real ones, on one partition of one Redis (no append-only file); BullMQ and the network are left out. The frontier keeps ${round(setting.window, 0)} URLs stored, at most ${setting.share} of one origin. Each origin is asked for its robots.txt first, and its state is kept.`,
    '',
    ...table(
      [
        'URLs done',
        'virtual s',
        'Redis commands per URL',
        'lanes a call',
        'lanes',
        'URLs stored',
        'Redis µs per URL',
        'driver µs per URL',
        'Redis MiB',
        'driver MiB',
        'lateness ms p50 · p99 · most',
      ],
      body,
    ),
    '',
    `While slots are free, or counted from when they were free again, ${round(free.count, 0)} lanes were granted ${round(free.quantile(0.5), 0)} ms late at the median, p99 ${round(free.quantile(0.99), 0)} ms, at most ${round(free.greatest, 0)} ms of virtual time (a tick is 50 ms); **${round(free.beyond(1_000) * free.count, 0)} waited more than 1 s**. Lateness in the table counts the time without a free slot, too.`,
    '',
    `${round(tally.fetched, 0)} fetched, ${round(tally.disallowed, 0)} disallowed, ${round(tally.robots, 0)} robots.txt; nothing lost, nothing twice. Requests that a site would complain of (two at once, or before its silence was over): ${tally.rude}.`,
  ]
}
