import { readFileSync } from 'node:fs'
import { FAILURES, HOLDING_GATES, INVALIDS, KINDS, REFUSALS } from '@decorum/protocol'
import { expect, test } from 'vitest'
import { OUTCOMES_PAGE, outcomesPage } from './outcomes-page.ts'

test('docs/outcomes.md is what the code prints (node test/protocol/outcomes-page.ts --write)', () => {
  expect(readFileSync(OUTCOMES_PAGE, 'utf8')).toBe(outcomesPage())
})

test('every kind and reason has a meaning and a remedy in whole sentences, and fits a row of a table', () => {
  const all = [KINDS, FAILURES, HOLDING_GATES, INVALIDS, REFUSALS].flatMap((table) => Object.entries(table))
  for (const [name, { means, todo }] of all) {
    for (const text of [means, todo]) {
      expect(text, name).toMatch(/^[A-Z`].*\.$/)
      expect(text, name).not.toContain('|')
    }
  }
})
