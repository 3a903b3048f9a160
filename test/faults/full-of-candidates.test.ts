/**
 * Other producers of the queue than `@decorum/client` fill Redis up to its maxmemory with candidates. What was accepted is fetched all the
 * same, as long as outcomes are read.
 */
import { startFleet } from '@decorum/cli'
import { CANDIDATES, JOB_NAMES, partitionTags, queueOptions } from '@decorum/protocol'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { fleetEnv, startJourney } from '../journey/fleet.ts'
import { startRedis } from '../support/redis.ts'

const MB = 1024 * 1024
const SITES = 20
const PER_JOB = 20
const [TAG] = partitionTags(1) as [string]

test('all that was accepted has its outcome, and URLs are taken in again', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const raw = new Redis(redis.url)
  const queue = new Queue(CANDIDATES, { connection: raw, ...queueOptions(TAG) })
  onTestFinished(() => queue.close())
  const sites = Array.from({ length: SITES }, (_, at) => ({ name: `site-${at}`, robots: { body: '' } }))
  const journey = await startJourney({ redisUrl: redis.url, sites, fetchers: 0 })
  onTestFinished(() => journey.close())
  const origins = Object.values(journey.web.origins)
  await raw.config('SET', 'maxmemory', String(12 * MB))
  let accepted = 0
  for (let refused = false; !refused;) {
    const candidates = Array.from({ length: PER_JOB }, (_, at) => ({
      id: `${accepted + at}`,
      url: `${origins[at % SITES]}/${accepted + at}`,
      meta: { more: 'x'.repeat(4_000) },
    }))
    await queue.add(JOB_NAMES.candidates, { candidates }, { removeOnComplete: true }).then(
      () => {
        accepted += PER_JOB
      },
      (error: Error) => {
        expect(error.message).toMatch(/^OOM/)
        refused = true
      },
    )
  }
  expect(accepted).toBeGreaterThan(1_000)
  const fetchers = await startFleet({ env: fleetEnv(redis.url), gateways: 0, fetchers: 1 })
  onTestFinished(async () => void (await fetchers.stop(5_000)))
  await journey.outcomesOf(accepted)
  expect([...journey.outcomes.values()].filter((some) => some.length !== 1)).toEqual([])
  expect(new Set([...journey.outcomes.values()].map(([outcome]) => outcome?.kind))).toEqual(new Set(['fetched']))
  await journey.frontier.enqueue([{ id: 'later', url: `${origins[0]}/later` }])
  await journey.outcomesOf(accepted + 1)
  expect((await journey.audit()).examples).toEqual([])
})
