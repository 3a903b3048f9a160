/** What the owner of a site should know about his file; bounded, since a hostile one has something on every line. */
import { MAX_WARNINGS } from './limits.ts'
import { textOf } from './octets.ts'
import type { Warning, WarningKind } from './robots-txt.ts'

/** A piece of a hostile line, short enough to be printed. */
const MAX_QUOTE = 60

export class Warnings {
  readonly list: Warning[] = []
  #inAll = 0

  /** `text` as a function is only called while there is room: a hundred thousand messages must not be made in vain. */
  add(line: number, kind: WarningKind, text: string | (() => string)): void {
    if (this.#inAll++ < MAX_WARNINGS) this.list.push({ line, kind, text: typeof text === 'string' ? text : text() })
  }

  /** Closes the list with the count of those left out. */
  close(): readonly Warning[] {
    const left = this.#inAll - this.list.length
    if (left > 0) this.list.push({ line: 0, kind: 'more-warnings', text: `${left} more` })
    return this.list
  }
}

/** A piece of the source in quotes, with control characters and turns of direction shown as what they are. */
export function quote(octets: Uint8Array, start: number, end: number): string {
  const text = textOf(octets, start, Math.min(end, start + MAX_QUOTE))
  return JSON.stringify(text).replace(TRICKY, escaped) + (end - start > MAX_QUOTE ? '…' : '')
}

const TRICKY = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** What the first octets say about the whole: UTF-16, something compressed or binary, a page of HTML. */
export function warnOfContent(warnings: Warnings, octets: Uint8Array, start: number, end: number): void {
  const a = octets[start] as number
  const b = octets[start + 1] as number
  if (end - start < 2 || (a > 0x20 && a < 0x7f && a !== 0x3c)) return
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) warnings.add(1, 'not-text', 'UTF-16')
  else if (a === 0x1f && b === 0x8b) warnings.add(1, 'not-text', 'gzip')
  else if (a === 0x89 && b === 0x50) warnings.add(1, 'not-text', 'an image')
  else if (/^\s*<(?:!doctype|html|head|\?xml|!--)/i.test(textOf(octets, start, Math.min(end, start + 200))))
    warnings.add(1, 'looks-like-html', 'this looks like HTML')
}
