/** A port that was free when it was looked at, and is taken when the role listens. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { RoleProcess } from '@decorum/cli'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()
const taken = createServer().listen(0, '127.0.0.1')
await once(taken, 'listening')
const { port } = taken.address() as AddressInfo

test('a role whose usual port is taken gets another one; one that was given the port ends with a sentence', async () => {
  onTestFinished(() => void taken.close())
  const env = { ...process.env, REDIS_URL: redis.url, DECORUM_ALLOW_ADDRESSES: '127.0.0.0/8', LOG_LEVEL: 'warn' }
  const role = (wish: number | { usual: number }) =>
    new RoleProcess({ role: 'permits', name: 'permits', env, port: wish, onEvent: () => undefined })
  const usual = role({ usual: port })
  onTestFinished(() => usual.kill())
  await usual.start()
  expect(usual.port).not.toBe(port)
  expect(usual.port).toBeGreaterThan(0)
  await expect(role(port).start()).rejects.toThrow(`port ${port} of 127.0.0.1 is in use`)
})
