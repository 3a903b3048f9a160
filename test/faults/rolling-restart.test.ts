import { type Fleet, startFleet } from '@decorum/cli'
import { afterEach, expect, test } from 'vitest'
import { expectPolite, fleetEnv, type Journey, LONG_LEASES, pagesOf, startJourney } from '../journey/fleet.ts'
import { redisForTest } from '../support/redis.ts'

/** Only what hangs is killed. */
const LIMIT_MS = 120_000
const redis = await redisForTest({ appendonly: true })
let journey: Journey | undefined
const fleets: Fleet[] = []
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.stop(5_000)
  await journey?.close()
})

test('a fleet replaced in mid-crawl by SIGTERM: requests in flight end, nothing is fetched twice, nothing is lost', async () => {
  journey = await startJourney({
    redisUrl: redis.url,
    gateways: 1,
    fetchers: 1,
    env: LONG_LEASES,
    sites: Array.from({ length: 8 }, (_, n) => ({ name: `site-${n}`, robots: { body: '' }, pages: { delayMs: 120 } })),
  })
  const { web, frontier, outcomes } = journey
  const candidates = pagesOf(web, 14)
  await frontier.enqueue(candidates)
  let old: Fleet = journey.fleet
  for (const count of [20, 60]) {
    await journey.outcomesOf(count)
    const next = await startFleet({ env: fleetEnv(redis.url, LONG_LEASES), gateways: 1, fetchers: 1 })
    fleets.push(next)
    expect(await old.stop(LIMIT_MS), 'the old ones drained').toBe(true)
    old = next
  }
  await journey.outcomesOf(candidates.length)

  const report = await expectPolite(journey, candidates)
  expect([...outcomes.values()].flat().filter(({ kind, attempts }) => kind !== 'fetched' || attempts !== 1)).toEqual([])
  expect(report.requests).toBe(candidates.length + 8)
})
