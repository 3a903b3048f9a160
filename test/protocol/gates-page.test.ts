import { readFileSync } from 'node:fs'
import { GATE_TABLE, type GateRow, MOMENTS, type Moment, WHATS, type What } from '@decorum/protocol/gates'
import { expect, test } from 'vitest'
import { GATES_PAGE, gatesPage } from './gates-page.ts'

test('docs/gates.md is what the code prints (node test/protocol/gates-page.ts --write)', () => {
  expect(readFileSync(GATES_PAGE, 'utf8')).toBe(gatesPage())
})

test('every cell of the table of gates counts or has a reason that fits a row of a table', () => {
  for (const [gate, row] of Object.entries(GATE_TABLE) as [string, GateRow][]) {
    for (const text of [row.means, row.lane, row.wakes]) expect(text, gate).not.toMatch(/\||^$/)
    for (const moment of Object.keys(MOMENTS) as Moment[])
      for (const what of Object.keys(WHATS) as What[]) {
        const cell = row[moment][what]
        expect(cell === true || cell.length > 10, `${gate} × ${what} × ${moment}`).toBe(true)
      }
  }
})
