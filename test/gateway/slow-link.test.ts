/** A link that cannot carry large answers in time: less is asked for, until what is asked for arrives. */

import { loadAgents } from '@decorum/config'
import { gatewayMetrics, startDispatch } from '@decorum/gateway/testing'
import { LedgerUnavailableError, openLedger } from '@decorum/ledger'
import { robotsJudge } from '@decorum/politeness/admission'
import { ORDERS, type Order, ordersIn, partitionTags, queueOptions } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const LANES = 40
/** Lanes of which one answer may speak. */
const MOST = 5

test('a reserve that has no answer in time is tried again for fewer lanes, and all lanes get their order', async () => {
  const ledger = await openLedger({ redis: redis.url, partitions: 1 })
  const raw = new Redis(redis.url, { maxRetriesPerRequest: null })
  const [tag] = partitionTags(1) as [string]
  const orders = new Queue(ORDERS, { connection: raw, ...queueOptions(tag) })
  const agents = loadAgents({ contact: 'https://bot.example/', defaultDelayMs: 0, maxDelayMs: 0 })
  const pending = { path: '/', expiresAt: Date.now() + 3_600_000, hops: 0, priority: 'normal' } as const
  const lane = (n: number) => ({ agent: 'decorum', origin: `http://h${n}.example` })
  await ledger.store(
    0,
    Array.from({ length: LANES }, (_, n) => ({ lane: lane(n), pending: { ...pending, id: `u${n}` } })),
  )
  const limits: number[] = []
  const dispatch = startDispatch({
    ledger: {
      ...ledger,
      async reserve(partition, request) {
        limits.push(request.limit)
        if (request.limit > MOST) throw new LedgerUnavailableError('reserve', new Error('no answer within 2000 ms'))
        return ledger.reserve(partition, request)
      },
    },
    partition: 0,
    orders,
    agents,
    robots: robotsJudge(ledger, undefined),
    reserveMs: 30_000,
    metrics: gatewayMetrics(),
    log: pino({ level: 'silent' }),
    maxAttempts: 5,
    fleet: () => ({ slots: 1_000, fetchers: 1, pools: new Map() }),
  })
  onTestFinished(async () => {
    await dispatch.stop()
    await orders.close()
    raw.disconnect()
    await ledger.close()
  })
  const ordered = async (): Promise<Order[]> =>
    (await orders.getJobs('wait'))
      .flatMap(({ data }) => ordersIn(data) ?? [])
      .flatMap((read) => (read.ok ? [read.order] : []))
  await expect.poll(async () => (await ordered()).length, { interval: 100 }).toBe(LANES)
  expect(new Set((await ordered()).map(({ origin }) => origin)).size).toBe(LANES)
  expect(limits[0]).toBeGreaterThan(MOST)
  expect(limits.filter((limit) => limit <= MOST).length).toBeGreaterThanOrEqual(LANES / MOST)
})
