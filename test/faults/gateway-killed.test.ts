import { afterEach, expect, test } from 'vitest'
import { expectPolite, type Journey, LONG_LEASES, pagesOf, startJourney } from '../journey/fleet.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest({ appendonly: true })
let journey: Journey | undefined
afterEach(() => journey?.close())

test('gateways killed in mid-crawl, one after the other: nothing lost, nothing fetched twice, no violation', async () => {
  journey = await startJourney({
    redisUrl: redis.url,
    gateways: 2,
    fetchers: 1,
    env: LONG_LEASES,
    sites: Array.from({ length: 8 }, (_, n) => ({
      name: `site-${n}`,
      robots: { body: 'User-agent: *\nDisallow: /no' },
    })),
  })
  const { web, fleet, frontier, outcomes } = journey
  const candidates = pagesOf(web, 20)
  await frontier.enqueue(candidates)
  for (const [count, gateway] of [
    [20, 0],
    [60, 1],
    [100, 0],
  ] as const) {
    await journey.outcomesOf(count)
    const { pid } = fleet.of('gateway')[gateway]!
    if (pid !== undefined) process.kill(pid, 'SIGKILL') // undefined: it has not come back from the last time
  }
  await journey.outcomesOf(candidates.length)

  const report = await expectPolite(journey, candidates)
  expect([...outcomes.values()].flat().filter(({ kind, attempts }) => kind !== 'fetched' || attempts !== 1)).toEqual([])
  expect(report.requests).toBe(candidates.length + 8)
  expect(report.robotsFetches).toMatchObject({ all: 8, most: 1 })
})
