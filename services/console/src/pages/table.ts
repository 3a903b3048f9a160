/**
 * Tables that become cards on a telephone, with a name before each value. The ARIA roles are explicit because a screen reader does not
 * recognise a table with another layout.
 */
import { type Html, html, type Piece } from './html.ts'

/** `number`: right-aligned, unbroken. `long`: may break anywhere. `name`: identifies the row, without its name on a card. */
export type Columns = Record<string, '' | 'number' | 'long' | 'name'>

/**
 * @param names  of the rows, unique on the page: updates use them to find rows that have moved
 * @param none   in place of a table without rows
 */
export function table(
  label: string,
  columns: Columns,
  rows: readonly (readonly Piece[])[],
  { names = [], none }: { names?: readonly string[]; none?: string } = {},
): Html {
  if (rows.length === 0 && none !== undefined) return html`<p class="none">${none}</p>`
  const heads = Object.entries(columns)
  return html`<table role="table" aria-label="${label}"><thead role="rowgroup"><tr role="row">${heads.map(
    ([head, kind]) => html`<th role="columnheader" scope="col" class="${kind}">${head}</th>`,
  )}</tr></thead><tbody role="rowgroup">${rows.map(
    (cells, row) =>
      html`<tr role="row"${names[row] !== undefined && html` id="row-${encodeURIComponent(names[row])}"`}>${heads.map(
        ([head, kind], n) => html`<td role="cell" data-label="${head}" class="${kind}">${cells[n]}</td>`,
      )}</tr>`,
  )}</tbody></table>`
}
