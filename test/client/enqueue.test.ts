/** A frontier's candidates in Redis: batches, partitions, and what happens when Redis is not there. */

import { type Frontier, FrontierUnavailableError, FrontierUnfitError, openFrontier } from '@decorum/client'
import {
  CANDIDATES,
  type Candidate,
  hostOf,
  MAX_URL_CHARS,
  partitionOf,
  partitionTags,
  queueOptions,
  readUrl,
} from '@decorum/protocol'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { redisForTest, startRedis } from '../support/redis.ts'

const redis = await redisForTest()
const client = new Redis(redis.url)
afterAll(() => client.disconnect())
const open: { close(): Promise<unknown> }[] = []

beforeEach(() => client.flushall())
afterEach(async () => {
  for (const one of open.splice(0)) await one.close()
})

const frontier = async (
  options: { partitions?: number; patienceMs?: number; url?: string } = {},
): Promise<Frontier> => {
  const { url = redis.url, ...rest } = options
  const opened = await openFrontier({ redis: url, ...rest })
  open.push(opened)
  return opened
}

/** What is stored per partition, in order of the jobs. */
async function stored(tags: readonly string[]): Promise<Candidate[][][]> {
  const partitions: Candidate[][][] = []
  for (const tag of tags) {
    const queue = new Queue<{ candidates: Candidate[] }>(CANDIDATES, { connection: client, ...queueOptions(tag) })
    const jobs = await queue.getWaiting()
    partitions.push(jobs.map((job) => job.data.candidates))
    await queue.close()
  }
  return partitions
}

const urls = (count: number, host = (n: number) => `h${n % 7}.example`): Candidate[] =>
  Array.from({ length: count }, (_, n) => ({ url: `http://${host(n)}/p${n}`, id: `c${n}` }))

test('candidates are stored in jobs of a hundred, in the order given', async () => {
  const f = await frontier()
  expect(await f.enqueue(urls(250))).toEqual({ count: 250 })
  const [jobs] = await stored(f.tags)
  expect(jobs?.map((job) => job.length)).toEqual([100, 100, 50])
  expect(jobs?.flat().map(({ id }) => id)).toEqual(urls(250).map(({ id }) => id))
  expect(jobs?.[0]?.[0]).toEqual({ url: 'http://h0.example/p0', id: 'c0' })
})

test('of several partitions each candidate goes to the one of its host', async () => {
  await client.rpush('decorum:partitions', ...partitionTags(4))
  const f = await frontier({ partitions: 4 })
  await f.enqueue(urls(400, (n) => `site${n % 50}.example`))
  expect(f.tags).toEqual(partitionTags(4))
  const partitions = await stored(f.tags)
  expect(partitions.flat(2)).toHaveLength(400)
  for (const [index, jobs] of partitions.entries()) {
    for (const { url } of jobs.flat()) {
      const at = readUrl(url)
      expect('refused' in at ? undefined : partitionOf(hostOf(at.origin), 4)).toBe(index)
    }
  }
})

test('a frontier that names no number takes the one that the fleet has written down', async () => {
  await client.rpush('decorum:partitions', ...partitionTags(3))
  expect((await frontier()).tags).toEqual(partitionTags(3))
  await expect(openFrontier({ redis: redis.url, partitions: 2 })).rejects.toThrow(FrontierUnfitError)
})

test('an async iterable that pauses has its candidates stored before it goes on', async () => {
  const f = await frontier()
  const paused = Promise.withResolvers<void>()
  async function* slow(): AsyncGenerator<Candidate> {
    yield { url: 'http://a.example/1', id: 'one' }
    await paused.promise
    yield { url: 'http://a.example/2', id: 'two' }
  }
  const all = f.enqueue(slow())
  await expect.poll(async () => (await stored(f.tags)).flat(2).map(({ id }) => id)).toEqual(['one'])
  paused.resolve()
  expect(await all).toEqual({ count: 2 })
  expect((await stored(f.tags)).flat(2)).toHaveLength(2)
})

test('what is not a URL is stored all the same, in the first partition: the gateway gives it its outcome', async () => {
  await client.rpush('decorum:partitions', ...partitionTags(3))
  const f = await frontier({ partitions: 3 })
  const odd = [{ url: 'not a url' }, { url: 17 }, null, { nothing: true }] as unknown as Candidate[]
  expect(await f.enqueue(odd)).toEqual({ count: 4 })
  expect((await stored(f.tags))[0]?.flat()).toEqual(odd)
})

test('of an endless URL no more is stored than the gateway needs to refuse it', async () => {
  const f = await frontier()
  await f.enqueue([{ url: `http://a.example/${'x'.repeat(1_000_000)}` }])
  expect((await stored(f.tags))[0]?.[0]?.[0]?.url).toHaveLength(MAX_URL_CHARS + 1)
})

test('what JSON cannot carry is a TypeError that names its place', async () => {
  const f = await frontier()
  const circular: { url: string; meta: Record<string, unknown> } = { url: 'http://a.example/', meta: {} }
  circular.meta.self = circular
  await expect(f.enqueue([{ url: 'http://a.example/' }, circular])).rejects.toThrow(/^candidate 1 cannot be written/)
})

test('Redis away at the start: an error that names the place', async () => {
  const gone = await startRedis()
  await gone.stop()
  await expect(openFrontier({ redis: gone.url })).rejects.toThrow(`no Redis answers at 127.0.0.1:${gone.port}`)
})

test('Redis gone later: enqueue fails at once, and works again when Redis is back', async () => {
  const other = await startRedis({ appendonly: true })
  const f = await frontier({ url: other.url })
  await f.enqueue(urls(1))
  await other.stop()
  await expect(f.enqueue(urls(1))).rejects.toThrow(FrontierUnavailableError)
  await other.restart()
  await expect.poll(() => f.enqueue(urls(1)).catch(() => undefined)).toEqual({ count: 1 })
  await other.stop()
})

test('with patience, enqueue waits for Redis to come back and stores everything once', async () => {
  const other = await startRedis({ appendonly: true })
  const f = await frontier({ url: other.url, patienceMs: 60_000 })
  await other.stop()
  const all = f.enqueue(urls(150))
  await other.restart()
  expect(await all).toEqual({ count: 150 })
  const seen = new Redis(other.url)
  expect(await seen.llen(`${f.tags[0]}:candidates:wait`)).toBe(2)
  seen.disconnect()
  await other.stop()
})
