import { expect, test } from 'vitest'
import { failOver } from '../storm/failover.ts'
import { SCALED } from '../storm/manners.ts'

test('one failover of each kind under load heals without a restart: no violation, nothing is lost but the last writes of a master', async () => {
  const result = await failOver({ rounds: 1, times: SCALED, sites: 6, each: 1, patienceMs: 120_000 })
  expect(result.broken).toEqual([])
  expect(result.failovers).toHaveLength(6)
  expect(result.requests).toBeGreaterThan(60)
})
