import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type RetentionOptions, removeOldest } from '@decorum/fetcher/testing'
import { keysOf, openLedger } from '@decorum/ledger'
import { MINUTE } from '@decorum/protocol'
import { Redis } from 'ioredis'
import { afterAll, expect, test } from 'vitest'
import { PATIENT } from '../support/patient.ts'
import { redisForTest } from '../support/redis.ts'
import { newFolder } from './support/kept.ts'

const server = await redisForTest()
const redis = new Redis(server.url)
const ledger = await openLedger({ redis: server.url, partitions: 1, ...PATIENT })
afterAll(async () => {
  redis.disconnect()
  await ledger.close()
})
const STREAM = keysOf(ledger.tags[0] as string).outcomes
const LEASE_MS = 45_000
const NOW = Date.now()

/** Files of 1,000 bytes, written to for the last time so many minutes ago. */
async function folderOf(minutesAgo: Record<string, number>): Promise<string> {
  const folder = await newFolder()
  for (const [name, minutes] of Object.entries(minutesAgo)) {
    await writeFile(join(folder, name), Buffer.alloc(1_000))
    await utimes(join(folder, name), NOW / 1_000, NOW / 1_000 - minutes * 60)
  }
  return folder
}
const told: string[] = []
const log = { info: () => undefined, warn: (_fields: object, message: string) => void told.push(message) }
const within = (folder: string, maxBytes: number): RetentionOptions => ({
  folder,
  maxBytes,
  oldestOutcome: () => ledger.oldestOutcome(),
  leaseMs: LEASE_MS,
  log,
})

test('the oldest complete files are removed, with their indexes, until the rest fits; what is being written stays', async () => {
  const folder = await folderOf({
    'a.warc.gz': 90,
    'a.cdxj': 90,
    'b.warc.gz': 80,
    'c.warc.gz': 70,
    '0.warc.gz.open': 100,
    'mine.txt': 999,
  })
  expect(await removeOldest(within(folder, 5_000))).toEqual([])
  expect(await removeOldest(within(folder, 3_000))).toEqual(['a.warc.gz'])
  expect(await removeOldest(within(folder, 1_000))).toEqual(['b.warc.gz', 'c.warc.gz'])
  expect((await readdir(folder)).toSorted()).toEqual(['0.warc.gz.open', 'mine.txt'])
})

test('the file of a killed writer is removed like a complete one, once its writer would have started another', async () => {
  const folder = await folderOf({ 'killed.warc.gz.open': 125, 'now.warc.gz.open': 100 })
  expect(await removeOldest(within(folder, 1_000))).toEqual(['killed.warc.gz.open'])
  expect(await readdir(folder)).toEqual(['now.warc.gz.open'])
})

test('what an outcome may name that some reader has not acknowledged stays, however full the folder is', async () => {
  const folder = await folderOf({ 'a.warc.gz': 90, 'b.warc.gz': 60, 'c.warc.gz': 30, 'd.warc.gz': 1 })
  const id = `${NOW - 62 * MINUTE}-0` // written after `b` was begun, and before it was written to for the last time
  await redis.xadd(STREAM, id, 'o', '{}')
  await redis.xadd(STREAM, `${NOW}-0`, 'o', '{}')
  for (const group of ['quick', 'slow']) await redis.xgroup('CREATE', STREAM, group, '0')
  await redis.xreadgroup('GROUP', 'quick', 'x', 'STREAMS', STREAM, '>')
  await redis.xreadgroup('GROUP', 'slow', 'x', 'STREAMS', STREAM, '>')
  await redis.xack(STREAM, 'quick', id)
  await ledger.trimOutcomes(0)
  told.length = 0
  expect(await removeOldest(within(folder, 0))).toEqual(['a.warc.gz'])
  expect(told).toEqual([expect.stringContaining('not acknowledged')])
  await redis.xack(STREAM, 'slow', id)
  await ledger.trimOutcomes(0)
  expect(await removeOldest(within(folder, 0))).toEqual(['b.warc.gz', 'c.warc.gz'])
  expect(await readdir(folder), 'an outcome of a page in it may still be on its way').toEqual(['d.warc.gz'])
})

test('while Redis does not say what is acknowledged, nothing goes', async () => {
  const folder = await folderOf({ 'a.warc.gz': 90 })
  await expect(
    removeOldest({ ...within(folder, 0), oldestOutcome: () => Promise.reject(new Error('away')) }),
  ).rejects.toThrow('away')
  expect(await readdir(folder)).toEqual(['a.warc.gz'])
})
