/** A storm smaller and denser than the short form, which is `npm run storm`; figures of that and of the long form are in docs/promises.md. */
import { expect, test } from 'vitest'
import { testedForm } from '../storm/forms.ts'
import { printVerdict } from '../storm/print-verdict.ts'
import { storm } from '../storm/storm.ts'

const SEED = Number(process.env.DECORUM_SEED ?? Date.now() % 1_000_000)

test('kills, freezes, Redis restarts, hurt links, wrong clocks and changed configurations: every promise is kept', async () => {
  const result = await storm(testedForm(SEED))
  console.log(`seed ${SEED} (again: DECORUM_SEED=${SEED})\n${printVerdict(result)}`)
  const { faults } = result.facts
  const { verdict, holders, missing } = result
  expect(verdict.broken).toEqual([])
  expect(holders.inLine.outOfOrder).toBe(0)
  // A storm that was none would prove nothing.
  expect(missing, 'kinds of fault and of exchange that it had none of').toEqual([])
  expect(verdict.report.requests).toBeGreaterThanOrEqual(500)
  expect(faults.kills.length).toBeGreaterThanOrEqual(10)
  expect(faults.freezes.length).toBeGreaterThanOrEqual(4)
})
