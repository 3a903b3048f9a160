import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { expectPolite, type Journey, LONG_LEASES, pagesOf, startJourney } from '../journey/fleet.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
let journey: Journey | undefined
afterEach(() => journey?.close())

const HOUR = 3_600_000
const SKEW = fileURLToPath(new URL('skew.mjs', import.meta.url))

test.each([HOUR, -HOUR])('a fleet whose clocks are off by %i ms keeps every promise', async (off) => {
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

  for (const [outcome] of outcomes.values()) {
    if (outcome?.kind !== 'fetched') throw new Error(`${outcome?.url}: ${outcome?.kind}`)
    expect(Math.abs(outcome.startedAt - Date.now() - off), 'the skew is really there').toBeLessThan(HOUR / 2)
  }
  const report = await expectPolite(journey, candidates)
  expect(report.statuses).toMatchObject({ 429: expect.any(Number), 503: 6 })
  expect(report.lanes.every(({ delayMs }) => delayMs.most === 300)).toBe(true)
})
