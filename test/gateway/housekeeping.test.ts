/** The chores of a gateway do not wait for each other: one that fails keeps none of the others from being done. */

import { gatewayMetrics, startHousekeeping } from '@decorum/gateway/testing'
import { makeGroup } from '@decorum/ledger'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { emptyLedger, outcomeOf, TAG } from '../ledger/ledger-for-test.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const STREAM = `${TAG}:outcomes`
const refuses = (): Promise<never> =>
  Promise.reject(new Error("OOM command not allowed when used memory > 'maxmemory'"))

test.each(['reap', 'outbox'] as const)('while %s is refused, acknowledged outcomes are trimmed', async (chore) => {
  const { ledger } = await emptyLedger(redis)
  const reader = new Redis(redis.url)
  onTestFinished(() => reader.disconnect())
  await ledger.store(0, [{ outcome: outcomeOf('a') }])
  await makeGroup(reader, [STREAM], 'g', 'start')
  const rows = await reader.xreadgroup('GROUP', 'g', 'me', 'STREAMS', STREAM, '>')
  await reader.xack(STREAM, 'g', ...(rows?.[0]?.[1] ?? []).map(([id]) => id))
  const housekeeping = await startHousekeeping({
    ledger: { ...ledger, [chore]: refuses },
    id: 'one',
    admit: () => {
      throw new Error('nothing is to be admitted here')
    },
    metrics: gatewayMetrics(),
    log: pino({ level: 'silent' }),
    onFleet: () => {},
  })
  onTestFinished(() => housekeeping.stop())
  await expect.poll(() => reader.xlen(STREAM), { interval: 50 }).toBe(0)
})
