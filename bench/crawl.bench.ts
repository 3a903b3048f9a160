/**
 * A crawl as a whole: gateway, fetchers and Redis as real processes against sites that nginx serves, judged by nginx's log. Beside them
 * Scrapy and Crawlee on the same sites with the same delay, one after the other.
 *
 * The lanes are spread over their delay: they are begun evenly within one delay, and each keeps its place. Lanes in step would be
 * gathered into few large calls and cost less. What is counted is a window of a crawl that is under way; what taking the URLs in costs
 * is not in it.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startFleet } from '@decorum/cli'
import { openFrontier } from '@decorum/client'
import { type Judged, judge } from './crawl/judge.ts'
import { PEERS, peerOn } from './crawl/peers.ts'
import { type Sites, startSites } from './crawl/sites.ts'
import { usageOf } from './crawl/usage.ts'
import { between, endsOf, inParts, PARTS, type Parts, partsOf } from './crawl/window.ts'
import { round, table } from './frame/figures.ts'
import { fleetEnv } from './frame/fleet-env.ts'
import type { BenchSection } from './frame/one.ts'
import { type BenchRedis, benchRedis } from './frame/redis.ts'

const AGENT = { name: 'bench', userAgent: 'bench/1 (+https://example.com/bot)' }
/** Steps in which the lanes are begun. */
const PHASES = 20
/** Every crawler has so long before the window, ms: V8 compiles what runs often, which takes some 20,000 pages, and a crawl lasts hours. */
const WARM_MS = 45_000
const MIB = 1024 ** 2

type Case = {
  lanes: number
  delayMs: number
  bytes: number
  fetchers: number
  archive?: true
  seconds?: number
  warmMs?: number
}
type Figures = Judged & {
  /** CPU per page, µs */
  cpu: { redis: number; gateway: number; fetchers: number }
  parts: Parts
  /** MiB, at the end of the window */
  rss: { gateway: number; fetchers: number }
  /** bytes that Redis received per page, and scripts that it ran */
  redisBytes: number
  scripts: number
}

const CASES: Case[] = [
  { lanes: 100, delayMs: 100, bytes: 1_000, fetchers: 1 },
  { lanes: 1_000, delayMs: 1_000, bytes: 1_000, fetchers: 1 },
  { lanes: 1_000, delayMs: 1_000, bytes: 1_000, fetchers: 2 },
  { lanes: 1_000, delayMs: 1_000, bytes: 10_000, fetchers: 1 },
  { lanes: 1_000, delayMs: 1_000, bytes: 100_000, fetchers: 1 },
  { lanes: 1_000, delayMs: 1_000, bytes: 10_000, fetchers: 1, archive: true },
  { lanes: 5_000, delayMs: 1_000, bytes: 1_000, fetchers: 2 },
  { lanes: 10_000, delayMs: 1_000, bytes: 1_000, fetchers: 2 },
  { lanes: 20_000, delayMs: 10_000, bytes: 1_000, fetchers: 2, seconds: 60 },
]
const SHORT: Case[] = [{ lanes: 100, delayMs: 100, bytes: 1_000, fetchers: 1, seconds: 3, warmMs: 4_000 }]

/** `BENCH_CASES=1,5` runs these alone, for whoever works on one of them. */
function chosen(short: boolean): Case[] {
  const wanted = process.env.BENCH_CASES
  if (wanted === undefined) return short ? SHORT : CASES
  return wanted.split(',').map((n) => CASES[Number(n)] as Case)
}

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const rows: string[][] = []
  for (const one of chosen(short)) {
    const figures = await inFolder((folder) => fleetOn(one, folder))
    rows.push(rowOf(nameOf(one), figures))
    process.stderr.write(`  ${rows.at(-1)?.join(' · ')}\n`)
  }
  const peers: string[][] = []
  if (!short && process.env.BENCH_CASES === undefined)
    for (const peer of PEERS) {
      if (peer.isHere()) peers.push(await inFolder((folder) => peerOn(peer, folder, WARM_MS)))
      else peers.push([`${peer.name} (not installed)`, ...Array<string>(6).fill('')])
      process.stderr.write(`  ${peers.at(-1)?.join(' · ')}\n`)
    }
  const head = ['lanes, delay, page', 'pages/s', 'of permitted', 'worst', 'p5', 'late p50', 'p99']
  return {
    name: 'crawl: what a page costs',
    lines: [
      `One nginx serves all sites on the same cores. Lanes are spread evenly over their delay. What is counted begins ${WARM_MS / 1_000} s after the last lane was begun. Permitted: what sites with these answers and delays allow. Late: ms after the due time, by nginx's log, whose times are whole milliseconds. CPU: µs per page, user and system. In brackets: the least and greatest of ${PARTS} equal parts of the window. Load of the machine at the end: ${round(loadavg()[0] ?? 0)}.`,
      '',
      ...table(
        [
          ...head,
          'early',
          'CPU, all',
          'Redis',
          'gateway',
          'fetchers',
          'MiB gateway',
          'MiB fetchers',
          'bytes to Redis',
          'scripts per page',
        ],
        rows,
      ),
      ...(peers.length === 0
        ? []
        : [
            '',
            `The same sites and delay (1,000 sites, 1 s, 1 KB) and crawlers of others:`,
            '',
            ...table(['crawler', 'pages/s', 'of permitted', 'late p50', 'p99', 'early', 'CPU per page, µs'], peers),
          ]),
    ],
  }
}

const nameOf = ({ lanes, delayMs, bytes, fetchers, archive }: Case): string =>
  `${round(lanes, 0)}, ${delayMs / 1_000} s, ${bytes / 1_000} KB${archive ? ', archived' : ''}, ${fetchers} fetcher${fetchers === 1 ? '' : 's'}`

function rowOf(
  name: string,
  { perSecond, ratios, lateMs, early, cpu, parts, rss, redisBytes, scripts }: Figures,
): string[] {
  return [
    name,
    between(perSecond, parts.perSecond),
    ...[ratios.all, ratios.worst, ratios.p5].map((ratio) => ratio.toFixed(3)),
    ...[lateMs.p50, lateMs.p99].map((ms) => round(ms, 0)),
    String(early),
    between(cpu.redis + cpu.gateway + cpu.fetchers, parts.cpuPerPage),
    ...[cpu.redis, cpu.gateway, cpu.fetchers].map((micros) => round(micros, 0)),
    ...[rss.gateway, rss.fetchers, redisBytes].map((value) => round(value, 0)),
    round(scripts, 2),
  ]
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-crawl-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function fleetOn(one: Case, folder: string): Promise<Figures> {
  const { lanes, delayMs, bytes, fetchers, archive, seconds = 30, warmMs = WARM_MS } = one
  const sites = await startSites(folder, lanes, bytes)
  const redis = await benchRedis()
  const fleet = await startFleet({ env: env(redis.url, one, archive ? folder : ''), gateways: 1, fetchers })
  const frontier = await openFrontier({ redis: redis.url })
  try {
    const begunAt = await begin(frontier, sites, Math.ceil(((seconds + 10) * 1_000 + warmMs) / delayMs), delayMs)
    await sleep(Math.max(warmMs, begunAt + delayMs + warmMs - Date.now()))
    const usage = async () => ({
      at: Date.now(),
      redis: await redis.cpuMicros(),
      bytes: await counted(redis, 'stats', 'total_net_input_bytes'),
      scripts: await scriptsOf(redis),
      gateway: usageOf(fleet.of('gateway')[0]?.pid as number),
      fetchers: fleet.of('fetcher').map(({ pid }) => usageOf(pid as number)),
    })
    const marks = await inParts(seconds, usage)
    const [before, after] = endsOf(marks)
    const visits = await sites.visits()
    const judged = judge(visits, delayMs, { from: before.at, to: after.at })
    const per = (used: number): number => used / judged.pages
    const cpuOf = (all: { cpuMicros: number }[]): number => all.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0)
    return {
      ...judged,
      parts: partsOf(
        marks.map(({ at, redis, gateway, fetchers }) => ({ at, cpu: redis + gateway.cpuMicros + cpuOf(fetchers) })),
        (window) => judge(visits, delayMs, window),
      ),
      cpu: {
        redis: per(after.redis - before.redis),
        gateway: per(after.gateway.cpuMicros - before.gateway.cpuMicros),
        fetchers: per(cpuOf(after.fetchers) - cpuOf(before.fetchers)),
      },
      rss: {
        gateway: after.gateway.rssBytes / MIB,
        fetchers: after.fetchers.reduce((sum, { rssBytes }) => sum + rssBytes, 0) / MIB,
      },
      redisBytes: per(after.bytes - before.bytes),
      scripts: per(after.scripts - before.scripts),
    }
  } finally {
    await frontier.close()
    fleet.kill()
    await redis.stop()
    await sites.stop()
  }
}

type Frontier = Awaited<ReturnType<typeof openFrontier>>

/** Begins the lanes evenly within one delay. @returns when the last one was begun */
async function begin(frontier: Frontier, { origins }: Sites, pages: number, delayMs: number): Promise<number> {
  // First one URL of each site, in even steps; the rest when every lane keeps its place.
  const step = Math.ceil(origins.length / PHASES)
  const from = Date.now()
  for (let phase = 0; phase < PHASES; phase++) {
    const some = origins.slice(phase * step, (phase + 1) * step)
    await frontier.enqueue(some.flatMap((origin) => [0, 1, 2].map((n) => ({ url: `${origin}/page-${n}` }))))
    await sleep(Math.max(0, from + ((phase + 1) * delayMs) / PHASES - Date.now()))
  }
  const begunAt = Date.now()
  for (let at = 0; at < origins.length; at += 200) {
    const some = origins.slice(at, at + 200)
    await frontier.enqueue(
      some.flatMap((origin) => Array.from({ length: pages }, (_, n) => ({ url: `${origin}/page-${n + 3}` }))),
    )
  }
  return begunAt
}

function env(REDIS_URL: string, { delayMs, fetchers, lanes }: Case, archive: string): NodeJS.ProcessEnv {
  const slots = Math.max(200, Math.ceil(lanes / fetchers / 2))
  const kept = archive === '' ? {} : { ARCHIVE_DIR: join(archive, 'archive') }
  return fleetEnv({ agent: AGENT, delayMs, slots }, { REDIS_URL, ...kept })
}

async function counted(redis: BenchRedis, section: string, name: string): Promise<number> {
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(await redis.client.info(section))?.[1] ?? 0)
}
async function scriptsOf(redis: BenchRedis): Promise<number> {
  return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await redis.client.info('commandstats'))?.[1] ?? 0)
}
