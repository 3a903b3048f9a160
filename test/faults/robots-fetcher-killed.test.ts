import { afterEach, expect, test } from 'vitest'
import { expectPolite, type Journey, LONG_LEASES, pagesOf, startJourney, TIMES } from '../journey/fleet.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest({ appendonly: true })
/** Clocks of two processes agree that well, ms. */
const CLOCKS_MS = 10
let journey: Journey | undefined
afterEach(() => journey?.close())

test('a fetcher killed during a robots fetch: no other request to the origin meanwhile, and one other fetcher repeats it', async () => {
  journey = await startJourney({
    redisUrl: redis.url,
    gateways: 1,
    fetchers: 2,
    env: LONG_LEASES, // the fetch must not end by itself before the kill
    sites: [
      { name: 'asked', robots: [{ instead: 'never' }, { body: 'User-agent: *\nDisallow: /page-1' }], announce: true },
    ],
  })
  const { web, fleet, frontier, outcomes } = journey
  const candidates = pagesOf(web, 4)
  const before = Date.now()
  await frontier.enqueue(candidates)
  await web.heard(({ kind, path }) => kind === 'began' && path === '/robots.txt')
  // Whichever of the two holds the question: both end, and both are started again by their parent.
  for (const { pid } of fleet.of('fetcher')) process.kill(pid!, 'SIGKILL')
  await journey.outcomesOf(candidates.length)

  const report = await expectPolite(journey, candidates)
  expect(report.robotsFetches).toMatchObject({ all: 2, most: 2 })
  expect(outcomes.get('asked/1')).toMatchObject([{ kind: 'disallowed', line: 2 }])
  const { requests } = await web.evidence()
  const [, second] = requests.filter(({ path }) => path === '/robots.txt')
  // Its lease began after `before`, and may have begun long before the site heard the first request.
  const apart = second!.start + (second!.resolution ?? 0) - before
  expect(apart).toBeGreaterThanOrEqual(Number(LONG_LEASES.LEASE_MS) + TIMES.quarantineMs - CLOCKS_MS)
})
