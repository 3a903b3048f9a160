/**
 * How close to its delay a lane is kept busy, measured at the sites: real gateways and fetchers, each a process, a real
 * Redis, and a web that records every request in a process of its own. Nothing is taken from the fleet's own word.
 *
 * Permitted: a lane of n requests whose answers took s₁…sₙ could have made its last one after Σ(sᵢ + delay), i < n. The
 * ratio is that time to the time it took. Lateness: silence kept − silence owed, one figure per request.
 *
 * What an archive adds is measured by turns, a fleet without one and a fleet with one, on the same pages.
 */

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { agentsOf, judgeRecord, readLogs } from '@decorum/audit'
import { startFleet } from '@decorum/cli'
import { spawnWeb, type WebProcess } from '@decorum/cli/synthetic-web'
import { openFrontier } from '@decorum/client'
import { median, quantile, round, table } from './frame/figures.ts'
import { fleetEnv } from './frame/fleet-env.ts'
import type { BenchSection } from './frame/one.ts'
import { latenessOf, timesOf } from './frame/pace.ts'
import { benchRedis } from './frame/redis.ts'

const AGENT = { name: 'pacer', userAgent: 'pacer/1 (+https://example.com/bot)' }
const CLI = join(import.meta.dirname, '../packages/cli/src/main.ts')
const run_ = promisify(execFile)

type Case = { delayMs: number; lanes: number; pages: number; gateways: number; fetchers: number }
/** Of one run: requests, per second, the worst lane's ratio, the 5th and 50th percentile, lateness, violations. */
type Figures = {
  requests: number
  perSecond: number
  ratios: [worst: number, p5: number, p50: number]
  lateMs: [p50: number, p99: number, most: number]
  violations: number
}
/** Octets of a page where the archive is what is looked at: a web page as it is sent, packed or small. */
const ARCHIVED_BYTES = 20_000

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const fleet = { gateways: 1, fetchers: 2 }
  const cases: Case[] = short
    ? [
        { delayMs: 100, lanes: 40, pages: 20, ...fleet },
        { delayMs: 1_000, lanes: 200, pages: 4, ...fleet },
      ]
    : [
        { delayMs: 100, lanes: 100, pages: 150, ...fleet },
        { delayMs: 1_000, lanes: 1_000, pages: 20, ...fleet },
        { delayMs: 10_000, lanes: 1_000, pages: 6, ...fleet },
      ]
  const rows: string[][] = []
  for (const one of cases) {
    const { lanes, pages, delayMs, gateways, fetchers } = one
    const name = `${lanes} lanes × ${pages}, delay ${delayMs} ms, ${gateways} gateway, ${fetchers} fetchers`
    rows.push(row(name, [await inFolder((folder) => steady(one, folder))]))
  }
  const [archived, turns]: [Case, number] = short
    ? [{ delayMs: 100, lanes: 40, pages: 15, ...fleet }, 1]
    : [{ delayMs: 500, lanes: 100, pages: 12, ...fleet }, 5]
  const [without, withOne]: [Figures[], Figures[]] = [[], []]
  for (let turn = 0; turn < turns; turn++) {
    const options = { bytes: ARCHIVED_BYTES }
    without.push(await inFolder((folder) => steady(archived, folder, options)))
    withOne.push(await inFolder((folder) => steady(archived, folder, { ...options, archive: join(folder, 'archive') })))
  }
  const pair = `${archived.lanes} lanes × ${archived.pages} of ${ARCHIVED_BYTES / 1_000} KB, delay ${archived.delayMs} ms`
  rows.push(row(`${pair}, no archive (median of ${turns})`, without), row(`the same, archive on, by turns`, withOne))
  const size = short ? { origins: 50, urls: 6 } : { origins: 200, urls: 10 }
  const name = `\`decorum crawl\`: ${size.origins * size.urls} URLs of ${size.origins} sites, delay ${CRAWL_DELAY_MS} ms`
  rows.push(row(name, [await inFolder((folder) => crawl(size, folder))]))
  return {
    name: 'pacing',
    lines: [
      ...table(
        ['run', 'requests', 'per second', 'worst lane', 'p5', 'median', 'late p50', 'p99', 'most', 'violations'],
        rows,
      ),
      '',
      'Lanes: achieved over permitted rate. Late: ms after the due time, as the site saw it.',
    ],
  }
}

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-pacing-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** All lanes busy at once on one fleet, from empty to empty. */
async function steady(
  { delayMs, lanes, pages, gateways, fetchers }: Case,
  folder: string,
  { archive = '', bytes = 1_024 }: { archive?: string; bytes?: number } = {},
): Promise<Figures> {
  const record = join(folder, 'visits.ndjson')
  const redis = await benchRedis()
  const web = await spawnWeb({ sites: sites(lanes, bytes), record })
  const fleet = await startFleet({
    env: env(delayMs, { REDIS_URL: redis.url, ARCHIVE_DIR: archive }),
    gateways,
    fetchers,
  })
  const frontier = await openFrontier({ redis: redis.url })
  try {
    await frontier.enqueue(urls(web, pages).map((url) => ({ url })))
    let left = lanes * pages
    for await (const { ack } of frontier.outcomes({ group: 'bench' })) {
      void ack().catch(() => undefined)
      if (--left === 0) break
    }
  } finally {
    await frontier.close()
    await fleet.stop()
    await web.stop()
    await redis.stop()
  }
  return figures(record, delayMs)
}

/** A list of URLs through the command, as a person types it. */
async function crawl(size: { origins: number; urls: number }, folder: string): Promise<Figures> {
  const record = join(folder, 'visits.ndjson')
  const web = await spawnWeb({ sites: sites(size.origins), record })
  try {
    await writeFile(join(folder, 'urls.txt'), urls(web, size.urls).join('\n'))
    const args = [CLI, 'crawl', join(folder, 'urls.txt'), '--out', join(folder, 'out'), '--no-archive', '--json']
    await run_(process.execPath, args, {
      env: env(CRAWL_DELAY_MS, { XDG_DATA_HOME: folder }),
      maxBuffer: 1e8,
    })
  } finally {
    await web.stop()
  }
  return figures(record, CRAWL_DELAY_MS)
}
const CRAWL_DELAY_MS = 100

const sites = (count: number, bytes = 1_024) =>
  Array.from({ length: count }, (_, n) => ({
    name: `s${n}`,
    robots: { body: 'User-agent: *\nDisallow: /no' },
    pages: { bytes },
  }))

/** Round and round the sites, as a frontier mixes them. */
function urls(web: WebProcess, pages: number): string[] {
  const origins = Object.values(web.origins)
  return Array.from({ length: pages }, (_, n) => origins.map((origin) => `${origin}/page-${n}`)).flat()
}

const env = (delayMs: number, more: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  fleetEnv({ agent: AGENT, delayMs, slots: 1_000 }, more)

async function figures(record: string, delayMs: number): Promise<Figures> {
  const evidence = await readLogs([record])
  const agents = agentsOf({ agent: AGENT.name, profile: 'decorum', minDelayMs: delayMs, maxDelayMs: 10_000 })
  const { total, requests, spanMs } = judgeRecord(evidence, { agents })
  const lanes = [...Map.groupBy(evidence.requests, ({ origin }) => origin).values()]
  const ratios = lanes
    .flatMap((lane) => timesOf(lane, delayMs) ?? [])
    .map(({ permittedMs, takenMs }) => permittedMs / takenMs)
    .toSorted((a, b) => a - b)
  const late = lanes.flatMap((lane) => latenessOf(lane, delayMs)).toSorted((a, b) => a - b)
  return {
    requests,
    perSecond: (requests / spanMs) * 1_000,
    ratios: [quantile(ratios, 0), quantile(ratios, 0.05), quantile(ratios, 0.5)],
    lateMs: [quantile(late, 0.5), quantile(late, 0.99), quantile(late, 1)],
    violations: total,
  }
}

/** Medians over runs of the same kind; violations and requests are summed. */
function row(name: string, runs: Figures[]): string[] {
  const middle = (of: (run: Figures) => number): number => median(runs.map(of))
  const sum = (of: (run: Figures) => number): number => runs.reduce((all, run) => all + of(run), 0)
  return [
    name,
    round(
      sum((run) => run.requests),
      0,
    ),
    round(
      middle((run) => run.perSecond),
      0,
    ),
    ...[0, 1, 2].map((n) => middle((run) => run.ratios[n] ?? Number.NaN).toFixed(3)),
    ...[0, 1, 2].map((n) => middle((run) => run.lateMs[n] ?? Number.NaN).toFixed(1)),
    String(sum((run) => run.violations)),
  ]
}

if (import.meta.main) {
  const { name, lines } = await run({ short: process.argv.includes('--short') })
  process.stdout.write(`${name}\n${lines.join('\n')}\n`)
}
