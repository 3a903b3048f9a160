/** Who was started for another number of partitions and is still there ends: a job in his hands would be in nobody's. */
import { type RoleEvent, RoleProcess } from '@decorum/cli'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { fleetEnv } from '../journey/fleet.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()

test('a gateway and a fetcher that know another number of partitions end, and say why', async () => {
  const events: RoleEvent[] = []
  const env = fleetEnv(redis.url, { PORT: '0', FETCH_PROCESSES: '0' })
  const roles = (['gateway', 'fetcher'] as const).map(
    (role) => new RoleProcess({ role, name: role, env, onEvent: (event) => events.push(event) }),
  )
  onTestFinished(() => {
    for (const role of roles) role.kill()
  })
  await Promise.all(roles.map((role) => role.start()))
  const raw = new Redis(redis.url)
  await raw.hset('{decorum:0}:epoch', 'of', '6')
  raw.disconnect()
  for (const name of ['gateway', 'fetcher']) {
    await expect.poll(() => events.some((one) => one.kind === 'died' && one.name === name)).toBe(true)
    const lines = () => events.flatMap((one) => (one.kind === 'line' && one.name === name ? [one.line] : []))
    const why = {
      msg: 'this process cannot go on',
      err: 'this Redis holds 6 partitions now: start again with DECORUM_PARTITIONS=6',
    }
    await expect.poll(lines).toContainEqual(expect.objectContaining(why)) // what it said last may be read after its end
  }
})
