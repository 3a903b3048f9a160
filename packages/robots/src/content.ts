/** Recognizes files that are not a robots.txt by their first bytes. */
import { bytesOf, standsAt } from './fields.ts'
import { isBlank, isLineEnd } from './line.ts'
import { HTML_PAGE, IMAGE } from './notes.ts'

const HTML = /* @__PURE__ */ ['<!doctype', '<html', '<head', '<?xml', '<!--'].map(bytesOf)

/** The number of the warning about an image or a page of HTML; undefined: it is neither. */
export function contentOf(bytes: Uint8Array, at: number, end: number): number | undefined {
  const a = bytes[at] as number
  const b = bytes[at + 1] as number
  if (end - at < 2 || (a > 32 && a < 0x7f && a !== 60)) return undefined
  if (a === 0x89 && b === 0x50) return IMAGE
  while (at < end && (isBlank(bytes[at]) || isLineEnd(bytes[at]))) at++
  return HTML.some((start) => standsAt(bytes, at, start)) ? HTML_PAGE : undefined
}
