/**
 * Tables that become cards on a telephone, with a name before each value. The ARIA roles are explicit because a screen reader does not
 * recognise a table with another layout.
 */
import { count } from '../words.ts'
import { type Html, html, type Piece } from './html.ts'

/** `number`: right-aligned, unbroken. `long`: may break anywhere. `name`: identifies the row, without its name on a card. */
export type Columns = Record<string, '' | 'number' | 'long' | 'name'>

export type TableOptions = {
  /** names of the rows, unique on the page: updates use them to find rows that have moved */
  names?: readonly string[]
  /** text in place of a table without rows */
  none?: string
  /** number of rows that are visible at once; the others are folded */
  shown?: number
}

/** @param rows  cells in the order of the columns; an undefined cell is a dash, and is left out of a card */
export function table(
  label: string,
  columns: Columns,
  rows: readonly (readonly Piece[])[],
  { names = [], none, shown = rows.length }: TableOptions = {},
): Html {
  if (rows.length === 0 && none !== undefined) return html`<p class="none">${none}</p>`
  const heads = Object.entries(columns)
  const cell = (value: Piece, [head, kind]: [string, string]): Html =>
    value === undefined
      ? html`<td role="cell" data-label="${head}" class="${kind} absent">–</td>`
      : html`<td role="cell" data-label="${head}" class="${kind}">${value}</td>`
  const part = (name: string, from: number, to?: number): Html =>
    html`<table role="table" aria-label="${name}"><thead role="rowgroup"><tr role="row">${heads.map(
      ([head, kind]) => html`<th role="columnheader" scope="col" class="${kind}">${head}</th>`,
    )}</tr></thead><tbody role="rowgroup">${rows
      .slice(from, to)
      .map(
        (cells, row) =>
          html`<tr role="row"${names[from + row] !== undefined && html` id="row-${encodeURIComponent(names[from + row] ?? '')}"`}>${heads.map((head, n) => cell(cells[n], head))}</tr>`,
      )}</tbody></table>`
  if (rows.length <= shown) return part(label, 0)
  return html`${part(label, 0, shown)}<details class="rest"><summary>${count(rows.length - shown)} more</summary>${part(`${label}, the rest`, shown)}</details>`
}
