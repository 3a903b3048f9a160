import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { expectPolite, type Journey, pagesOf, startJourney, TIMES } from '../journey/fleet.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
let journey: Journey | undefined
afterEach(async () => {
  process.kill(redis.pid, 'SIGCONT')
  await journey?.close()
})

/** Longer than a lease and its quarantine: whatever was out when it began has ended for the ledger when it is over. */
const HANGS_MS = TIMES.leaseMs + TIMES.quarantineMs + 1_000

test('a Redis that hangs without closing a connection: sites get only the requests that were in flight, nothing is lost', async () => {
  journey = await startJourney({
    redisUrl: redis.url,
    gateways: 2,
    fetchers: 2,
    sites: Array.from({ length: 8 }, (_, n) => ({ name: `site-${n}`, robots: { body: '' }, pages: { delayMs: 60 } })),
  })
  const { web, frontier } = journey
  const candidates = pagesOf(web, 12)
  await frontier.enqueue(candidates)
  await journey.outcomesOf(30)
  process.kill(redis.pid, 'SIGSTOP')
  const frozenAt = Date.now()
  await sleep(HANGS_MS)
  const thawedAt = Date.now()
  process.kill(redis.pid, 'SIGCONT')
  await journey.outcomesOf(candidates.length)

  const report = await expectPolite(journey, candidates)
  const { requests } = await web.evidence()
  // What had been granted just before may still be on its way to the site: one request of each lane, and no other after it.
  const during = requests.filter(({ start, resolution = 0 }) => start > frozenAt && start + resolution < thawedAt)
  const twice = during.filter(({ origin }, n) => during.findIndex((one) => one.origin === origin) < n)
  expect(twice, 'requests that nobody can have been granted').toEqual([])
  expect(report.requests, 'at most one more per lane').toBeLessThanOrEqual(candidates.length + 8 + 8)
})
