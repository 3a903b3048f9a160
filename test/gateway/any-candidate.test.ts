/**
 * Whatever JSON comes as a candidate, it ends in exactly one outcome, and holds nothing else up. The whole way on a real
 * Redis: BullMQ, intake, lanes, dispatch, orders and their reading; only the exchange with the site is left out.
 */

import { loadAgents } from '@decorum/config'
import { endUnreadable, openOrdersIn, openSlots, openStats } from '@decorum/fetcher/testing'
import { admitter, gatewayMetrics, startDispatch, startIntake } from '@decorum/gateway/testing'
import { endLeases, LedgerUnavailableError, linkTo } from '@decorum/ledger'
import { openLedgerWithViews } from '@decorum/ledger/views'
import { robotsJudge } from '@decorum/politeness/admission'
import {
  assignedId,
  CANDIDATES,
  crawlField,
  DEFAULT_CRAWL,
  ORDERS,
  type Order,
  type Outcome,
  outcomesKey,
  partitionTags,
  queueOptions,
  systemClock,
} from '@decorum/protocol'
import { step } from '@decorum/robots'
import { logOutages } from '@decorum/runtime'
import { Queue } from 'bullmq'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { every } from '../support/every.ts'
import { redisForTest } from '../support/redis.ts'
import { anyCandidate } from './support/any-candidate.ts'

const COUNT = Number(process.env.DECORUM_COUNT ?? 40_000)
const PER_JOB = 1_000
const SLOTS = 400
const LOOK_MS = 100
/** No outcome for five minutes: many times the job locks, reservations and leases that a busy machine lets run out. */
const QUIET_LOOKS = 3_000

const redis = await redisForTest()
const raw = new Redis(redis.url, { maxRetriesPerRequest: null })
const [TAG] = partitionTags(1) as [string]
const queues = [CANDIDATES, ORDERS].map((name) => new Queue(name, { connection: raw, ...queueOptions(TAG) }))
const [candidates, orders] = queues as [Queue, Queue]
const agents = loadAgents({
  agents: JSON.stringify(['bot', 'other'].map((name) => ({ name, userAgent: `${name} (+https://bot.example/)` }))),
  defaultDelayMs: 0,
  maxDelayMs: 0,
})
const gatewayLedger = await openLedgerWithViews({ redis: redis.url, partitions: 1, reserveMs: 5_000 })
const fetcherLedger = await openLedgerWithViews({ redis: redis.url, partitions: 1 })
const stops: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const stop of stops.reverse()) await stop()
  await Promise.all([...queues.map((queue) => queue.close()), gatewayLedger.close(), fetcherLedger.close()])
  raw.disconnect()
})

const log = pino({ level: 'error' })
const metrics = gatewayMetrics()
const robots = robotsJudge(gatewayLedger, undefined)

async function startGateway(): Promise<void> {
  const connection = logOutages(linkTo(redis.url, { away: 'wait' }), log)
  const admit = admitter(agents, '', robots, () => gatewayLedger.now())
  const shared = { ledger: gatewayLedger, partition: 0, metrics, log }
  const intake = startIntake({ ...shared, tag: TAG, connection, admit, concurrency: 2, lockMs: 30_000 })
  const fleet = () => ({ slots: SLOTS, fetchers: 1, pools: new Map() })
  const dispatch = startDispatch({ ...shared, orders, agents, robots, maxAttempts: 5, reserveMs: 30_000, fleet })
  await gatewayLedger.onWake(() => dispatch.wake())
  stops.push(async () => {
    await intake.close()
    await dispatch.stop()
    connection.disconnect()
  })
}

/** Orders as a fetcher reads them; in place of the request there is nothing. */
const slots = openSlots(systemClock, SLOTS)
const stats = openStats(slots)
const complaints: unknown[] = []
function startFetcher(): void {
  const connection = linkTo(redis.url, { away: 'wait' })
  const ordersIn = openOrdersIn({
    clock: systemClock,
    tags: [TAG],
    connection,
    slots,
    stats,
    // A call that a busy Redis does not answer in time is no fault: its lease ends by itself, and the order comes again.
    turnAway: () => undefined,
    carryOut: (order) =>
      carryOut(order).catch((error: unknown) => {
        if (!(error instanceof LedgerUnavailableError)) complaints.push(error)
      }),
    endUnreadable: (order, why) => endUnreadable(order, why, { ledger: fetcherLedger, agents }),
    // A Redis that takes 15 s for an answer, on a busy machine, is no fault: the connection is made anew.
    log: { warn: (about, what) => /Socket timeout/.test(JSON.stringify(about)) || complaints.push([about, what]) },
  })
  stops.push(async () => {
    await ordersIn.stop()
    connection.disconnect()
  })
}

async function carryOut(order: Order): Promise<void> {
  for (;;) {
    const permit = await fetcherLedger.start(order)
    if (permit.kind === 'refused') return
    if (permit.kind === 'granted') break
    await new Promise((resolve) => setTimeout(resolve, Math.ceil(permit.waitMs)))
  }
  const { agent, origin, fence, delayMs, id, path, attempt, crawl, meta } = order
  if (order.kind === 'robots') {
    const [known] = await fetcherLedger.robotsStates(0, [origin])
    const now = Math.ceil(fetcherLedger.now()) + 1
    const state = step(known?.state ?? {}, { kind: 'answered', status: 404, jitter: 0 }, now)
    const delays = agents.list.map(({ key }) => ({ agent: key, delayMs: 0 }))
    await fetcherLedger.record({ agent, origin, fence, state, delays, delayMs, elapsedMs: 0 })
    return
  }
  const outcome: Outcome = {
    id,
    url: origin + path,
    agent,
    at: 0,
    attempts: attempt,
    ...crawlField(crawl),
    ...(meta === undefined ? {} : { meta }),
    kind: 'failed',
    reason: 'connect',
    detail: 'no request is made here',
  }
  await fetcherLedger.complete({ agent, origin, fence, delayMs, load: { kind: 'normal' }, elapsedMs: 0, outcome })
}

/** Jobs as they would lie in Redis: BullMQ would write other JSON than is meant. @returns ids of the jobs, in order */
async function addJobs(texts: string[]): Promise<{ id: string; timestamp: number }[]> {
  const chunks = Array.from({ length: Math.ceil(texts.length / PER_JOB) }, (_, n) =>
    texts.slice(n * PER_JOB, (n + 1) * PER_JOB),
  )
  const jobs = await candidates.addBulk(chunks.map(() => ({ name: CANDIDATES, data: {} })))
  for (const [n, job] of jobs.entries())
    await raw.hset(`${TAG}:${CANDIDATES}:${job.id}`, 'data', `{"candidates":[${chunks[n]?.join(',')}]}`)
  return jobs.map(({ id, timestamp }) => ({ id: String(id), timestamp }))
}

/** Of every crawl: a generated name may be right by chance. */
const streams = (): Promise<string[]> => raw.keys(`${outcomesKey(TAG, DEFAULT_CRAWL)}*`)

async function allOutcomes(): Promise<Outcome[]> {
  return (await Promise.all((await streams()).map(outcomesIn))).flat()
}

async function outcomesIn(stream: string): Promise<Outcome[]> {
  const all: Outcome[] = []
  for (let after = '-'; ;) {
    const page = await raw.xrange(stream, after, '+', 'COUNT', 5_000)
    if (page.length === 0) return all
    for (const [, fields] of page) all.push(JSON.parse(fields[1] as string) as Outcome)
    after = `(${page.at(-1)?.[0]}`
  }
}

test(`${COUNT} candidates of any JSON: one outcome each, no order that cannot be read, no lane that stands still`, async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
  console.log(`any-candidate: SEED=${seed}`)
  const texts = fc.sample(anyCandidate, { seed, numRuns: COUNT }).map((write, index) => write(index))
  const jobs = await addJobs(texts)
  startFetcher()
  await startGateway()

  const written = async () =>
    (await Promise.all((await streams()).map((stream) => raw.xlen(stream)))).reduce((sum, n) => sum + n, 0)
  const view = () => gatewayLedger.viewPartition(0)
  // As long as more of them come, they are waited for.
  // Of calls that a busy Redis did not answer in time.
  stops.push(every(1_000, () => endLeases(gatewayLedger, 0).catch(() => undefined)))
  for (let [last, quiet] = [0, 0]; last < COUNT && quiet < QUIET_LOOKS;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    const now = await written()
    quiet = now === last ? quiet + 1 : 0
    last = now
  }

  const byId = Map.groupBy(await allOutcomes(), ({ id }) => id)
  const wrong = texts.flatMap((text, index) => {
    const given = JSON.parse(text) as { id?: unknown; meta?: unknown } | null
    const job = jobs[Math.floor(index / PER_JOB)] as { id: string; timestamp: number }
    const ids = new Set([given?.id, assignedId('0', job, index % PER_JOB)])
    const its = [...ids].flatMap((one) => (typeof one === 'string' ? (byId.get(one) ?? []) : []))
    const isEchoed = its.every(({ kind, meta }) => kind === 'invalid' || sameJson(meta, given?.meta))
    return its.length === 1 && isEchoed ? [] : [{ text: text.slice(0, 500), outcomes: its }]
  })
  expect(wrong.slice(0, 5), `${wrong.length} candidates, seed ${seed}`).toEqual([])
  expect(await written()).toBe(COUNT)
  expect(complaints).toEqual([])
  expect(stats.badOrders + stats.badJobs).toBe(0)
  await expect.poll(view).toMatchObject({ waiting: 0, inFlight: 0 })

  const kinds = Map.groupBy([...byId.values()].flat(), ({ kind }) => kind)
  const counts = Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length]))
  console.log(`any-candidate: ${JSON.stringify(counts)}`)
  expect(counts.failed, 'most get as far as a request').toBeGreaterThan(COUNT / 4)
})

const sameJson = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
