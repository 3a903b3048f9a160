/** The table of faults to be put back fits the code: their search takes an hour (main.ts). */
import { expect, test } from 'vitest'
import { MUTANTS } from '../../ledger/model/mutants.ts'
import { changed } from './hook.ts'
import { FAULTS } from './table.ts'

test.each(FAULTS.map((fault) => [fault.name, fault] as const))('%s', (_, fault) => {
  if ('file' in fault) expect(changed(fault)).toContain(fault.put)
  else expect(MUTANTS.map(({ name }) => name)).toContain(fault.mutant)
})

test('no two have one name', () => {
  expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length)
})
