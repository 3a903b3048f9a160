/**
 * URLs per second from `candidates` to settled, without a network: a gateway and a fetcher whose exchange is nothing,
 * against a plain two-stage BullMQ relay of one URL per job, by turns on one Redis. Both sides are filled before the
 * clock starts: adding costs the plain relay more, and is told apart. Two loads: every URL of another origin than the one
 * before it, so that each visit empties its lane; and a Zipf law, as a frontier pours.
 */

import { openFrontier } from '@decorum/client'
import { keysOf } from '@decorum/ledger'
import { Queue } from 'bullmq'
import { median, round, spread, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'
import { type BenchRedis, benchRedis } from './frame/redis.ts'
import { type Child, startChild } from './relay/child.ts'

const TAG = '{decorum:0}'
const PLAIN = '{plain}'
const AGENTS = JSON.stringify([{ name: 'bench', userAgent: 'bench/1 (+https://example.com/bot)', minDelayMs: 0 }])
const PLAIN_WIDTHS = [50, 100, 200]
const SLOTS = [100, 400, 1_600]

type Side = {
  name: string
  /** the process that has the last word on each URL */
  last: Child
  first: Child
  /** URLs into `candidates`, which is held shut meanwhile */
  fill(urls: string[]): Promise<void>
  open(): Promise<void>
  /** what a frontier would do between rounds */
  tidy(): Promise<void>
}

/** Which origin the n-th URL of a round belongs to. */
type Load = { name: string; origins(count: number): (n: number) => number; rounds: number }

type Round = { perSecond: number; redis: number; first: number; last: number; fill: number }

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const size = short ? { origins: 50, urls: 150, rounds: [3, 1] } : { origins: 30_000, urls: 30_000, rounds: [11, 7] } // rules of 32,000 files are at hand in a gateway
  const redis = await benchRedis()
  const stops: (() => Promise<unknown>)[] = [() => redis.stop()]
  try {
    const ours = await decorum(redis, stops)
    const plain = await bullmq(redis, stops)
    const [byTurns, byZipf] = loads(size.origins, size.rounds)
    let at = 0
    const turn = async (side: Side, count: number, load: Load = byTurns): Promise<Round> => {
      const from = at
      at += count
      const originOf = load.origins(from)
      return measure(
        side,
        redis,
        Array.from({ length: count }, (_, i) => urlOf(originOf(from + i), from + i)),
      )
    }
    // Every origin is asked for its robots.txt once.
    for (const side of [ours, plain]) await turn(side, size.origins)
    const width = await best(plain, PLAIN_WIDTHS, (side) => turn(side, size.urls / 2))
    const slots = await best(ours, SLOTS, (side) => turn(side, size.urls / 2))
    for (const side of [ours, plain]) await turn(side, size.urls) // compiled for what is to come
    const lines = [setting({ ...size, width, slots })]
    for (const load of [byTurns, byZipf]) {
      const rounds: Pair[] = []
      for (let i = 0; i < load.rounds; i++) {
        // by turns, so that what else the machine does falls on both
        const first = i % 2 === 0 ? ours : plain
        const one = await turn(first, size.urls, load)
        const two = await turn(first === ours ? plain : ours, size.urls, load)
        rounds.push(first === ours ? { ours: one, plain: two } : { ours: two, plain: one })
      }
      lines.push('', ...report(load, rounds))
    }
    return { name: 'relay', lines }
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

async function decorum(redis: BenchRedis, stops: (() => Promise<unknown>)[]): Promise<Side> {
  const env = { REDIS_URL: redis.url, DECORUM_AGENTS: AGENTS, DEFAULT_DELAY_MS: '0', LOG_LEVEL: 'silent', PORT: '0' }
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
    async fill(urls) {
      await queue.pause()
      await frontier.enqueue(urls.map((url) => ({ url })))
    },
    open: () => queue.resume(),
    tidy: async () => void (await redis.client.xtrim(keysOf(TAG).outcomes, 'MAXLEN', 0)),
  }
}

async function bullmq(redis: BenchRedis, stops: (() => Promise<unknown>)[]): Promise<Side> {
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
    async fill(urls) {
      await queue.pause()
      const jobs = urls.map((url) => ({
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

/** About 90 characters. */
const urlOf = (origin: number, n: number): string =>
  `https://www.host-${origin}.example/articles/2026/11/20/a-title-of-usual-length-${n}.html`

/** URLs of one origin that a frontier pours at once: a lane is served one after another, however fast the fleet. */
const MOST_PER_ORIGIN = 20

function loads(origins: number, [turns = 1, zipf = 1]: number[]): [Load, Load] {
  return [
    {
      name: 'by turns: each visit empties its lane',
      rounds: turns,
      origins: () => (n) => n % origins,
    },
    {
      name: `by a Zipf law, at most ${MOST_PER_ORIGIN} URLs of an origin at once`,
      rounds: zipf,
      origins(seed) {
        const dice = diceOf(seed)
        const drawn = new Map<number, number>()
        return () => {
          for (;;) {
            const origin = Math.floor(origins ** dice()) - 1 // rank k as often as 1/k
            const count = (drawn.get(origin) ?? 0) + 1
            if (count > MOST_PER_ORIGIN) continue
            drawn.set(origin, count)
            return origin
          }
        }
      },
    },
  ]
}

/** Marsaglia's xorshift: the same draws for the same seed. @returns numbers in [0, 1) */
function diceOf(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

async function measure(side: Side, redis: BenchRedis, all: string[]): Promise<Round> {
  const urls = all.length
  const fillFrom = await redis.cpuMicros()
  await side.fill(all)
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

const setting = ({ origins, urls, width, slots }: Setting): string =>
  `${round(urls, 0)} URLs of about 90 characters over ${round(origins, 0)} origins a round, both sides by turns; delay 0, a robots.txt of 20 lines in force at each origin, URLs in \`candidates\` before the clock starts. Two processes a side beside Redis. Decorum: ${slots} fetch slots; plain relay: concurrency ${width}, adds micro-batched; each the best of several.`

type Pair = { ours: Round; plain: Round }

function report(load: Load, rounds: Pair[]): string[] {
  const all = ({ redis, first, last }: Round): number => redis + first + last
  const of = (side: 'ours' | 'plain', read: (round: Round) => number): number[] =>
    rounds.map((round) => read(round[side]))
  const row = (name: string, side: 'ours' | 'plain'): string[] => [
    name,
    spread(
      of(side, (round) => round.perSecond),
      0,
    ),
    ...[({ redis }: Round) => redis, ({ first }: Round) => first, ({ last }: Round) => last, all].map((read) =>
      spread(of(side, read)),
    ),
    spread(of(side, ({ fill }) => fill)),
  ]
  // Each round against the one beside it: what else the machine does changes more slowly than that.
  const faster = rounds.map(({ ours, plain }) => ours.perSecond / plain.perSecond)
  const cheaper = rounds.map(({ ours, plain }) => plain.redis / ours.redis)
  const less = rounds.map(({ ours, plain }) => all(plain) / all(ours))
  const ceiling = round(1e6 / median(of('ours', ({ redis }) => redis)), 0)
  return [
    `Origins ${load.name}; ${rounds.length} round${rounds.length === 1 ? '' : 's'}.`,
    '',
    ...table(
      ['CPU in µs per URL', 'URLs/s', 'Redis', 'gateway or relay', 'fetcher or sink', 'all three', 'Redis, to fill'],
      [row('Decorum', 'ours'), row('plain BullMQ relay', 'plain')],
    ),
    '',
    `Decorum over plain, round by round: **${spread(faster, 2)} ×** the URLs per second, ${spread(cheaper, 2)} × less Redis CPU per URL, ${spread(less, 2)} × less CPU in all. One core for Redis would be full at about ${ceiling} URLs/s.`,
  ]
}
