/**
 * What the console costs whoever waits for it: pages and API at 100,000 and 1,000,000 lanes, why a URL waits, and a million URLs
 * posted. The console is `decorum console`, a process of its own, asked over HTTP on loopback.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism, loadavg } from 'node:os'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { MAX_ITEMS } from '@decorum/ledger'
import { type LedgerWithViews, openLedgerWithViews } from '@decorum/ledger/views'
import { round, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'
import { cpuMs, rssKib } from './frame/process.ts'
import { type BenchRedis, benchRedis } from './frame/redis.ts'

const CLI = fileURLToPath(new URL('../packages/cli/src/main.ts', import.meta.url))
const DAY = 86_400_000
const WIDTH = 4
/** Of the lanes: origins that an operator has paused. */
const PAUSED = 1_000
const AGENT = 'bench'

const originOf = (n: number): string => `https://www.host-${n}.example`
const enc = (n: number): string => encodeURIComponent(originOf(n))

/** What is asked for, by the row that it belongs to; `n` counts the requests of that row. */
const ASKED: [row: string, path: (n: number) => string][] = [
  ['overview', () => '/'],
  ['origins, soonest', () => '/origins?sort=soonest'],
  ['origins, in state late', () => '/v1/origins?state=late&limit=200'],
  ['origins, paused', () => '/origins?reason=paused'],
  ['origins, 200 by 200, deeper each time', (n) => `/v1/origins?sort=soonest&limit=200&after=${n * 200}`],
  ['origins of a domain that is there', (n) => `/v1/origins?domain=host-${n * 37}.example&limit=1`],
  ['origins of a domain that is not', () => '/v1/origins?domain=nowhere.test'],
  ['page of an origin', (n) => `/origins/${enc(n * 31)}`],
  ['why a URL waits', (n) => `/v1/candidates/console-${n}?url=${encodeURIComponent(`${originOf(n)}/a-page-${n}`)}`],
  ['failures', () => '/failures'],
  ['last hours', () => '/v1/history'],
  ['readers, fleet, configuration', (n) => ['/readers', '/fleet', '/configuration'][n % 3] as string],
  ['metrics', () => '/metrics'],
]

/** ms; `cpu`: processor time of console and Redis for one request */
type Times = { p50: number; p99: number; cpu?: number }

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const sizes = short ? [1_000, 10_000] : [100_000, 1_000_000]
  const rounds = short ? 20 : 60
  const columns: Map<string, Times>[] = []
  let why: string[] = []
  let posted = ''
  for (const lanes of sizes) {
    const redis = await benchRedis()
    const ledger = await openLedgerWithViews({ redis: redis.url, partitions: 1, callDeadlineMs: 60_000 })
    try {
      await fill(ledger, redis, lanes)
      const board = await startConsole(redis)
      const times = new Map<string, Times>()
      for (const [row, path] of ASKED) times.set(row, await timed(board, redis, path, rounds))
      columns.push(times)
      why = [...why, ms(await whyInLedger(ledger, rounds))]
      if (lanes === sizes.at(-1)) posted = await post(board, redis, short ? 20_000 : 1_000_000)
      board.child.kill('SIGKILL')
    } finally {
      await ledger.close()
      await redis.stop()
    }
  }
  const head = ['ms: p50 / p99 / processor time', ...sizes.map((lanes) => `${round(lanes, 0)} lanes`)]
  const rows = ASKED.map(([row]) => [row, ...columns.map((times) => ms(times.get(row) as Times))])
  rows.push(['why a URL waits, without HTTP', ...why])
  const load = `The machine was shared: its load was ${round(loadavg()[0] as number)} on ${availableParallelism()} cores at the end, and the bench ran with priority (nice -10).`
  const words = `${load} ${rounds} requests each, one after another, to a console that was asked once before. One lane holds one URL; ${round(PAUSED, 0)} origins are paused, 30,000 notes and a full ring of samples are kept. Processor time is that of console and Redis together for one request, in ticks of 10 ms over ${rounds} of them; the rest of the wall time was waiting for a processor.`
  return { name: 'console', lines: [words, '', ...table(head, rows), '', posted] }
}

const ms = ({ p50, p99, cpu }: Times): string =>
  `${round(p50)} / ${round(p99)}${cpu === undefined ? '' : ` / ${round(cpu)}`}`

function timesOf(values: number[]): Times {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number
  return { p50: at(0.5), p99: at(0.99) }
}

async function timed(
  { child, port }: Board,
  redis: BenchRedis,
  path: (n: number) => string,
  rounds: number,
): Promise<Times> {
  const values: number[] = []
  const spent = async (): Promise<number> => cpuMs(child.pid) + (await redis.cpuMicros()) / 1_000
  const before = await spent()
  for (let n = 0; n <= rounds; n += 1) {
    const startedAt = performance.now()
    const answer = await fetch(`http://127.0.0.1:${port}${path(n)}`)
    await answer.arrayBuffer()
    if (!answer.ok) throw new Error(`${path(n)} was answered ${answer.status}`)
    if (n > 0) values.push(performance.now() - startedAt)
  }
  return { ...timesOf(values), cpu: ((await spent()) - before) / rounds }
}

async function whyInLedger(ledger: LedgerWithViews, rounds: number): Promise<Times> {
  const values: number[] = []
  for (let n = 0; n < rounds; n += 1) {
    const startedAt = performance.now()
    await ledger.findPending({ agent: AGENT, origin: originOf(n) }, { path: `/a-page-${n}` })
    await Promise.all([ledger.viewOrigin(originOf(n), [AGENT]), ledger.viewPartition(0)])
    values.push(performance.now() - startedAt)
  }
  return timesOf(values)
}

async function fill(ledger: LedgerWithViews, redis: BenchRedis, lanes: number): Promise<void> {
  for (let from = 0; from < lanes; from += MAX_ITEMS * WIDTH) {
    const calls = Array.from({ length: Math.min(WIDTH, Math.ceil((lanes - from) / MAX_ITEMS)) }, (_, call) =>
      Array.from({ length: Math.min(MAX_ITEMS, lanes - from - call * MAX_ITEMS) }, (__, i) => {
        const n = from + call * MAX_ITEMS + i
        const pending = { id: `console-${n}`, path: `/a-page-${n}`, expiresAt: Date.now() + DAY, hops: 0 }
        return { lane: { agent: AGENT, origin: originOf(n) }, pending: { ...pending, priority: 'normal' as const } }
      }),
    )
    await Promise.all(calls.filter((items) => items.length > 0).map((items) => ledger.store(0, items)))
  }
  for (let n = 0; n < Math.min(PAUSED, lanes / 2); n += 1)
    await ledger.operate({ origin: originOf(n * 2), action: 'pause', by: 'bench', reason: 'to be found' }, [AGENT])
  await keepNotes(redis)
}

/** As many notes of origins, examples and samples as are ever kept, or nearly so. */
async function keepNotes({ client }: BenchRedis): Promise<void> {
  const tag = '{decorum:0}'
  const note = JSON.stringify({
    at: Date.now(),
    what: 'outcome',
    kind: 'fetched',
    agent: AGENT,
    url: `${originOf(1)}/a`,
    id: 'x',
    status: 200,
    ms: 120,
  })
  for (let from = 0; from < 1_000; from += 100) {
    const pipeline = client.pipeline()
    for (let n = from; n < from + 100; n += 1) pipeline.lpush(`${tag}:n:${originOf(n * 31)}`, ...Array(30).fill(note))
    await pipeline.exec()
  }
  const counts = {
    stored: 1_000_000,
    left: 0,
    fetched: 1,
    redirected: 1,
    failed: 1,
    'failed/timeout': 1,
    'failed/dns': 1,
  }
  const samples = Array.from({ length: 720 }, (_, n) =>
    JSON.stringify({
      at: Date.now() - (720 - n) * 30_000,
      due: 1,
      lanes: 1,
      inFlight: 1,
      unread: 1,
      lagMs: 1,
      jobs: 1,
      counts,
    }),
  )
  await client.lpush(`${tag}:ring`, ...samples)
  for (const reason of ['timeout', 'dns', 'connect'])
    await client.lpush(`${tag}:f:failed/${reason}`, ...Array(10).fill(note))
}

type Board = { child: ChildProcess; port: number }

async function startConsole(redis: BenchRedis): Promise<Board> {
  const child = fork(CLI, ['console'], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      ...process.env,
      REDIS_URL: redis.url,
      DECORUM_AGENTS: JSON.stringify([{ name: AGENT, userAgent: 'bench/1 (+https://example.com/bot)' }]),
      LOG_LEVEL: 'silent',
      PORT: '0',
    },
  })
  if (child.stdout === null) throw new Error('the console has no standard output')
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { child, port: (JSON.parse(line) as { started: { port: number } }).started.port }
}

/** URLs of one body. */
const BODY = 10_000

/** A frontier that posts its list in bodies of NDJSON, two at a time: URLs a second, and how far the console's memory rises. */
async function post({ child, port }: Board, { client }: BenchRedis, urls: number): Promise<string> {
  const lists = [url, ndjson]
  const told: string[] = []
  for (const [at, lineOf] of lists.entries()) {
    await client.del('{decorum:0}:candidates:wait')
    const before = rssKib(child.pid) / 1_024
    let most = before
    const watching = setInterval(() => {
      most = Math.max(most, rssKib(child.pid) / 1_024)
    }, 20)
    const all = at === 0 ? urls : urls / 5
    const cpuBefore = cpuMs(child.pid)
    const bodies = Array.from({ length: Math.ceil(all / BODY) }, (_, n) => n)
    const startedAt = performance.now()
    await Promise.all(
      [0, 1].map(async () => {
        for (let n = bodies.shift(); n !== undefined; n = bodies.shift()) {
          const first = n * BODY
          const body = Array.from({ length: BODY }, (_, i) => lineOf(first + i)).join('\n')
          const type = at === 0 ? 'text/plain' : 'application/x-ndjson'
          const answer = await fetch(`http://127.0.0.1:${port}/v1/candidates`, {
            method: 'POST',
            body,
            headers: { 'content-type': type },
          })
          if (answer.status !== 202) throw new Error(`a body was answered ${answer.status}: ${await answer.text()}`)
          await answer.arrayBuffer()
        }
      }),
    )
    const seconds = (performance.now() - startedAt) / 1_000
    clearInterval(watching)
    await sleep(100)
    const form = at === 0 ? 'text, one URL a line' : 'NDJSON with ids'
    told.push(
      `${form}: **${round(all / seconds, 0)} URLs/s**, ${round(((cpuMs(child.pid) - cpuBefore) * 1_000) / all)} µs of the console's processor time each, RSS from ${round(before, 0)} to at most ${round(most, 0)} MiB (**+${round(most - before, 0)} MiB**)`,
    )
  }
  return `POST /v1/candidates, ${round(urls, 0)} URLs in bodies of ${round(BODY, 0)}, two at a time, the client on the same machine: ${told.join('; ')}.`
}

const url = (n: number): string => `https://www.host-${n % 5_000}.example/section/page-${n}.html`
const ndjson = (n: number): string => JSON.stringify({ url: url(n), id: `posted-${n}` })
