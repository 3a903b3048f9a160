/** The chores of a gateway do not wait for each other: one that fails keeps none of the others from being done. */

import { forgetReaders, gatewayMetrics, startHousekeeping } from '@decorum/gateway/testing'
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

test('a reader that was silent for the time that was set is forgotten, written down and logged; the others stay', async () => {
  const { ledger } = await emptyLedger(redis)
  const reader = new Redis(redis.url)
  onTestFinished(() => reader.disconnect())
  for (const group of ['gone', 'never-read', 'reads', 'has-read-all']) await makeGroup(reader, [STREAM], group, 'start')
  await ledger.store(0, [{ outcome: outcomeOf('a') }])
  const read = (group: string) => reader.xreadgroup('GROUP', group, 'me', 'STREAMS', STREAM, '>')
  await read('gone')
  await reader.xack(STREAM, 'has-read-all', ...((await read('has-read-all'))?.[0]?.[1] ?? []).map(([id]) => id))
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const groups = async () => (await ledger.readers('default')).map(({ group }) => group).sort()
  const after = async (ms: number) => {
    await reader.xreadgroup('GROUP', 'reads', 'lives', 'COUNT', 1, 'STREAMS', STREAM, '0')
    await forgetReaders({ ledger, log, forgetReadersAfterMs: ms })
  }
  await after(0)
  await after(60_000)
  expect(await groups()).toHaveLength(4)
  const silentForMs = async () => (await ledger.readers('default')).find(({ group }) => group === 'gone')?.idleMs
  await expect.poll(silentForMs).toBeGreaterThan(500)
  await after(500)
  expect(await groups()).toEqual(['has-read-all', 'reads'])
  const told = lines.map((line) => JSON.parse(line) as { group: string; unread: number; msg: string })
  expect(told.map(({ group, unread }) => `${group}: ${unread}`).sort()).toEqual(['gone: 1', 'never-read: 1'])
  expect(await ledger.operations(0, 9)).toMatchObject([
    { action: 'forget-reader', by: 'fleet', reason: expect.stringContaining('FORGET_READERS_AFTER_MS') },
    { action: 'forget-reader', by: 'fleet' },
  ])
})
