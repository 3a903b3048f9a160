import { afterEach, expect, test } from 'vitest'
import { expectPolite, type Journey, LONG_LEASES, pagesOf, startJourney, TIMES } from '../journey/fleet.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest({ appendonly: true })
/** The ledger counts whole milliseconds. */
const ROUNDED_MS = 5
let journey: Journey | undefined
afterEach(() => journey?.close())

test('a fetcher killed in mid-request: its URL is fetched again, once, after lease and quarantine', async () => {
  journey = await startJourney({
    redisUrl: redis.url,
    gateways: 1,
    // As the product comes: the killed supervisor takes its fetching process with it. The request must not end by itself before the kill.
    env: { ...LONG_LEASES, FETCH_PROCESSES: '1' },
    fetchers: 1, // so that the one to be killed is the one that holds the request; it is started again by its parent
    sites: [
      { name: 'held', robots: { body: '' }, paths: { '/page-2': [{ instead: 'never' }, {}] }, announce: true },
      { name: 'other', robots: { body: '' } },
    ],
  })
  const { web, fleet, frontier } = journey
  const candidates = pagesOf(web, 6)
  // The other site's pages have ended before, so that the held request alone is in flight at the kill.
  await frontier.enqueue(candidates.filter(({ id }) => id.startsWith('other/')))
  await journey.outcomesOf(candidates.length / 2)
  await frontier.enqueue(candidates.filter(({ id }) => id.startsWith('held/')))
  await web.heard(({ kind, path }) => kind === 'began' && path === '/page-2')
  const [victim] = fleet.of('fetcher')
  process.kill(victim!.pid!, 'SIGKILL')
  await web.heard(({ kind, path, cut }) => kind === 'ended' && path === '/page-2' && cut === true)
  await journey.outcomesOf(candidates.length)

  const report = await expectPolite(journey, candidates)
  expect(journey.outcomes.get('held/2')).toMatchObject([{ kind: 'fetched', status: 200, attempts: 2 }])
  const { requests } = await web.evidence()
  const tries = requests.filter(({ origin, path }) => origin === web.origins.held && path === '/page-2')
  expect(tries.map(({ status }) => status)).toEqual([0, 200])
  const [first, second] = tries
  // The lease began after the delay that follows the page before, and ends by itself; the site may have heard the request long after that.
  const before = requests.findLast(({ origin, start }) => origin === web.origins.held && start < first!.start)
  const apart = second!.start + (second!.resolution ?? 0) - before!.end - TIMES.delayMs
  expect(apart).toBeGreaterThanOrEqual(Number(LONG_LEASES.LEASE_MS) + TIMES.quarantineMs - ROUNDED_MS)
  // Every other page came once.
  expect(report.requests).toBe(candidates.length + 2 + 1)
})
