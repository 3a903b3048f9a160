/** A gateway freezes half way through a job, another one ends the job, and its name is used again before the first one wakes. */
import { MAX_ITEMS } from '@decorum/ledger'
import { CANDIDATES, partitionTags, queueOptions } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { startDecorum } from '../cli/decorum.ts'
import { laneUrls } from '../support/lane-urls.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const [TAG] = partitionTags(1) as [string]
const ORIGIN = 'http://site.example'
/** Stored in two parts. */
const COUNT = 2 * MAX_ITEMS

test('URLs that a frozen gateway was still storing are neither stored nor marked in the later job of the same name', async () => {
  const raw = new Redis(redis.url, { maxRetriesPerRequest: null })
  const queue = new Queue(CANDIDATES, { connection: raw, ...queueOptions(TAG) })
  onTestFinished(async () => {
    await queue.close()
    raw.disconnect()
  })
  const add = (day: string) => {
    const candidates = Array.from({ length: COUNT }, (_, n) => ({ url: `${ORIGIN}/${day}/${n}`, id: `${day}-${n}` }))
    return queue.add('candidates', { candidates }, { jobId: 'nightly', removeOnComplete: true })
  }
  const done = () =>
    expect.poll(() => queue.getJobCounts('wait', 'active'), { interval: 50 }).toEqual({ wait: 0, active: 0 })
  const waiting = async (day: string) =>
    new Set((await laneUrls(raw, TAG, `decorum ${ORIGIN}`)).filter((url) => url.startsWith(`/${day}/`))).size
  const env = {
    REDIS_URL: redis.url,
    DECORUM_CONTACT: 'https://bot.example/',
    INTAKE_LOCK_MS: '1000',
    LOG_LEVEL: 'info',
  }
  const gateway = (more: Record<string, string> = {}) =>
    startDecorum(['gateway'], { env: { ...env, ...more }, input: '' })

  const frozen = gateway({ DECORUM_FREEZE_AT: 'intake.after-store:1' })
  await add('yesterday')
  await frozen.hears('SIGSTOP')
  const other = gateway()
  await done()
  expect(await waiting('yesterday')).toBe(COUNT)
  other.child.kill('SIGTERM')
  await other.result
  await add('today')
  frozen.child.kill('SIGCONT')
  await done()
  expect([await waiting('yesterday'), await waiting('today')]).toEqual([COUNT, COUNT])
})
