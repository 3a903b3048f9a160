/** `decorum enqueue`: what a line may hold arrives as it was written. */
import { CANDIDATES, MAX_META_BYTES, queueOptions } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { decorum } from './decorum.ts'

const redis = await redisForTest()

test('a candidate with the largest meta, written in escapes, is stored whole', async () => {
  const connection = new Redis(redis.url, { maxRetriesPerRequest: null })
  const queue = new Queue(CANDIDATES, { connection, ...queueOptions('{decorum:0}') })
  onTestFinished(async () => {
    await queue.close()
    connection.disconnect()
  })
  const frame = JSON.stringify({ a: '' }).length
  const meta = { a: '😀'.repeat((MAX_META_BYTES - frame) / 4) }
  const candidate = { url: 'http://a.example/', id: '😀'.repeat(64), meta }
  const line = JSON.stringify(candidate).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`)
  expect(line.length).toBeGreaterThan(10_000)
  const { code } = await decorum(['enqueue', '-'], { env: { REDIS_URL: redis.url }, input: `${line}\n` })
  expect(code).toBe(0)
  const [job] = await queue.getJobs(['wait'])
  expect(job?.data).toEqual({ candidates: [candidate] })
})
