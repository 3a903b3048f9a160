/**
 * Lines such as `example.com/x` without a scheme. The scheme is not guessed (docs/decisions/0033-octets-become-text.md): the line ends as
 * `invalid`, and the user gets one hint how to write it.
 */
import { printable } from '@decorum/protocol'
import type { Line } from './lines.ts'

const HOST_FIRST =
  /^(?:\/\/)?((?:[\p{L}\p{N}_-]+\.)+[\p{L}\p{N}-]*\p{L}[\p{L}\p{N}-]*\.?|(?:\d{1,3}\.){3}\d{1,3}|localhost)(?::\d{1,5})?(?:[/?#]|$)/iu

/** The probable URL; undefined: adding a scheme gives no URL. */
export const withScheme = (text: string): string | undefined =>
  HOST_FIRST.test(text.slice(0, 512)) ? `https://${text.replace(/^\/\//, '')}` : undefined

/** A hint to append to a sentence that says why it is no URL. */
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

  /** undefined: each line had a scheme */
  sentence(): string | undefined {
    if (this.#first === undefined) return undefined
    const { number, text } = this.#first
    const others = this.#count === 1 ? '' : ` (and so in ${this.#count - 1} more lines)`
    return `line ${number}: '${printable(text.slice(0, 200))}' is no URL${schemeHint(text)}${others}`
  }
}
