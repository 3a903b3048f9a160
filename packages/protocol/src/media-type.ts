/** Parses Content-Type as browsers do (Fetch standard, "extract a MIME type"): a list, of which the last media type counts. */

export type MediaType = {
  /** in lower case; undefined: the header is absent, or names no media type */
  essence: string | undefined
  /** the label as sent, without quotes */
  charset: string | undefined
}

/** A cache: servers send few different values, and each page needs several of their properties. */
const known = new Map<string, MediaType>()
const MOST_KNOWN = 256
const MOST_KNOWN_CHARS = 128
/** Number of characters of a header that are parsed; the rest is ignored. */
const MOST_CHARS = 4_096

/** @param header  the value as received; several lines joined by commas */
export function mediaTypeOf(header: string | null | undefined): MediaType {
  if (header === null || header === undefined) return NO_TYPE
  const before = known.get(header)
  if (before !== undefined) return before
  const read = readMediaType(header.slice(0, MOST_CHARS))
  if (header.length <= MOST_KNOWN_CHARS) {
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(header, read)
  }
  return read
}
const NO_TYPE: MediaType = { essence: undefined, charset: undefined }

const MEMBER = /(?:"[^"]*"?|[^,"])+/g
const ESSENCE = /^[ \t]*([\w!#$&^.+-]+\/[\w!#$&^.+-]+)(?=[ \t;(]|$)/
const CHARSET = /;[ \t]*charset[ \t]*=[ \t]*(?:"([^"]*)"?|([^\s;]+))/i
/** Values of servers that do not know the type (MIME sniffing standard, 7). */
const UNKNOWN = new Set(['unknown/unknown', 'application/unknown'])

function readMediaType(header: string): MediaType {
  let { essence, charset } = NO_TYPE
  for (const [member] of header.matchAll(MEMBER)) {
    const next = ESSENCE.exec(member)?.[1]?.toLowerCase()
    if (next === undefined) continue
    const [, quoted, bare = quoted] = CHARSET.exec(member) ?? []
    charset = bare?.trim() ?? (next === essence ? charset : undefined)
    essence = next
  }
  return { essence: essence === undefined || UNKNOWN.has(essence) ? undefined : essence, charset }
}

/** undefined: the header is unclear, and the first bytes of the body decide */
export const isHtmlType = ({ essence }: MediaType): boolean | undefined =>
  essence === undefined ? undefined : essence === 'text/html' || essence === XHTML

/** Whether the body is parsed as XML, as in browsers: there `<script/>` is a complete element. */
export const isXmlType = ({ essence = '' }: MediaType): boolean => essence.endsWith('/xml') || essence.endsWith('+xml')

const XHTML = 'application/xhtml+xml'
