import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectPolite, type Journey, pagesOf, startJourney, TIMES } from '../journey/fleet.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest({ appendonly: true })
const SITES = 8
let journey: Journey
beforeAll(async () => {
  journey = await startJourney({
    redisUrl: redis.url,
    gateways: 2,
    fetchers: 2,
    sites: (['stop', 'kill9'] as const).flatMap((how) =>
      Array.from({ length: SITES }, (_, n) => ({
        name: `site-${how}-${n}`,
        robots: { body: '' },
        announce: true,
        pages: { delayMs: 60 },
      })),
    ),
  })
})
afterAll(() => journey?.close())

test.each(['stop', 'kill9'] as const)(
  'Redis gone in mid-crawl (%s) and back on the same folder: nothing lost, nothing twice, no violation',
  async (how) => {
    const { web, frontier } = journey
    const before = journey.outcomes.size
    const candidates = pagesOf(web, 12).filter(({ id }) => id.startsWith(`site-${how}-`))
    await frontier.enqueue(candidates)
    await journey.outcomesOf(before + 30)
    await redis[how]()
    // Requests under way end; then the sites hear nothing, for nothing new is sent without the ledger.
    await redis.restart()
    await journey.outcomesOf(before + candidates.length)

    await expectPolite(journey, candidates)
    const own = new Set(Object.entries(web.origins).map(([name, origin]) => name.startsWith(`site-${how}-`) && origin))
    const requests = (await web.evidence()).requests.filter(({ origin }) => own.has(origin))
    const inOrder = requests.toSorted((a, b) => a.start - b.start)
    const gaps = inOrder.slice(1).map(({ start, resolution = 0 }, n) => start + resolution - inOrder[n]!.start)
    const longest = Math.max(...gaps)
    expect(
      longest,
      'a Redis that came back grants nothing before lease and quarantine are over',
    ).toBeGreaterThanOrEqual(TIMES.leaseMs + TIMES.quarantineMs - TIMES.deadlineMs)
    // One request may come twice per request that was under way when Redis went.
    expect(requests.length).toBeLessThanOrEqual(candidates.length + SITES + 2 * SITES)
  },
)
