/** Addresses in a page, resolved as the HTML standard does ("encoding-parse a URL"). */
import '@exodus/bytes/encoding.js' // loads the multi-byte encodings, which the function imported below needs
import { MAX_URL_CHARS } from '@decorum/protocol/origin'
import { percentEncodeAfterEncoding } from '@exodus/bytes/whatwg.js'

/** Longest attribute value that is read, characters. */
export const MAX_VALUE_CHARS = MAX_URL_CHARS

/** @param encoding  of the page; queries are sent in it, paths always in UTF-8 */
export function absolute(href: string, base: string, encoding = 'UTF-8'): URL | undefined {
  if (href.length > MAX_VALUE_CHARS) return undefined
  try {
    return new URL(OWN_QUERY.has(encoding) ? href : queryIn(encoding, href), base) // Node 20 has no URL.parse
  } catch {
    return undefined
  }
}

/** "Get an output encoding" (Encoding standard) gives UTF-8 for these, in which the URL parser writes queries itself. */
const OWN_QUERY: ReadonlySet<string> = new Set(['UTF-8', 'UTF-16LE', 'UTF-16BE', 'replacement'])

const SPACE = 0x20
const NOT_ASCII = /[^\0-\x7f]/
/** Characters encoded in the query of an http URL besides controls and non-ASCII (URL standard, special-query set). */
const SPECIAL_QUERY = ' "#\'<>'

/** Encodes the query of an address. In an http URL it begins at the first `?` and ends at the first `#`. */
function queryIn(encoding: string, href: string): string {
  if (!NOT_ASCII.test(href)) return href
  const plain = href.replace(/[\t\n\r]/g, '') // the URL parser removes these first
  const hash = plain.indexOf('#')
  let end = hash < 0 ? plain.length : hash
  if (hash < 0) while (plain.charCodeAt(end - 1) <= SPACE) end--
  const start = plain.indexOf('?') + 1
  if (start === 0 || start > end) return href
  const query = percentEncodeAfterEncoding(encoding, plain.slice(start, end), SPECIAL_QUERY)
  return plain.slice(0, start) + query + plain.slice(end)
}

/** HTML standard, "set the frozen base URL". @param href  of the first `base` that has one. @param url  of the page */
export function baseOf(href: string, url: string, encoding: string): string {
  const base = absolute(href, url, encoding)
  return base === undefined || base.protocol === 'data:' || base.protocol === 'javascript:' ? url : base.href
}
