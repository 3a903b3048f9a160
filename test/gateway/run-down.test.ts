/** Lanes that have run empty are swept aside by whoever takes: they must not keep those behind them waiting. */
import { main } from '@decorum/gateway'
import { MAX_ITEMS, type ReservedLane, type Resolution } from '@decorum/ledger'
import { expect, test, vi } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { handFetcher } from './support/hand-fetcher.ts'

const redis = await redisForTest()
const LANES = 2_000

test('a fleet of one slot finds the lane with work behind two thousand that have run down', async () => {
  const fetcher = await handFetcher(redis.url, 1, 1)
  const { ledger } = fetcher
  const store = (origins: string[]) =>
    ledger.store(
      0,
      origins.map((origin) => {
        const pending = {
          id: origin,
          path: '/',
          expiresAt: Date.now() + 3_600_000,
          hops: 0,
          priority: 'normal' as const,
        }
        return { lane: { agent: 'decorum', origin }, pending }
      }),
    )
  const { holdUntil = 0, now } = await ledger.viewPartition(0)
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, holdUntil - now)))
  const taken: ReservedLane[] = []
  for (let at = 0; at < LANES; at += MAX_ITEMS) {
    await store(Array.from({ length: MAX_ITEMS }, (_, i) => `http://empty-${at + i}.example`))
    const some = await ledger.reserve(0, { limit: MAX_ITEMS, aheadMs: 0, inFlightLimit: LANES, peek: 1 })
    if (some.kind === 'wait') throw new Error(some.why)
    taken.push(...some.lanes)
  }
  for (let at = 0; at < LANES; at += MAX_ITEMS) {
    const words = taken.slice(at, at + MAX_ITEMS).map(({ agent, origin, fence, urls }): Resolution => {
      const gone = { id: urls[0]?.id ?? '', url: origin, agent, at: 0, attempts: 0 }
      return {
        agent,
        origin,
        fence,
        dropped: [{ ...gone, kind: 'expired', reason: 'lane-busy' }],
        next: { kind: 'release' },
      }
    })
    await ledger.resolve(0, words)
  }
  await store(['http://full.example'])
  expect((await ledger.viewPartition(0)).lanes).toBe(LANES + 1)

  const gateway = await main({ REDIS_URL: redis.url, DECORUM_CONTACT: 'https://bot.example/', LOG_LEVEL: 'silent' })
  const timers = vi.spyOn(globalThis, 'setTimeout')
  expect(await fetcher.next()).toMatchObject({ kind: 'robots', origin: 'http://full.example' })
  // Two lanes are looked at in each round, so a pause after every round would be a thousand short timers.
  const pauses = timers.mock.calls.filter(([, ms]) => ms !== undefined && ms > 0 && ms <= 10)
  timers.mockRestore()
  expect(pauses.length).toBeLessThan(LANES / 10)
  await gateway.stop()
  await fetcher.close()
})
