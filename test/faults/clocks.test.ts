import { fileURLToPath } from 'node:url'
import { announceNew } from '@decorum/ledger'
import { EPOCH } from '@decorum/ledger/testing'
import { Redis } from 'ioredis'
import { afterAll, afterEach, expect, test } from 'vitest'
import { expectPolite, type Journey, LONG_LEASES, pagesOf, startJourney } from '../journey/fleet.ts'
import type { Site } from '../support/origins/index.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const raw = new Redis(redis.url)
afterAll(() => raw.disconnect())
let journey: Journey | undefined
afterEach(async () => {
  await journey?.close()
  journey = undefined
  await raw.flushall()
  await announceNew(raw)
})

const HOUR = 3_600_000
const SKEW = fileURLToPath(new URL('skew.mjs', import.meta.url))

test('a fleet whose clocks are an hour slow keeps every promise', async () => {
  const off = -HOUR
  journey = await startJourney({
    redisUrl: redis.url,
    gateways: 1,
    fetchers: 1,
    sites: Array.from({ length: 6 }, (_, n) => ({
      name: `site-${off}-${n}`,
      robots: [{ status: 503, retryAfter: '1' }, { body: 'User-agent: *\nDisallow: /no\nCrawl-delay: 0.3' }],
      pages: { cycle: [{}, {}, { status: 429, retryAfter: '1' }] },
    })),
    env: { ...LONG_LEASES, SKEW_MS: String(off), NODE_OPTIONS: `--import ${SKEW}` },
  })
  const { web, frontier, outcomes } = journey
  const candidates = pagesOf(web, 6)
  await frontier.enqueue(candidates)
  await journey.outcomesOf(candidates.length)

  for (const { port } of journey.fleet.members) {
    const metrics = await fetch(`http://127.0.0.1:${port}/metrics`).then((answer) => answer.text())
    const startedAt = Number(/^process_start_time_seconds (\S+)$/m.exec(metrics)?.[1]) * 1_000
    expect(Math.abs(startedAt - Date.now() - off), 'the skew is really there').toBeLessThan(HOUR / 2)
  }
  for (const [outcome] of outcomes.values()) {
    if (outcome?.kind !== 'fetched') throw new Error(`${outcome?.url}: ${outcome?.kind}`)
    const { startedAt, at } = outcome
    for (const instant of [startedAt, at])
      expect(Math.abs(instant - Date.now()), 'instants of outcomes are of Redis’s clock').toBeLessThan(HOUR / 2)
  }
  const report = await expectPolite(journey, candidates)
  expect(report.statuses).toMatchObject({ 429: expect.any(Number), 503: 6 })
  expect(report.lanes.every(({ delayMs }) => delayMs.most === 300)).toBe(true)
})

const sitesWith = (name: string, pages: NonNullable<Site['pages']>): Site[] =>
  Array.from({ length: 6 }, (_, n) => ({
    name: `${name}-${n}`,
    robots: [{ body: 'User-agent: *\nCrawl-delay: 0.3' }],
    pages,
  }))
/** What processes have measured of Redis's clock, in any partition. */
const excesses = async (): Promise<string[]> =>
  (await Promise.all((await raw.keys('*:epoch')).map((key) => raw.hget(key, EPOCH.excess)))).filter(
    (one) => one !== null,
  )

test('where Redis’s clock is slewed by 8.33 %, no delay is shorter once processes of another clock have measured it', async () => {
  journey = await startJourney({
    redisUrl: redis.url,
    fetchers: 2,
    sites: sitesWith('slewed', { cycle: [{}, {}, { status: 429, retryAfter: '1' }] }),
    env: {
      ...LONG_LEASES,
      REDIS_RATE: '1.08333',
      REDIS_RATE_FROM: String(Date.now()),
      NODE_OPTIONS: `--import ${SKEW}`,
    },
  })
  await expect.poll(excesses, { timeout: 60_000 }).not.toEqual([])
  const candidates = pagesOf(journey.web, 12)
  await journey.frontier.enqueue(candidates)
  await journey.outcomesOf(candidates.length)
  await expectPolite(journey, candidates)
})

test('processes whose own clocks run 5 % fast come no earlier than a date in a Retry-After says', async () => {
  const date = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 12_000)
  journey = await startJourney({
    redisUrl: redis.url,
    fetchers: 2,
    sites: sitesWith('fast', [{}, { status: 429, retryAfter: date.toUTCString() }, {}]),
    env: { ...LONG_LEASES, SKEW_RATE: '1.05', NODE_OPTIONS: `--import ${SKEW}` },
  })
  const candidates = pagesOf(journey.web, 6)
  await journey.frontier.enqueue(candidates)
  await journey.outcomesOf(candidates.length)
  const { examples } = await journey.audit()
  // A start may come early by what this clock gains while it waits for the last of a delay: 2 ms (docs/promises.md).
  expect(examples.filter(({ offence }) => offence !== 'short-delay')).toEqual([])
})
