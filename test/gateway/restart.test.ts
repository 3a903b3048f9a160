/** A gateway that was killed and is started again goes on where it was, and reads nothing that grows with what waits. */
import { RoleProcess } from '@decorum/cli'
import { MAX_ITEMS } from '@decorum/ledger'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { commandBook } from './support/command-book.ts'
import { handFetcher } from './support/hand-fetcher.ts'

const redis = await redisForTest()
const LANES = 20_000

test('killed and started again with 20,000 lanes waiting: orders at once, after a few bounded commands', async () => {
  const fetcher = await handFetcher(redis.url, 1, 10)
  onTestFinished(() => fetcher.close())
  const orders: string[] = []
  fetcher.each(({ origin }) => orders.push(origin))
  for (let from = 0; from < LANES; from += MAX_ITEMS) {
    const items = Array.from({ length: MAX_ITEMS }, (_, i) => {
      const pending = {
        id: `${from + i}`,
        path: '/',
        expiresAt: Date.now() + 3_600_000,
        hops: 0,
        priority: 'normal' as const,
      }
      return { lane: { agent: 'decorum', origin: `http://h${from + i}.example` }, pending }
    })
    await fetcher.ledger.store(0, items)
  }
  const killed = await startGateway()
  await expect.poll(() => orders.length).toBe(20) // twice the slots, and nobody begins them: their reservations are long
  killed.kill()
  await expect.poll(() => killed.pid).toBeUndefined()

  await fetcher.ledger.announce({ role: 'fetcher', id: 'another', slots: 10 }, 600_000)
  const book = await commandBook(redis.url)
  onTestFinished(() => book.close())
  await startGateway()
  await expect.poll(() => orders.length, { interval: 5 }).toBeGreaterThan(20)
  expect(new Set(orders).size).toBe(orders.length)
  expect(book.unbounded()).toEqual([])
  expect(book.count).toBeLessThan(1_000)
})

async function startGateway(): Promise<RoleProcess> {
  const env = {
    ...process.env,
    REDIS_URL: redis.url,
    DECORUM_CONTACT: 'https://bot.example/',
    LOG_LEVEL: 'silent',
    LEASE_MS: '600000',
    RESERVE_MS: '600000',
    PORT: '0',
  }
  const gateway = new RoleProcess({ role: 'gateway', name: 'gateway', env, onEvent: () => undefined })
  await gateway.start()
  onTestFinished(async () => void (await gateway.stop(5_000)))
  return gateway
}
