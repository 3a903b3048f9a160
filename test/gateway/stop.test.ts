/** A gateway that is asked to stop does stop, whether or not Redis is there to hear of it. */
import { main } from '@decorum/gateway'
import { expect, test } from 'vitest'
import { startRedis } from '../support/redis.ts'

test('asked to stop while Redis is away, it ends', async () => {
  const redis = await startRedis()
  const gateway = await main({ REDIS_URL: redis.url, LOG_LEVEL: 'silent', DECORUM_CONTACT: 'https://bot.example/' })
  await redis.kill9()
  await expect(gateway.stop()).resolves.toBeUndefined()
})
