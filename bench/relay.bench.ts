/**
 * URLs per second from `candidates` to settled, without a network: a gateway and a fetcher whose exchange is nothing,
 * against a plain two-stage BullMQ relay of one URL per job, by turns on one Redis. Both sides are filled before the
 * clock starts: adding costs the plain relay more, and is told apart.
 */
import { openFrontier } from '@decorum/client'
import { Queue } from 'bullmq'
import { median, round, spread, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'
import { type BenchRedis, benchRedis } from './frame/redis.ts'
import { type Child, startChild } from './relay/child.ts'

const TAG = '{decorum:0}'
const PLAIN = '{plain}'
const AGENTS = JSON.stringify([{ name: 'bench', userAgent: 'bench/1 (+https://example.com/bot)', minGapMs: 0 }])
const PLAIN_WIDTHS = [50, 100, 200]
const SLOTS = [100, 400, 1_600]

type Side = {
  name: string
  /** the process that has the last word on each URL */
  last: Child
  first: Child
  /** URLs into `candidates`, which is held shut meanwhile */
  fill(from: number, count: number): Promise<void>
  open(): Promise<void>
  /** what a frontier would do between rounds */
  tidy(): Promise<void>
}

type Round = { perSecond: number; redis: number; first: number; last: number; fill: number }

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const size = short ? { origins: 400, urls: 3_000, rounds: 3 } : { origins: 20_000, urls: 60_000, rounds: 5 }
  const redis = await benchRedis()
  const stops: (() => Promise<unknown>)[] = [() => redis.stop()]
  try {
    const ours = await decorum(redis, size.origins, stops)
    const plain = await bullmq(redis, size.origins, stops)
    let at = 0
    const turn = async (side: Side, urls: number): Promise<Round> => {
      at += urls
      return measure(side, redis, at - urls, urls)
    }
    // Every origin is asked for its robots.txt once, every path of code is warm.
    for (const side of [ours, plain]) await turn(side, size.origins)
    const width = await best(plain, PLAIN_WIDTHS, (side) => turn(side, size.urls / 3))
    const slots = await best(ours, SLOTS, (side) => turn(side, size.urls / 3))
    const rounds: { ours: Round; plain: Round }[] = []
    for (let i = 0; i < size.rounds; i++) {
      // by turns, so that what else the machine does falls on both
      const first = i % 2 === 0 ? ours : plain
      const one = await turn(first, size.urls)
      const two = await turn(first === ours ? plain : ours, size.urls)
      rounds.push(first === ours ? { ours: one, plain: two } : { ours: two, plain: one })
    }
    return { name: 'relay', lines: report(rounds, { ...size, width, slots }) }
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

async function decorum(redis: BenchRedis, origins: number, stops: (() => Promise<unknown>)[]): Promise<Side> {
  const env = { REDIS_URL: redis.url, DECORUM_AGENTS: AGENTS, DEFAULT_GAP_MS: '0', LOG_LEVEL: 'silent', PORT: '0' }
  const gateway = await startChild('gateway.ts', [], env)
  stops.push(gateway.stop)
  const fetcher = await startChild('noop-fetcher.ts', [redis.url, AGENTS])
  stops.push(fetcher.stop)
  const frontier = await openFrontier({ redis: redis.url })
  const queue = new Queue('candidates', { connection: { url: redis.url }, prefix: TAG })
  stops.push(async () => {
    await frontier.close()
    await queue.close()
  })
  return {
    name: 'decorum',
    first: gateway,
    last: fetcher,
    async fill(from, count) {
      await queue.pause()
      await frontier.enqueue(urlsOf(from, count, origins).map((url) => ({ url })))
    },
    open: () => queue.resume(),
    tidy: async () => void (await redis.client.xtrim(`${TAG}:outcomes`, 'MAXLEN', 0)),
  }
}

async function bullmq(redis: BenchRedis, origins: number, stops: (() => Promise<unknown>)[]): Promise<Side> {
  const relay = await startChild('plain.ts', ['relay', redis.url, PLAIN])
  stops.push(relay.stop)
  const sink = await startChild('plain.ts', ['sink', redis.url, PLAIN])
  stops.push(sink.stop)
  const queue = new Queue('candidates', { connection: { url: redis.url }, prefix: PLAIN })
  stops.push(() => queue.close())
  return {
    name: 'plain',
    first: relay,
    last: sink,
    async fill(from, count) {
      await queue.pause()
      const jobs = urlsOf(from, count, origins).map((url) => ({
        name: 'candidates',
        data: { url },
        opts: { removeOnComplete: true },
      }))
      for (let i = 0; i < jobs.length; i += 1_000) await queue.addBulk(jobs.slice(i, i + 1_000))
    },
    open: () => queue.resume(),
    tidy: async () => undefined,
  }
}

/** About 90 characters, spread over all origins by turns. */
function urlsOf(from: number, count: number, origins: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const n = from + i
    return `https://www.host-${n % origins}.example/articles/2026/11/20/a-title-of-usual-length-${n}.html`
  })
}

async function measure(side: Side, redis: BenchRedis, from: number, urls: number): Promise<Round> {
  const fillFrom = await redis.cpuMicros()
  await side.fill(from, urls)
  const cpu = async (): Promise<[redis: number, first: number, last: number]> =>
    Promise.all([redis.cpuMicros(), side.first.cpuMicros(), side.last.cpuMicros()])
  const before = await cpu()
  const reached = side.last.expect(urls)
  const startedAt = Date.now()
  await side.open()
  const seconds = ((await reached) - startedAt) / 1_000
  const after = await cpu()
  await side.tidy()
  process.stderr.write(`  ${side.name}: ${round(urls, 0)} URLs in ${round(seconds)} s\n`)
  return {
    perSecond: urls / seconds,
    redis: (after[0] - before[0]) / urls,
    first: (after[1] - before[1]) / urls,
    last: (after[2] - before[2]) / urls,
    fill: (before[0] - fillFrom) / urls,
  }
}

/** The width at which a side is fastest; it stays set. */
async function best(side: Side, widths: number[], turn: (side: Side) => Promise<Round>): Promise<number> {
  const tried: { width: number; perSecond: number }[] = []
  for (const width of widths) {
    for (const child of [side.first, side.last]) child.width(width)
    tried.push({ width, perSecond: (await turn(side)).perSecond })
  }
  const winner = tried.reduce((a, b) => (b.perSecond > a.perSecond ? b : a))
  for (const child of [side.first, side.last]) child.width(winner.width)
  return winner.width
}

type Setting = { origins: number; urls: number; width: number; slots: number }

function report(rounds: { ours: Round; plain: Round }[], { origins, urls, width, slots }: Setting): string[] {
  const of = (side: 'ours' | 'plain', field: keyof Round): number[] => rounds.map((round) => round[side][field])
  const row = (name: string, side: 'ours' | 'plain'): string[] => [
    name,
    spread(of(side, 'perSecond'), 0),
    spread(of(side, 'redis')),
    spread(of(side, 'first')),
    spread(of(side, 'last')),
    spread(of(side, 'fill')),
  ]
  const ratio = rounds.map((round) => round.ours.perSecond / round.plain.perSecond)
  const cheaper = rounds.map((round) => round.plain.redis / round.ours.redis)
  return [
    `${round(urls, 0)} URLs of about 90 characters over ${round(origins, 0)} origins a round, ${rounds.length} rounds by turns; gap 0, a robots.txt of 20 lines in force at each origin, URLs in \`candidates\` before the clock starts. Two processes a side beside Redis. Decorum: ${slots} fetch slots; plain relay: concurrency ${width}, adds micro-batched; each the best of several.`,
    '',
    ...table(
      ['side', 'URLs/s', 'Redis µs/URL', 'gateway or relay µs/URL', 'fetcher or sink µs/URL', 'Redis µs/URL to fill'],
      [row('Decorum', 'ours'), row('plain BullMQ relay', 'plain')],
    ),
    '',
    `Decorum over plain: **${spread(ratio, 2)} ×** the URLs per second; Redis CPU per URL ${spread(cheaper, 2)} × less. One Redis core would be full at about ${round(1e6 / median(of('ours', 'redis')), 0)} URLs/s.`,
  ]
}
