/** A crawl is cancelled while gateways and fetchers are killed: each of its URLs ends once, and another crawl goes on as before. */
import { openFrontier } from '@decorum/client'
import { openLedger } from '@decorum/ledger'
import type { Outcome } from '@decorum/protocol'
import { afterEach, expect, test } from 'vitest'
import { expectPolite, type Journey, pagesOf, startJourney, TIMES } from '../journey/fleet.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest({ appendonly: true })
let journey: Journey | undefined
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  await journey?.close()
})

test('cancelled under kills: one outcome each, none lost; what stays is fetched, and no site sees a violation', async () => {
  journey = await startJourney({
    redisUrl: redis.url,
    gateways: 2,
    fetchers: 2,
    sites: Array.from({ length: 6 }, (_, n) => ({
      name: `site-${n}`,
      robots: { body: 'User-agent: *\nDisallow: /no' },
    })),
  })
  const { web, fleet, frontier } = journey
  const gone = await openFrontier({ redis: redis.url, crawl: 'gone', patienceMs: 30_000 })
  closing.push(() => gone.close())
  const ledger = await openLedger({
    redis: redis.url,
    partitions: 1,
    leaseMs: TIMES.leaseMs,
    quarantineMs: TIMES.quarantineMs,
  })
  closing.push(() => ledger.close())
  const ended = new Map<string, Outcome[]>()
  const collecting = (async () => {
    for await (const { outcome, ack } of gone.outcomes({ group: 'gone' })) {
      ended.set(outcome.id, [...(ended.get(outcome.id) ?? []), outcome])
      await ack()
    }
  })()
  closing.unshift(async () => {
    await gone.close()
    await collecting
  })

  const stays = pagesOf(web, 8)
  const cancelled = pagesOf(web, 800).map((one) => ({ ...one, url: one.url.replace('/page', '/gone') })) // under the same ids
  await gone.enqueue(cancelled)
  await frontier.enqueue(stays)
  await expect.poll(() => ended.size).toBeGreaterThan(10)

  const kill = (role: 'gateway' | 'fetcher', at: number): void => {
    const pid = fleet.of(role)[at]?.pid
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  }
  kill('fetcher', 0)
  await ledger.changeCrawl({ name: 'gone', change: { state: 'cancelled' }, by: 'test', reason: 'a test' })
  for (const [count, role, at] of [
    [300, 'gateway', 0],
    [1_000, 'gateway', 1],
    [2_500, 'gateway', 0],
  ] as const) {
    await expect.poll(() => ended.size).toBeGreaterThan(count)
    kill(role, at)
  }
  kill('fetcher', 1)
  await expect.poll(() => ended.size).toBe(cancelled.length)
  await journey.outcomesOf(stays.length)

  expect([...ended.values()].filter((list) => list.length !== 1)).toEqual([])
  const kinds = Map.groupBy([...ended.values()].flat(), (one) => ('reason' in one ? one.reason : one.kind))
  expect([...kinds.keys()].sort()).toEqual(['cancelled', 'fetched'])
  expect(kinds.get('cancelled')?.length).toBeGreaterThan(cancelled.length / 2)
  await expectPolite(journey, stays)
  await expect.poll(async () => (await ledger.crawls(['gone']))[0]?.waiting).toBe(0)
})
