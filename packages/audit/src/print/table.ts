/** Prints columns as wide as needed, numbers aligned right, all others left. Colour codes do not count as width. */
import { stripVTControlCharacters as bare, styleText } from 'node:util'

export function table(rows: string[][]): string {
  const isNumber = (column: number): boolean =>
    rows.slice(1).every((row) => /^(?:[-–\d.,]+|< 0)$/.test(bare(row[column] ?? '')))
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => bare(row[column] ?? '').length)))
  const right = widths.map((_, column) => isNumber(column))
  return rows
    .map((row, index) => {
      const cells = row.map((cell, column) => {
        const room = ' '.repeat((widths[column] ?? 0) - bare(cell).length)
        return right[column] ? room + cell : cell + room
      })
      const text = cells.join('  ').trimEnd()
      return index === 0 ? styleText('bold', text) : text
    })
    .join('\n')
}
