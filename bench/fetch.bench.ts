/**
 * Pages per second through the fetcher against a bare undici loop: same origin process, same connection settings, one
 * process, by turns. The fetcher does all that it does in production (orders read and placed, permit, request, guard,
 * digest, outcome as JSON, settlement), but for the ledger's answer, which comes at once: what Redis adds is the relay
 * bench's figure. Every lane is asked again as soon as it is free, so this is the fetcher's own speed, not a site's.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadAgents } from '@decorum/config'
import {
  carryOut,
  groupsOf,
  noSink,
  openArchive,
  openSlots,
  openStats,
  type Sink,
  type Tools,
} from '@decorum/fetcher/testing'
import { loadPaceGroups } from '@decorum/politeness'
import { addressGuard } from '@decorum/politeness/admission'
import { MAX_ORDERS_PER_JOB, ordersIn, systemClock } from '@decorum/protocol'
import { untilOver } from '@decorum/sending'
import { siteAnswers } from '@decorum/sending/robots'
import { headersOf, openConnections, openLookup } from '@decorum/sending/testing'
import { Agent, buildConnector, request } from 'undici'
import { median, round, spread, table } from './frame/figures.ts'
import type { BenchSection } from './frame/one.ts'

const LANES = 100
const agents = loadAgents({ contact: 'https://example.com/bot', defaultDelayMs: 0, maxDelayMs: 10_000 })

type Loop = { name: string; run(forMs: number): Promise<number>; close(): Promise<void> }
type Figures = { perSecond: number; cpuMicros: number; loopMicros: number }

export async function run({ short }: { short: boolean }): Promise<BenchSection> {
  const roundMs = short ? 300 : 500
  const rounds = short ? 4 : 40 // short ones, each against its neighbour: what else the machine does falls on both
  const lines: string[] = []
  for (const size of [1_000, 100_000]) {
    const site = fork(fileURLToPath(new URL('fetch/origin.ts', import.meta.url)), [String(size)])
    const [port] = (await once(site, 'message')) as [number]
    const origins = Array.from({ length: LANES }, (_, lane) => `http://127.0.1.${lane + 1}:${port}`)
    const folder = await mkdtemp(join(tmpdir(), 'decorum-bench-'))
    const name = `${size / 1_000} KB`
    const loops = [bare(origins), bare(origins, 'SHA-1'), fetcher('fetcher', origins, noSink)]
    lines.push(...report(`bodies of ${name}`, loops, await byTurns(loops, rounds, roundMs)), '')
    // Apart, and after: what an archive has written goes to the disk while others are measured.
    const archive = await openArchive(folder, agents)
    const archived = [bare(origins), fetcher('fetcher, archive on', origins, archive)]
    lines.push(...report(`the same, archived`, archived, await byTurns(archived, rounds / 4, roundMs)), '')
    await rm(folder, { recursive: true })
    await stop(site)
  }
  lines.push(
    'CPU: of the measuring process with all its threads (zlib, large digests and the garbage collector have some), per page. Ratios are medians of rounds side by side.',
  )
  return { name: 'fetch', lines }
}

/** Each loop in turn, round by round. */
async function byTurns(loops: Loop[], rounds: number, roundMs: number): Promise<Figures[][]> {
  const figures = loops.map((): Figures[] => [])
  for (const loop of loops) await loop.run(roundMs / 3)
  for (let i = 0; i < rounds; i++) {
    for (const [at, loop] of loops.entries()) figures[at]?.push(await measure(loop, roundMs))
  }
  for (const loop of loops) await loop.close()
  return figures
}

async function measure(loop: Loop, forMs: number): Promise<Figures> {
  const cpu = process.cpuUsage()
  const loopCpu = process.threadCpuUsage()
  const start = performance.now()
  const pages = await loop.run(forMs)
  const { user, system } = process.cpuUsage(cpu)
  const own = process.threadCpuUsage(loopCpu)
  return {
    perSecond: (pages / (performance.now() - start)) * 1_000,
    cpuMicros: (user + system) / pages,
    loopMicros: (own.user + own.system) / pages,
  }
}

function report(what: string, loops: Loop[], figures: Figures[][]): string[] {
  const base = figures[0] ?? []
  const rows = loops.map(({ name }, at) => {
    const own = figures[at] ?? []
    const ratio = (of: (one: Figures) => number): string =>
      `${round(median(own.map((one, i) => of(one) / of(base[i] ?? one))) * 100, 0)} %`
    const pages = spread(
      own.map(({ perSecond }) => perSecond),
      0,
    )
    const cpu = spread(own.map(({ cpuMicros }) => cpuMicros))
    const inLoop = spread(own.map(({ loopMicros }) => loopMicros))
    return [name, pages, ratio(({ perSecond }) => perSecond), cpu, ratio(({ cpuMicros }) => 1 / cpuMicros), inLoop]
  })
  const head = ['pages/s', 'of bare', 'CPU µs/page', 'pages per CPU second, of bare', 'µs of it in the loop']
  return table([what, ...head], rows)
}

/**
 * What a crawler without any care would do, with the fetcher's own connection settings; or one that cares for nothing but
 * the digest that stands in each outcome.
 */
function bare(origins: string[], digest?: 'SHA-1'): Loop {
  const connect = buildConnector({ allowH2: false, timeout: 5_000, autoSelectFamily: true })
  const dispatcher = new Agent({
    connections: 1,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: 4_000,
    maxHeaderSize: 16_384,
    connect,
  })
  const headers = headersOf(agents.default)
  return {
    name: digest === undefined ? 'bare undici loop' : `bare undici loop and ${digest}`,
    run: (forMs) =>
      lanes(origins, forMs, async (origin) => {
        const { body } = await request(`${origin}/page`, { dispatcher, headers })
        const hash = digest === undefined ? undefined : createHash('sha1')
        let bytes = 0
        for await (const chunk of body) {
          bytes += (chunk as Buffer).length
          hash?.update(chunk as Buffer)
        }
        if (bytes === 0 || hash?.digest().length === 0) throw new Error('no body')
      }),
    close: () => dispatcher.close(),
  }
}

function fetcher(name: string, origins: string[], sink: Sink): Loop {
  const connections = openConnections({
    clock: systemClock,
    guard: addressGuard(['127.0.0.0/8']),
    lookup: openLookup(systemClock),
  })
  const slots = openSlots(systemClock, LANES)
  const stats = openStats(slots)
  const broken = (fields: object, message: string): never => {
    throw new Error(`${message}: ${JSON.stringify(fields)}`)
  }
  const ledger = ledgerAtOnce()
  const tools: Tools = {
    ledger,
    connections,
    agents,
    groups: loadPaceGroups('{"host":false}'),
    addressOf: connections.addressOf,
    reporter: untilOver(systemClock, stats),
    sink,
    siteAnswers: siteAnswers(agents),
    stats,
    log: { warn: broken, error: broken },
    pageMaxBytes: 10 * 1024 * 1024,
    maxAttempts: 5,
    fetchDeadlineMs: 30_000,
    leaseMs: 45_000,
    isStopping: () => false,
  }
  const waiting: { origin: string; done: () => void }[] = []
  let fence = 1
  /** As orders come: read from JSON, checked, up to twenty together. */
  const flush = (): void => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, MAX_ORDERS_PER_JOB)
      const text = `{"orders":[${batch.map(({ origin }) => orderText(origin, fence++)).join()}]}`
      const orders = (ordersIn(JSON.parse(text)) ?? []).flatMap((read) => (read.ok ? [read.order] : []))
      for (const [at, order] of orders.entries()) {
        const run = () => carryOut(order, tools).then(batch[at]?.done)
        void slots.place({ groups: groupsOf(order), run, turnAway: () => undefined })
      }
    }
  }
  return {
    name,
    async run(forMs) {
      const before = stats.broken
      const pages = await lanes(origins, forMs, (origin) => {
        if (waiting.length === 0) setImmediate(flush)
        return new Promise((done) => waiting.push({ origin, done }))
      })
      if (stats.broken > before) throw new Error('orders broke off')
      return pages
    },
    async close() {
      await connections.close()
      await sink.close()
    },
  }
}

/** An order as a gateway has written it: its text is there before it comes here. */
const orderText = (origin: string, fence: number): string =>
  `{"agent":"${agents.default.key}","origin":"${origin}","path":"/page","fence":${fence},"version":1,"delayMs":0,"id":"page-${fence}","expiresAt":4000000000000}`

/** Grants and hears everything; what it hears it writes as the real one does. */
function ledgerAtOnce(): Tools['ledger'] {
  return {
    start: async () => ({ kind: 'granted', leaseMs: 45_000 }),
    reportLate: () => undefined,
    confirm: async () => 'granted',
    acquire: async () => ({ kind: 'wait', gate: 'delay', waitMs: 1_000 }),
    next: async () => ({ kind: 'stale' }),
    complete: async ({ outcome }) => {
      const written = JSON.stringify(outcome)
      if (outcome?.kind !== 'fetched') throw new Error(`a page was not fetched: ${written}`)
      return 'completed'
    },
    resolve: async () => [],
    record: async () => 'completed',
    endRobotsFetch: async () => 'completed',
    robotsStates: async () => [],
    body: async () => undefined,
    clock: systemClock,
    partitionOf: () => 0,
    now: () => Date.now(),
    wall: () => Date.now(),
    stops: { why: () => undefined, hasAddresses: () => false },
  }
}

/** Every lane one after the other, all lanes side by side. @returns pages */
async function lanes(origins: string[], forMs: number, visit: (origin: string) => Promise<void>): Promise<number> {
  const end = performance.now() + forMs
  let pages = 0
  await Promise.all(
    origins.map(async (origin) => {
      while (performance.now() < end) {
        await visit(origin)
        pages++
      }
    }),
  )
  return pages
}

async function stop(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.disconnect()
  await gone
}

if (import.meta.main) {
  const { name, lines } = await run({ short: process.argv.includes('--short') })
  console.log([name, ...lines].join('\n'))
  process.exit()
}
