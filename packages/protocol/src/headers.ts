/**
 * Parses header fields of an answer by their meaning, in one place for fetchers, workers of pools and readers of kept pages. Fields come as
 * received: lines in order, names in any case, bytes as Latin-1. A list may be in one line or in several (RFC 9110 §5.3), and empty members
 * do not count (§5.6.1). Runs several times for each page, so names of another length are not compared.
 */
export type Fields = readonly (readonly [string, string])[]

/** The lines of a field, without surrounding blanks. @param name  in lower case */
export function linesOf(fields: Fields, name: string): string[] {
  const lines: string[] = []
  for (const [given, value] of fields)
    if (given.length === name.length && given.toLowerCase() === name) lines.push(trimBlanks(value))
  return lines
}

/** Blanks as defined in RFC 9110 §5.6.3. `trim` would also remove the byte 0xa0, with which `à` ends in UTF-8. */
export const trimBlanks = (text: string): string => trimmedPart(text, 0, text.length)

/** Part of a text, without surrounding blanks. A regular expression would take time in the square of their number. */
export function trimmedPart(text: string, start: number, end: number): string {
  let from = start
  let to = end
  while (from < to && isBlank(text.charCodeAt(from))) from++
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}
export const isBlank = (octet: number): boolean => octet === 0x20 || octet === 0x09

/** The value of a field that may occur once; `undefined` when absent, `null` when given with two different values. */
export function single(fields: Fields, name: string): string | undefined | null {
  const [first, ...others] = linesOf(fields, name)
  return others.every((other) => other === first) ? first : null
}

/** The members of a list, from one or several lines; a comma within a quoted string does not separate. @param name  in lower case */
export function membersOf(fields: Fields, name: string): string[] {
  const members: string[] = []
  for (const line of linesOf(fields, name))
    for (const member of line.includes(',') ? split(line) : [line]) {
      const text = trimBlanks(member)
      if (text !== '') members.push(text)
    }
  return members
}

/**
 * Splits at commas outside of quoted strings. A quotation mark without a closing one is an ordinary character, and so are all that follow
 * it: searching for the end of each would take time in the square of the line.
 */
function split(line: string): string[] {
  const parts: string[] = []
  let from = 0
  let areQuoted = true
  for (let at = 0; at < line.length; at++) {
    if (line[at] === ',') {
      parts.push(line.slice(from, at))
      from = at + 1
    } else if (line[at] === '"' && areQuoted) {
      let end = at + 1
      while (end < line.length && line[end] !== '"') end += line[end] === '\\' ? 2 : 1
      areQuoted = end < line.length
      if (areQuoted) at = end
    }
  }
  parts.push(line.slice(from))
  return parts
}

/** Content-Type in the form that `mediaTypeOf` reads: its lines as one list; undefined when absent. */
export function contentTypeOf(fields: Fields): string | undefined {
  const [only, ...more] = linesOf(fields, 'content-type')
  return more.length === 0 ? only : [only, ...more].join(', ')
}

/**
 * The content codings of a body, in the order in which they were applied: `x-gzip` is gzip (RFC 9110 §8.4.1.3), `identity` is none;
 * parameters behind a ';' are dropped and quoted strings are unquoted. Unknown words are included.
 */
export function codingsOf(fields: Fields): string[] {
  const members = membersOf(fields, 'content-encoding')
  if (members.length === 0) return members
  return members.flatMap((member) => {
    const name =
      member
        .split(';', 1)[0]
        ?.trim()
        .replace(/^"(.*)"$/, '$1')
        .toLowerCase() ?? ''
    return name === '' || name === 'identity' ? [] : [name === 'x-gzip' ? 'gzip' : name]
  })
}

export { isHtmlType, isXmlType, type MediaType, mediaTypeOf } from './media-type.ts'
/**
 * Percent-encodes each byte beyond ASCII separately, as the Fetch standard decodes a Location ("isomorphic decode"): a server that wrote
 * Latin-1 or UTF-8 gets back the same bytes. Text with other characters was already decoded by a worker of a pool.
 */
export const octetsEncoded = (value: string): string =>
  /[\u0100-\uffff]/.test(value)
    ? value
    : value.replace(/[\x80-\xff]/g, (octet) => `%${octet.charCodeAt(0).toString(16).toUpperCase()}`)
