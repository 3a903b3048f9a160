/** The short form of the storm; the long one is `npm run storm`. Its figures are in docs/promises.md. */
import { expect, test } from 'vitest'
import { shortForm } from '../storm/forms.ts'
import { printVerdict } from '../storm/print-verdict.ts'
import { storm } from '../storm/storm.ts'

const SEED = Number(process.env.DECORUM_SEED ?? Date.now() % 1_000_000)

test('ninety seconds of kills, freezes, Redis restarts, hurt links, wrong clocks and changed configurations: every promise is kept', async () => {
  const result = await storm(shortForm(SEED))
  console.log(`seed ${SEED} (again: DECORUM_SEED=${SEED})\n${printVerdict(result)}`)
  const { faults } = result.facts
  const { verdict, holders } = result
  expect(verdict.broken).toEqual([])
  expect(holders.inLine.outOfOrder).toBe(0)
  // A storm that was none would prove nothing.
  expect(verdict.report.requests).toBeGreaterThanOrEqual(5_000)
  expect(faults.kills.length).toBeGreaterThanOrEqual(60)
  expect(faults.freezes.length).toBeGreaterThanOrEqual(6)
  expect(faults.outages.length).toBeGreaterThanOrEqual(2)
  expect(faults.configs.length).toBeGreaterThanOrEqual(1)
  for (const [mode, exchanges] of Object.entries(holders.exchanges)) expect(exchanges, mode).toBeGreaterThan(0)
  expect(holders.inLine.granted).toBeGreaterThanOrEqual(5)
  expect(faults.outages.filter(({ lostBytes }) => lostBytes > 0).length).toBeGreaterThanOrEqual(1)
})
