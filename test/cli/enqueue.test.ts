/** `decorum enqueue`: what a line may hold arrives as it was written. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CANDIDATES, MAX_META_BYTES, queueOptions } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { decorum } from './decorum.ts'
import { decorumHere } from './decorum-here.ts'

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

test('a list that is empty, or no text, is refused with its line; a missing scheme is named', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'decorum-enqueue-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const enqueue = async (list: string | Buffer) => {
    await writeFile(join(folder, 'list'), list)
    return decorumHere(['enqueue', join(folder, 'list')], { env: { REDIS_URL: redis.url } })
  }
  expect(await enqueue('# none\n')).toMatchObject({ code: 2, stderr: expect.stringContaining('the list is empty') })
  expect(await enqueue(Buffer.from('http://a.example/\nhttp://a.example/\xe9', 'latin1'))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('line 2 is not in UTF-8'),
  })
  expect(await enqueue('http://a.example/ # x\na.example/x\n')).toMatchObject({
    code: 0,
    stdout: '2 enqueued\n',
    stderr: expect.stringContaining(
      "1 line ends as invalid:\n  line 2: 'a.example/x' cannot be requested: not-a-url; a scheme is missing: write https://a.example/x",
    ),
  })
})

test('standard input that is no text ends at its line; the lines before are stored', async () => {
  const env = { REDIS_URL: redis.url }
  const { code, stderr } = await decorumHere(['enqueue', '-'], { env, input: 'http://a.example/\n\0\n' })
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('line 2 holds a NUL') })
  expect(await decorumHere(['enqueue', '-'], { env, input: '\n' })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('standard input: the list is empty'),
  })
})
