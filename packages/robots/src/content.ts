/** Recognizes files that are not a robots.txt by their first bytes. */
import { bytesOf, standsAt } from './fields.ts'
import { isBlank, isLineEnd } from './line.ts'
import { IMAGE, LOOKS_LIKE_HTML } from './notes.ts'

const HTML = /* @__PURE__ */ ['<!doctype', '<html', '<head', '<?xml', '<!--'].map(bytesOf)

/** Recognizes another kind of file by its first bytes: an image, a page of HTML. */
export function contentOf(octets: Uint8Array, at: number, end: number): number | undefined {
  const a = octets[at] as number
  const b = octets[at + 1] as number
  if (end - at < 2 || (a > 32 && a < 0x7f && a !== 60)) return undefined
  if (a === 0x89 && b === 0x50) return IMAGE
  while (at < end && (isBlank(octets[at]) || isLineEnd(octets[at]))) at++
  return HTML.some((start) => standsAt(octets, at, start)) ? LOOKS_LIKE_HTML : undefined
}
