/**
 * `example.com/x` in place of a URL. Which scheme is meant is not guessed (docs/decisions/0033-octets-become-text.md): the line ends as
 * `invalid`, and whoever wrote it is told once how to write it.
 */
import { printable } from '@decorum/protocol'
import type { Line } from './lines.ts'

const HOST_FIRST =
  /^(?:\/\/)?((?:[\p{L}\p{N}_-]+\.)+[\p{L}\p{N}-]*\p{L}[\p{L}\p{N}-]*\.?|(?:\d{1,3}\.){3}\d{1,3}|localhost)(?::\d{1,5})?(?:[/?#]|$)/iu

/** How the text may be meant; undefined: it is no URL without its scheme. */
export const withScheme = (text: string): string | undefined =>
  HOST_FIRST.test(text.slice(0, 512)) ? `https://${text.replace(/^\/\//, '')}` : undefined

/** Behind a sentence that says why it is no URL. */
export function schemeHint(text: string): string {
  const meant = withScheme(text)
  return meant === undefined ? '' : `; a scheme is missing: write ${printable(meant.slice(0, 200))}`
}

export class LinesWithoutScheme {
  #first: Line | undefined
  #count = 0

  add(line: Line): void {
    if (withScheme(line.text) === undefined) return
    this.#first ??= line
    this.#count++
  }

  /** undefined: each line had one */
  sentence(): string | undefined {
    if (this.#first === undefined) return undefined
    const { number, text } = this.#first
    const others = this.#count === 1 ? '' : ` (and so in ${this.#count - 1} more lines)`
    return `line ${number}: '${printable(text.slice(0, 200))}' is no URL${schemeHint(text)}${others}`
  }
}
