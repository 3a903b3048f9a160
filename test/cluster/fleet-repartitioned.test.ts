/** The number of partitions of a fleet that has work: fleet stopped, `decorum ledger partitions N`, fleet started; the frontier stays. */
import { type Fleet, startFleet } from '@decorum/cli'
import { afterAll, expect, test } from 'vitest'
import { decorum } from '../cli/decorum.ts'
import { expectPolite, fleetEnv, type Journey, LONG_LEASES, pagesOf, startJourney } from '../journey/fleet.ts'
import { startCluster } from '../support/cluster.ts'

const SITES = 16
/** Only what hangs is killed. */
const LIMIT_MS = 120_000
const cluster = await startCluster()
let journey: Journey | undefined
let later: Fleet | undefined
afterAll(async () => {
  await later?.stop(5_000)
  await journey?.close()
  await cluster.stop()
})

test('two partitions become six and then three under a frontier that goes on: nothing lost, nothing twice, no delay short', async () => {
  const settings = (partitions: number) => ({
    ...LONG_LEASES,
    DECORUM_PARTITIONS: String(partitions),
    RESERVE_MS: '1000',
  })
  journey = await startJourney({
    redisUrl: cluster.url,
    sites: Array.from({ length: SITES }, (_, n) => ({
      name: `site-${n}`,
      // Long enough to be short after a change, if a clock were lost.
      robots: { body: 'User-agent: *\nCrawl-delay: 0.3' },
      pages: { delayMs: 10 },
    })),
    env: settings(2),
  })
  const { fleet, frontier, web } = journey
  const all = pagesOf(web, 9)
  const pour = (from: number, to: number) => frontier.enqueue(all.slice(from, to))
  await pour(0, 80)
  await journey.outcomesOf(30)
  expect(await fleet.stop(LIMIT_MS), 'drained').toBe(true)

  const change = async (to: number) => {
    const env = { ...fleetEnv(cluster.url, LONG_LEASES), REDIS_URL: cluster.url }
    const ran = await decorum(['ledger', 'partitions', String(to), '--json'], { env })
    expect(ran, ran.stderr).toMatchObject({ code: 0 })
    return JSON.parse(ran.stdout) as { from: number; to: number; lanes: number; urls: number; retired: string[] }
  }
  await pour(80, 95) // by a frontier that knows two
  expect(await change(6)).toMatchObject({ from: 2, to: 6, retired: [] })
  await pour(95, 110) // still
  later = await startFleet({ env: fleetEnv(cluster.url, settings(6)), gateways: 1, fetchers: 1 })
  await journey.outcomesOf(60)
  expect(await later.stop(LIMIT_MS)).toBe(true)

  expect(await change(3)).toMatchObject({ from: 6, to: 3 })
  await pour(110, all.length)
  later = await startFleet({ env: fleetEnv(cluster.url, settings(3)), gateways: 1, fetchers: 1 })
  await journey.outcomesOf(all.length)
  const report = await expectPolite(journey, all)
  expect(report.requests).toBe(all.length + SITES)
})
