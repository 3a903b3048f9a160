import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { STATES_PAGE, statesPage } from './states-page.ts'

test('docs/states.md is what the code prints (node test/robots/states-page.ts --write)', () => {
  expect(readFileSync(STATES_PAGE, 'utf8')).toBe(statesPage())
})
