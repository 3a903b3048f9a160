/**
 * Tables that become cards on a telephone, with a name before each value. The ARIA roles are explicit because a screen reader does not
 * recognise a table with another layout.
 */
import { type Html, html, type Piece } from './html.ts'

/** `number`: right-aligned, unbroken. `long`: may break anywhere. `name`: identifies the row, without its name on a card. */
export type Column = string | readonly [head: string, kind: 'number' | 'long' | 'name']

/** @param names  of the rows, unique on the page: updates use them to find rows that have moved */
export function table(
  label: string,
  columns: readonly Column[],
  rows: readonly (readonly Piece[])[],
  names: readonly string[] = [],
): Html {
  const heads = columns.map((column) => (typeof column === 'string' ? ([column, ''] as const) : column))
  return html`<table role="table" aria-label="${label}"><thead role="rowgroup"><tr role="row">${heads.map(
    ([head, kind]) => html`<th role="columnheader" scope="col"${kindOf(kind)}>${head}</th>`,
  )}</tr></thead><tbody role="rowgroup">${rows.map(
    (cells, row) =>
      html`<tr role="row"${idOf(names[row])}>${heads.map(
        ([head, kind], n) => html`<td role="cell" data-label="${head}"${kindOf(kind)}>${cells[n]}</td>`,
      )}</tr>`,
  )}</tbody></table>`
}

const idOf = (name: string | undefined): Html | undefined =>
  name === undefined ? undefined : html` id="row-${encodeURIComponent(name)}"`
const kindOf = (kind: string): Html | undefined => (kind === '' ? undefined : html` class="${kind}"`)
