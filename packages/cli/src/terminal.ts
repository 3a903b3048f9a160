/**
 * The only code of this command that writes to stdout and stderr. No control character reaches the terminal: line breaks are kept,
 * every other character that is not printable is shown as an escape. A test checks that no other file of this package writes
 * there.
 */
import { printable, printableJson } from '@decorum/protocol/printable'

export type Terminal = NodeJS.WriteStream

/** Prints a text for people and a line break. It may have several lines; pass text from sites through `printable` first. */
export function printText(text: string, to: Terminal = process.stdout): void {
  to.write(`${shown(text)}\n`)
}

/** Like `printText`, but on stderr, for everything that is not the command's result. */
export const warn = (text: string): void => printText(text, process.stderr)

/** Reports progress on stderr, the first at once, and then one line a second. */
export function onceASecond<T>(lineOf: (now: T) => string): (now: T) => void {
  let next = 0
  return (now) => {
    if (performance.now() < next) return
    next = performance.now() + 1_000
    warn(lineOf(now))
  }
}

/** Prints text with the colours of `styleText`. Pass text from sites through `printable` first. */
export function printStyled(text: string, to: Terminal = process.stdout): void {
  to.write(shownStyled(text))
}

/** Replaces the line in which the cursor is. */
export function rewriteLine(text: string, to: Terminal): void {
  to.write(`\r\u001b[2K${shownStyled(text)}`)
}

/** One line of JSON, exact, with every character escaped that a terminal might interpret. */
export function printJson(value: unknown, space?: number): void {
  process.stdout.write(`${printableJson(value, space)}\n`)
}

/** Prints the result of a command: for programs with --json, else for people. */
export const printResult = (json: boolean | undefined, value: unknown, text: string): void =>
  json ? printJson(value) : printText(text)

/** Rows of cells as lines, each column as wide as its longest cell. */
export function columns(rows: readonly string[][]): string[] {
  const widthOf = (column: number) => Math.max(...rows.map((row) => [...(row[column] ?? '')].length))
  const widths = rows[0]?.map((_, column) => widthOf(column)) ?? []
  const line = (row: string[]) => row.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join('  ')
  return rows.map((row) => line(row).trimEnd())
}

/** One line of JSON as `printJson` writes it. */
export const jsonLine = (value: unknown): string => `${printableJson(value)}\n`

/** Prints lines made by `jsonLine`: resolves when the pipe or terminal has accepted them. */
export function writeLines(lines: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(lines, (error) => (error ? reject(error) : resolve()))
  })
}

/** The lines of a text as a terminal shows them. */
export const shown = (text: string): string => text.split('\n').map(printable).join('\n')

/** The escape sequences of `styleText` that this command uses: bold, dim, red, green, and their ends. */
const ESCAPE = '\u001b'
const STYLE = new RegExp(`(${ESCAPE}\\[(?:1|2|22|31|32|33|39)m)`)

function shownStyled(text: string): string {
  const pieces = text.split(STYLE)
  return pieces.map((piece, n) => (n % 2 === 1 ? piece : shown(piece))).join('')
}

const CLEAR_SCREEN = '\u001b[?1049h\u001b[?25l\u001b[H\u001b[2J'

/** Draws lines with the colours of `styleText` on the alternate screen of a terminal. */
export function drawScreen(lines: string[], to: Terminal): void {
  to.write(`${CLEAR_SCREEN}${lines.map(shownStyled).join('\r\n')}`)
}

/** Returns to the normal screen. */
export function leaveScreen(to: Terminal): void {
  to.write('\u001b[?25h\u001b[?1049l')
}
