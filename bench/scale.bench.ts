/**
 * The relay on 1, 2 and 4 gateway and fetcher processes, on 1, 2 and 6 partitions, on one Redis and on a cluster of three
 * masters. Where all of them share a few cores, URLs per second say little: CPU per URL is what more machines would pay.
 */
import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { openFrontier } from '@decorum/client'
import { keysOf } from '@decorum/ledger'
import { CANDIDATES, partitionTags, queueOptions } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { round, spread, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'
import { type Child, startChild } from './relay/child.ts'
import { type Store, startStore } from './scale/store.ts'

const AGENTS = JSON.stringify([{ name: 'bench', userAgent: 'bench/1 (+https://example.com/bot)', minDelayMs: 0 }])
/** Fetch slots of each fetcher: a fleet that grows has more of them. */
const SLOTS = 400
const LOOK_MS = 10

type Shape = { masters: 1 | 3; partitions: number; processes: number }
const SMALLEST: Shape = { masters: 1, partitions: 1, processes: 1 }
const LARGER: Shape = { masters: 3, partitions: 6, processes: 2 }

function* shapes(): Generator<Shape> {
  for (const masters of [1, 3] as const)
    for (const partitions of [1, 2, 6]) for (const processes of [1, 2, 4]) yield { masters, partitions, processes }
}

type Size = { origins: number; urls: number; rounds: number }
type Round = { perSecond: number; redis: number; gateway: number; fetcher: number }

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const size = short ? { origins: 50, urls: 150, rounds: 1 } : { origins: 5_000, urls: 10_000, rounds: 3 }
  const rows: string[][] = []
  for (const shape of short ? [SMALLEST, LARGER] : shapes()) {
    rows.push(rowOf(shape, await measure(shape, size)))
    process.stderr.write(`  ${rows.at(-1)?.join(' · ')}\n`)
  }
  return {
    name: 'scale',
    lines: [
      `${round(size.urls, 0)} URLs of about 90 characters over ${round(size.origins, 0)} origins a round, ${size.rounds} rounds each, as in \`relay\`; ${SLOTS} fetch slots a fetcher. Everything shares ${availableParallelism()} cores, servers included: more processes cannot be faster here; CPU per URL says what they cost. Load average over the last quarter of an hour: ${round(loadavg()[2] ?? 0)}.`,
      '',
      ...table(['', 'URLs/s', 'Redis, µs per URL', 'gateways', 'fetchers', 'all'], rows),
    ],
  }
}

function rowOf({ masters, partitions, processes }: Shape, rounds: Round[]): string[] {
  const many = (n: number, one: string): string => `${n} ${one}${n === 1 ? '' : 's'}`
  const of = (read: (one: Round) => number, digits = 1): string => spread(rounds.map(read), digits)
  return [
    `${masters === 1 ? 'one Redis' : 'three masters'}, ${many(partitions, 'partition')}, ${many(processes, 'gateway')} and ${many(processes, 'fetcher')}`,
    of(({ perSecond }) => perSecond, 0),
    of(({ redis }) => redis),
    of(({ gateway }) => gateway),
    of(({ fetcher }) => fetcher),
    of(({ redis, gateway, fetcher }) => redis + gateway + fetcher),
  ]
}

async function measure({ masters, partitions, processes }: Shape, size: Size): Promise<Round[]> {
  const stops: (() => Promise<unknown>)[] = []
  try {
    const store = await startStore(masters)
    stops.push(store.stop)
    const env = {
      REDIS_URL: store.url,
      DECORUM_PARTITIONS: String(partitions),
      DECORUM_AGENTS: AGENTS,
      DEFAULT_DELAY_MS: '0',
      LOG_LEVEL: 'silent',
      PORT: '0',
    }
    const fleet = async (file: string, args: string[]): Promise<Child[]> => {
      const children = await Promise.all(Array.from({ length: processes }, () => startChild(file, args, env)))
      stops.push(() => Promise.all(children.map((child) => child.stop())))
      return children
    }
    const gateways = await fleet('gateway.ts', [])
    const fetchers = await fleet('noop-fetcher.ts', [store.url, AGENTS])
    for (const fetcher of fetchers) fetcher.width(SLOTS)
    const frontier = await openFrontier({ redis: store.url })
    const tags = partitionTags(partitions)
    const queues = tags.map((tag) => new Queue(CANDIDATES, { connection: store.link, ...queueOptions(tag) }))
    stops.push(async () => {
      await frontier.close()
      await Promise.all(queues.map((queue) => queue.close()))
    })
    let at = 0
    const turn = async (urls: number): Promise<Round> => {
      await Promise.all(queues.map((queue) => queue.pause()))
      await frontier.enqueue(urlsOf(at, urls, size.origins).map((url) => ({ url })))
      at += urls
      const cpu = async (): Promise<[number, number, number]> =>
        Promise.all([store.cpuMicros(), cpuOf(gateways), cpuOf(fetchers)])
      const before = await cpu()
      const from = performance.now()
      await Promise.all(queues.map((queue) => queue.resume()))
      await settled(store, tags, urls)
      const seconds = (performance.now() - from) / 1_000
      const after = await cpu()
      for (const tag of tags) await store.link.xtrim(keysOf(tag).outcomes, 'MAXLEN', 0)
      const [redis, gateway, fetcher] = after.map((value, n) => (value - (before[n] ?? 0)) / urls) as [
        number,
        number,
        number,
      ]
      return { perSecond: urls / seconds, redis, gateway, fetcher }
    }
    await turn(size.origins) // each origin is asked for its robots.txt once
    for (let n = 0; n < processes; n++) await turn(size.urls) // each process has compiled what it will run
    const rounds: Round[] = []
    for (let n = 0; n < size.rounds; n++) rounds.push(await turn(size.urls))
    return rounds
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

async function cpuOf(children: Child[]): Promise<number> {
  return (await Promise.all(children.map((child) => child.cpuMicros()))).reduce((sum, one) => sum + one, 0)
}

async function settled(store: Store, tags: string[], wanted: number): Promise<void> {
  for (;;) {
    const lengths = await Promise.all(tags.map((tag) => store.link.xlen(keysOf(tag).outcomes)))
    if (lengths.reduce((sum, one) => sum + one, 0) >= wanted) return
    await sleep(LOOK_MS)
  }
}

/** About 90 characters, spread over all origins by turns. */
function urlsOf(from: number, count: number, origins: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const n = from + i
    return `https://www.host-${n % origins}.example/articles/2026/11/20/a-title-of-usual-length-${n}.html`
  })
}
