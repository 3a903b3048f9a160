/**
 * A gateway that is stopped or killed, and started again: how long until it hands out the first order, with few lanes and
 * with a million of them waiting? The real process, as `decorum gateway` starts it, from its start to the order in Redis.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Ledger, MAX_ITEMS, openLedger } from '@decorum/ledger'
import { round, spread, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'
import { cpuMs } from './frame/process.ts'
import { type BenchRedis, benchRedis } from './frame/redis.ts'

const CLI = fileURLToPath(new URL('../packages/cli/src/main.ts', import.meta.url))
const ORDERS = '{decorum:0}:orders:wait'
/** Slots that each start finds free. */
const SLOTS = 20
/** Calls on their way at once. */
const WIDTH = 4
const DAY = 86_400_000

const ENDINGS = ['SIGTERM', 'SIGKILL'] as const
type Ending = (typeof ENDINGS)[number]
/** ms: until it said that it is ready, until its first order was in Redis; CPU it had used by then */
type Start = { ready: number; order: number; cpu: number }

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const sizes = short ? [1_000, 10_000] : [1_000, 1_000_000]
  const rounds = short ? 2 : 9
  const rows: string[][] = []
  for (const lanes of sizes) {
    const starts = await startsAt(lanes, rounds)
    for (const ending of ENDINGS) {
      const of = (read: (start: Start) => number): string => spread(starts[ending].map(read), 0)
      rows.push([
        `${round(lanes, 0)} lanes, after ${ending}`,
        of(({ order }) => order),
        of(({ ready }) => ready),
        of(({ cpu }) => cpu),
      ])
    }
  }
  const words = `ms from the start of the process to its first order in \`orders\`, ${rounds} starts each; to its word that it is ready; and CPU that the process had used when the order was there. The gateway is \`decorum gateway\`: the start of node and all imports are in it. Each lane holds one URL of an origin that nobody has asked for its rules; a fleet with ${SLOTS} free slots has announced itself.`
  return { name: 'restart', lines: [words, '', ...table(['', 'to the first order', 'to ready', 'CPU ms'], rows)] }
}

async function startsAt(lanes: number, rounds: number): Promise<Record<Ending, Start[]>> {
  const redis = await benchRedis()
  const ledger = await openLedger({ redis: redis.url, partitions: 1, callDeadlineMs: 60_000 })
  const starts: Record<Ending, Start[]> = { SIGTERM: [], SIGKILL: [] }
  try {
    await store(ledger, lanes)
    let gateway = (await start(redis, ledger, 1)).gateway // the first one also waits out the hold of a new ledger
    for (let at = 0; at < rounds * ENDINGS.length; at++) {
      const ending = ENDINGS[at % ENDINGS.length] as Ending
      const gone = once(gateway, 'exit')
      gateway.kill(ending)
      await gone
      const { gateway: next, ...took } = await start(redis, ledger, at + 2)
      gateway = next
      starts[ending].push(took)
    }
    gateway.kill('SIGKILL')
    return starts
  } finally {
    await ledger.close()
    await redis.stop()
  }
}

async function store(ledger: Ledger, lanes: number): Promise<void> {
  for (let from = 0; from < lanes; from += MAX_ITEMS * WIDTH) {
    const calls = Array.from({ length: Math.min(WIDTH, Math.ceil((lanes - from) / MAX_ITEMS)) }, (_, call) =>
      Array.from({ length: MAX_ITEMS }, (__, i) => {
        const n = from + call * MAX_ITEMS + i
        const pending = { id: `restart-${n}`, path: `/a-page-${n}`, expiresAt: Date.now() + DAY, hops: 0 }
        const lane = { agent: 'bench', origin: `https://www.host-${n}.example` }
        return { lane, pending: { ...pending, priority: 'normal' as const } }
      }),
    )
    await Promise.all(calls.map((items) => ledger.store(0, items)))
  }
}

/** @param turn  so many times the slots are announced: what earlier gateways handed out fills the others */
async function start(redis: BenchRedis, ledger: Ledger, turn: number): Promise<Start & { gateway: ChildProcess }> {
  await ledger.announce({ role: 'fetcher', id: 'bench', slots: 0 }, 0)
  await ledger.announce({ role: 'fetcher', id: `bench-${turn}`, slots: SLOTS * turn }, DAY)
  if (turn > 1) await ledger.announce({ role: 'fetcher', id: `bench-${turn - 1}`, slots: SLOTS * (turn - 1) }, 0)
  const before = await redis.client.llen(ORDERS)
  const startedAt = performance.now()
  const gateway = fork(CLI, ['gateway'], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: {
      ...process.env,
      REDIS_URL: redis.url,
      DECORUM_AGENTS: JSON.stringify([{ name: 'bench', userAgent: 'bench/1 (+https://example.com/bot)' }]),
      LOG_LEVEL: 'silent',
      PORT: '0',
      RESERVE_MS: '3600000', // nobody begins what is handed out here
      LEASE_MS: '3700000',
    },
  })
  const ready = (async () => {
    if (gateway.stdout !== null) await once(createInterface({ input: gateway.stdout }), 'line')
    return performance.now() - startedAt
  })()
  while ((await redis.client.llen(ORDERS)) === before) {
    if (gateway.exitCode !== null) throw new Error(`the gateway ended by itself (${gateway.exitCode})`)
    await sleep(1)
  }
  const order = performance.now() - startedAt
  return { gateway, order, cpu: cpuMs(gateway.pid), ready: await ready }
}
