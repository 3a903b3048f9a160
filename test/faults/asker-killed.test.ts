import { afterEach, expect, test } from 'vitest'
import { expectPolite, type Journey, pagesOf, startJourney, TIMES } from '../journey/fleet.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest({ appendonly: true })
let journey: Journey | undefined
afterEach(() => journey?.close())

test('a fetcher killed during a robots fetch: no other request to the origin meanwhile, and one other fetcher repeats it', async () => {
  journey = await startJourney({
    redisUrl: redis.url,
    gateways: 1,
    fetchers: 2,
    sites: [
      { name: 'asked', robots: [{ instead: 'never' }, { body: 'User-agent: *\nDisallow: /page-1' }], announce: true },
    ],
  })
  const { web, fleet, frontier, outcomes } = journey
  const candidates = pagesOf(web, 4)
  await frontier.enqueue(candidates)
  await web.heard(({ kind, path }) => kind === 'began' && path === '/robots.txt')
  // Whichever of the two holds the question: both end, and both are started again by their parent.
  for (const { pid } of fleet.of('fetcher')) process.kill(pid!, 'SIGKILL')
  await journey.outcomesOf(candidates.length)

  const report = await expectPolite(journey, candidates)
  expect(report.robotsFetches).toMatchObject({ all: 2, most: 2 })
  expect(outcomes.get('asked/1')).toMatchObject([{ kind: 'disallowed', line: 2 }])
  const { requests } = await web.evidence()
  const [first, second] = requests.filter(({ path }) => path === '/robots.txt')
  expect(second!.start - first!.start).toBeGreaterThanOrEqual(TIMES.leaseMs + TIMES.quarantineMs - 100)
})
