/**
 * Does a gateway's memory grow with what has passed through it? A real gateway and a fetcher without a network work off
 * URLs of many more origins than its caches hold; RSS and heap are looked at all the way. `MEMORY_URLS` sets how many.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { RoleProcess } from '@decorum/cli'
import { openFrontier } from '@decorum/client'
import { keysOf } from '@decorum/ledger'
import { round, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'
import { type BenchRedis, benchRedis } from './frame/redis.ts'
import { startChild } from './relay/child.ts'

const TAG = '{decorum:0}'
const AGENTS = JSON.stringify([{ name: 'bench', userAgent: 'bench/1 (+https://example.com/bot)', minDelayMs: 0 }])
const PARTS = 20
/** URLs stored at once: what a frontier would keep. */
const WINDOW = 40_000
const LOOK_MS = 500
const MIB = 1024 ** 2

type Part = { urls: number; rss: number; heap: number; redis: number }

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const urls = short ? 6_000 : Number(process.env.MEMORY_URLS ?? 2_000_000)
  const origins = short ? 2_000 : 200_000
  const redis = await benchRedis()
  const gateway = new RoleProcess({
    role: 'gateway',
    name: 'gateway',
    env: {
      ...process.env,
      REDIS_URL: redis.url,
      DECORUM_AGENTS: AGENTS,
      DEFAULT_DELAY_MS: '0',
      LOG_LEVEL: 'warn',
      PORT: '0',
    },
    onEvent: (event) => event.kind === 'line' && process.stderr.write(`  ${event.line.msg}\n`),
  })
  const stops: (() => Promise<unknown>)[] = [() => redis.stop()]
  try {
    await gateway.start()
    stops.push(() => gateway.stop(5_000))
    const fetcher = await startChild('noop-fetcher.ts', [redis.url, AGENTS])
    stops.push(fetcher.stop)
    fetcher.width(400)
    return {
      name: 'memory',
      lines: report(await watch(redis, gateway.port, urls, origins, short ? 100 : LOOK_MS), origins),
    }
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

async function watch(redis: BenchRedis, port: number, urls: number, origins: number, lookMs: number): Promise<Part[]> {
  const frontier = await openFrontier({ redis: redis.url })
  const parts: Part[] = []
  let added = 0
  let part: Part = nothing(0)
  try {
    for (;;) {
      const done = await leftLanes(redis)
      while (added < urls && added - done < WINDOW) {
        await frontier.enqueue(urlsOf(added, Math.min(2_000, urls - added), origins))
        added += 2_000
      }
      await redis.client.xtrim(keysOf(TAG).outcomes, 'MAXLEN', 0) // a reader that keeps up
      const seen = await memoryOf(port)
      // the least of several looks: what a collection of garbage leaves
      part = {
        ...part,
        urls: done,
        rss: Math.max(part.rss, seen.rss),
        heap: Math.min(part.heap, seen.heap),
        redis: await redis.memoryBytes(),
      }
      if (done >= (urls * (parts.length + 1)) / PARTS) {
        parts.push(part)
        process.stderr.write(`  ${JSON.stringify(part)}\n`)
        part = nothing(done)
        if (done >= urls) return parts
      }
      await sleep(lookMs)
    }
  } finally {
    await frontier.close()
  }
}

const nothing = (urls: number): Part => ({ urls, rss: 0, heap: Number.POSITIVE_INFINITY, redis: 0 })
const leftLanes = async (redis: BenchRedis): Promise<number> =>
  Number((await redis.client.hget(keysOf(TAG).counts, 'left')) ?? 0)

async function memoryOf(port: number): Promise<{ rss: number; heap: number }> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const read = (name: string): number => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1])
  return { rss: read('process_resident_memory_bytes'), heap: read('nodejs_heap_size_used_bytes') }
}

function urlsOf(from: number, count: number, origins: number): { url: string }[] {
  return Array.from({ length: count }, (_, i) => {
    const origin = `https://www.host-${(from + i) % origins}.example`
    const path = `/articles/2026/11/20/a-title-of-usual-length-${from + i}`
    return { url: origin + path.padEnd(90 - origin.length, '-') }
  })
}

function report(parts: Part[], origins: number): string[] {
  const last = parts.at(-1) as Part
  const half = parts.slice(parts.length / 2)
  const rows = parts
    .filter((_, at) => at % 2 === 1 || parts.length < PARTS)
    .map(({ urls, rss, heap, redis }) => [round(urls, 0), ...[rss, heap, redis].map((bytes) => round(bytes / MIB, 0))])
  const perMillion = (read: (part: Part) => number): string => round((slope(half, read) * 1e6) / MIB)
  return [
    `${round(last.urls, 0)} URLs over ${round(origins, 0)} origins, each with a robots.txt of its own of twenty lines, through one gateway process and a fetcher without a network; RSS is the greatest of each twentieth of the run, heap the least (what a collection leaves).`,
    '',
    ...table(['URLs done', 'gateway RSS MiB', 'gateway heap MiB', 'Redis MiB'], rows),
    '',
    `Slope over the second half, by least squares: RSS ${perMillion(({ rss }) => rss)} MiB, heap ${perMillion(({ heap }) => heap)} MiB per million URLs.`,
  ]
}

/** Least squares: bytes per URL. */
function slope(parts: Part[], read: (part: Part) => number): number {
  const mean = (of: (part: Part) => number): number => parts.reduce((sum, part) => sum + of(part), 0) / parts.length
  const [x, y] = [mean(({ urls }) => urls), mean(read)]
  const rise = mean((part) => (part.urls - x) * (read(part) - y))
  return rise / mean((part) => (part.urls - x) ** 2)
}
