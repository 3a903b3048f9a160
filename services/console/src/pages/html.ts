/**
 * HTML by tagged template: every value is escaped, unless it came from the same template; characters that would change the direction of
 * the surrounding text are shown as an escape.
 */
import { printable } from '@decorum/protocol'

/** Media type of a page. */
export const HTML = 'text/html; charset=utf-8'

export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type Piece = string | number | Html | undefined | false | Piece[]

/** Markup as written, values escaped; arrays are joined, `undefined` and `false` vanish. */
export function html(markup: TemplateStringsArray, ...values: Piece[]): Html {
  return new Html(markup.map((text, i) => text + (i < values.length ? render(values[i]) : '')).join(''))
}

/** Shows text between backticks as code, as Markdown does. */
export const withCode = (text: string): Html =>
  html`${text.split('`').map((part, n) => (n % 2 === 1 ? html`<code>${part}</code>` : part))}`

function render(value: Piece): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(render).join('')
  return printable(String(value)).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
}
