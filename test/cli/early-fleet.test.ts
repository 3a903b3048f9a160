/** Processes of a fleet that are started before their settings are known. */
import type { RoleEvent } from '@decorum/cli'
import { earlyFleet } from '@decorum/cli/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import { fleetEnv } from '../journey/fleet.ts'
import { childrenOf } from '../storm/worker.ts'
import { redisForTest } from '../support/redis.ts'

const redis = await redisForTest()

test('they go by the settings that they are told, and by no others; they drain and end as others do', async () => {
  vi.stubEnv('LOG_LEVEL', 'nonsense') // of the process that starts them
  onTestFinished(() => void vi.unstubAllEnvs())
  const events: RoleEvent[] = []
  const early = earlyFleet({ gateways: 1, fetchers: 1, console: true })
  const fleet = await early.begin(fleetEnv(redis.url), (event) => events.push(event))
  onTestFinished(() => fleet.kill())
  expect(fleet.members.map(({ name, port }) => [name, port > 0])).toEqual([
    ['gateway-1', true],
    ['fetcher-1', true],
    ['console', true],
  ])
  expect(events.filter(({ kind }) => kind === 'ready')).toHaveLength(3)
  expect(await fleet.stop()).toBe(true)
})

test('wrong settings are told in the same words as without an early start', async () => {
  const begin = earlyFleet({ gateways: 0, fetchers: 1 }).begin(
    fleetEnv(redis.url, { FETCH_CONCURRENCY: '0' }),
    () => {},
  )
  await expect(begin).rejects.toMatchObject({
    name: 'RoleStartError',
    exitCode: 2,
    message: expect.stringContaining('FETCH_CONCURRENCY'),
  })
})

test('the processes of a fleet that is not needed end', async () => {
  const before = childrenOf(process.pid)
  const early = earlyFleet({ gateways: 1, fetchers: 1 })
  const started = () => childrenOf(process.pid).filter((pid) => !before.includes(pid))
  expect(started()).toHaveLength(2)
  early.cancel()
  await expect(early.begin(fleetEnv(redis.url), () => {})).rejects.toThrow('the fleet is not needed')
  await expect.poll(started).toEqual([])
})
