import { afterEach, expect, test } from 'vitest'
import { expectPolite, type Journey, pagesOf, startJourney, TIMES } from '../journey/fleet.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest({ appendonly: true })
let journey: Journey | undefined
afterEach(() => journey?.close())

test.each(['stop', 'kill9'] as const)(
  'Redis gone in mid-crawl (%s) and back on the same folder: nothing lost, nothing twice, no violation',
  async (how) => {
    journey = await startJourney({
      redisUrl: redis.url,
      gateways: 2,
      fetchers: 2,
      sites: Array.from({ length: 8 }, (_, n) => ({
        name: `site-${how}-${n}`,
        robots: { body: '' },
        announce: true,
        pages: { delayMs: 60 },
      })),
    })
    const { web, frontier } = journey
    const candidates = pagesOf(web, 12)
    await frontier.enqueue(candidates)
    await journey.outcomesOf(30)
    await redis[how]()
    // Requests under way end; then the sites hear nothing, for nothing new is sent without the ledger.
    await redis.restart()
    await journey.outcomesOf(candidates.length)

    const report = await expectPolite(journey, candidates)
    const { requests } = await web.evidence()
    const starts = requests.map(({ start }) => start).sort((a, b) => a - b)
    const longest = Math.max(...starts.slice(1).map((start, n) => start - starts[n]!))
    expect(
      longest,
      'a Redis that came back grants nothing before lease and quarantine are over',
    ).toBeGreaterThanOrEqual(TIMES.leaseMs + TIMES.quarantineMs - TIMES.deadlineMs)
    // One request may come twice per request that was under way when Redis went.
    expect(report.requests).toBeLessThanOrEqual(candidates.length + 8 + 2 * 8)
  },
)
