/** Canonical origins and paths: one spelling for each, whatever a log wrote. */

/**
 * Matches most canonical origins. The last label begins with a letter, which excludes IPv4 addresses; punycode labels are left to the URL
 * parser, since they may be invalid.
 */
const PLAIN_ORIGIN = /^https?:\/\/(?!.*xn--)(?:[a-z0-9][a-z0-9-]*\.)+[a-z][a-z0-9-]*(?::(?!80$|443$)[1-9]\d{0,3})?$/

/** Characters outside of ASCII, blanks and controls. */
const BEYOND_ASCII = /[^\x21-\x7e]/

/**
 * `scheme://host[:port]` in canonical form: lower case, punycode, no default port, no trailing dot.
 * @returns undefined when it is no http(s) origin
 */
export function originOf(text: string): string | undefined {
  if (PLAIN_ORIGIN.test(text)) return text
  const url = urlOf(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') return undefined
  const host = url.hostname.endsWith('.') ? url.hostname.slice(0, -1) : url.hostname
  return host === '' ? undefined : `${url.protocol}//${host}${url.port === '' ? '' : `:${url.port}`}`
}

/** A URL, or null if it is invalid; replaces `URL.parse`, which the oldest supported Node lacks. */
export const urlOf = (text: string, base?: string): URL | null =>
  URL.canParse(text, base) ? new URL(text, base) : null

/** Path and query as requested, with the `?` of `/a?`, for which `search` is ''. @param url  its fragment is removed */
export function pathOf(url: URL): string {
  url.hash = ''
  return url.pathname + (url.search === '' && url.href.endsWith('?') ? '?' : url.search)
}

/** Host of an origin, without its port. */
export const hostOf = (origin: string): string => new URL(origin).hostname

/** The same path in ASCII: other characters percent-encoded, as UTF-8. */
export function asciiPath(path: string): string {
  if (!BEYOND_ASCII.test(path)) return path
  return path.replace(/[^\x21-\x7e]+/gu, (text) => encodeURIComponent(text.toWellFormed()))
}

/** A URL, or a path, that the parser would not change. */
const PLAIN_URL =
  /^https?:\/\/[a-z][a-z0-9-]*(?:\.[a-z0-9-]*[a-z][a-z0-9-]*)+(?::(?!80\/|443\/)[1-9]\d{0,3})?\/(?![^?]*\/\.)(?!\.)[\w\-.~!$&()*+,;=:@/%?]*$/
const PLAIN_PATH = /^\/(?![./])(?![^?]*\/\.)[\w\-.~!$&()*+,;=:@/%?]*$/

/** The target of a Location, in canonical form; undefined: not an HTTP target. */
export function targetOf(location: string, origin: string, path: string): string | undefined {
  if (PLAIN_URL.test(location)) return location
  if (PLAIN_PATH.test(location)) return origin + location
  const url = urlOf(location, origin + path)
  const to = url === null ? undefined : originOf(url.origin)
  return to === undefined || url === null ? undefined : to + pathOf(url)
}
