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

/**
 * Files of 1,000 bytes, written to for the last time so many minutes ago by Redis's clock, and looked at then.
 * @param behindMs  the clock of the machine that writes them
 */
async function folderOf(minutesAgo: Record<string, number>, behindMs = 0): Promise<string> {
  const folder = await newFolder()
  for (const [name, minutes] of Object.entries(minutesAgo).toSorted((a, b) => b[1] - a[1])) {
    const at = NOW - minutes * MINUTE
    await writeFile(join(folder, name), Buffer.alloc(1_000))
    const seconds = (at - behindMs) / 1_000
    await utimes(join(folder, name), seconds, seconds)
    await removeOldest({ ...within(folder, Number.MAX_SAFE_INTEGER), now: () => at })
  }
  return folder
}
const warcs = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name !== 'retention.json').toSorted()
const told: string[] = []
const log = { info: () => undefined, warn: (_fields: object, message: string) => void told.push(message) }
const within = (folder: string, maxBytes: number): RetentionOptions => ({
  folder,
  maxBytes,
  oldestOutcome: () => ledger.oldestOutcome(),
  now: () => NOW,
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
  expect((await readdir(folder)).toSorted()).toEqual(['0.warc.gz.open', 'mine.txt', 'retention.json'])
})

test('the file of a killed writer is removed like a complete one, once its writer would have started another', async () => {
  const folder = await folderOf({ 'killed.warc.gz.open': 125, 'now.warc.gz.open': 100 })
  expect(await removeOldest(within(folder, 1_000))).toEqual(['killed.warc.gz.open'])
  expect(await warcs(folder)).toEqual(['now.warc.gz.open'])
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
  expect(await warcs(folder), 'an outcome of a page in it may still be on its way').toEqual(['d.warc.gz'])
})

test.each([
  ['behind', 60 * MINUTE],
  ['ahead of', -60 * MINUTE],
])(
  'a machine whose clock is an hour %s that of Redis removes nothing that an outcome may name, and all that none does',
  async (_, behindMs) => {
    await redis.del(STREAM)
    const folder = await folderOf({ 'a.warc.gz': 90, 'b.warc.gz': 60, 'c.warc.gz': 30 }, behindMs)
    await redis.xadd(STREAM, `${NOW - 62 * MINUTE}-0`, 'o', '{}')
    await redis.xadd(STREAM, `${NOW}-0`, 'o', '{}')
    expect(await removeOldest(within(folder, 0))).toEqual(['a.warc.gz'])
    await redis.xdel(STREAM, `${NOW - 62 * MINUTE}-0`)
    expect(await removeOldest(within(folder, 0))).toEqual(['b.warc.gz', 'c.warc.gz'])
  },
)

test('what was never looked at counts as written now; a file that changed does so again', async () => {
  await redis.del(STREAM)
  const folder = await folderOf({ 'a.warc.gz': 90, 'b.warc.gz': 80 })
  await writeFile(join(folder, 'b.warc.gz'), Buffer.alloc(2_000))
  await writeFile(join(folder, 'c.warc.gz'), Buffer.alloc(1_000))
  expect(await removeOldest(within(folder, 0))).toEqual(['a.warc.gz'])
  await writeFile(join(folder, 'retention.json'), '{"b.warc.gz": [1], nonsense')
  expect(await removeOldest({ ...within(folder, 0), now: () => NOW + 5 * MINUTE })).toEqual([])
  expect(await removeOldest({ ...within(folder, 0), now: () => NOW + 8 * MINUTE })).toEqual(['b.warc.gz', 'c.warc.gz'])
})

test('while Redis does not say what is acknowledged, nothing goes', async () => {
  const folder = await folderOf({ 'a.warc.gz': 90 })
  await expect(
    removeOldest({ ...within(folder, 0), oldestOutcome: () => Promise.reject(new Error('away')) }),
  ).rejects.toThrow('away')
  expect(await warcs(folder)).toEqual(['a.warc.gz'])
})
