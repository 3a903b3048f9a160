/** `decorum doctor` on a real Redis: what is wrong there is found, and each mend that is a command mends it. */
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { redisForTest } from '../support/redis.ts'
import { decorum } from './decorum.ts'

const redis = await redisForTest()

test('faults of Redis are found with exit code 1, and their mends mend them', async () => {
  const raw = new Redis(redis.url)
  onTestFinished(() => raw.disconnect())
  await raw.config('SET', 'maxmemory-policy', 'allkeys-lru')
  const env = { REDIS_URL: redis.url }
  const look = async () => {
    const { code, stdout } = await decorum(['doctor', '--json', '--host', 'localhost'], { env })
    const { findings } = JSON.parse(stdout) as {
      findings: { check: string; state: string; says: string; mend?: string }[]
    }
    return { code, findings }
  }
  const ill = await look()
  expect(ill.code).toBe(1)
  const bad = ill.findings.filter(({ state }) => state === 'bad')
  expect(bad.map(({ check }) => check).toSorted()).toEqual(['eviction', 'persistence'])
  for (const { mend = '' } of ill.findings.filter(({ mend = '' }) => mend.startsWith('redis-cli CONFIG SET'))) {
    const [name = '', value = ''] = mend.slice('redis-cli CONFIG SET '.length).split(/[\s,:]+/)
    await raw.config('SET', name, value)
  }
  const well = await look()
  expect(well.findings.filter(({ state }) => state === 'bad')).toEqual([])
  expect(well.findings.filter(({ state }) => state === 'warn').map(({ check }) => check)).toEqual(['layout', 'contact'])
  expect(well.findings).toContainEqual({ check: 'DNS', state: 'ok', says: expect.stringContaining('localhost took') })
  expect(well.code).toBe(0)
})
