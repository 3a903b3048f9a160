/**
 * A URL as this project keeps it: the WHATWG form, http(s) only, without fragment, cut into origin and path.
 * One reading for all (lanes, rules, requests), so that no two parts can disagree on whose URL it is.
 */

/** Longest path + query that is requested, in octets: what common servers accept as a request line. */
export const MAX_PATH_BYTES = 2_048
/** Longest text that is looked at at all; a longer one is refused unread. */
export const MAX_URL_CHARS = 8_192

export type UrlRefusal =
  | 'not-a-url'
  | 'not-well-formed' // half of a surrogate pair: what it stood for is lost, so another page would be fetched
  | 'url-too-long'
  | 'scheme-not-supported'
  | 'user-info'
  | 'bad-host'
  | 'ftp-not-supported'

export type CrawlUrl = {
  /** scheme://host[:port], punycode, lower case, default port dropped, no trailing dot */
  origin: string
  /** path + query, percent-encoded, begins with '/' */
  path: string
  /** host without port; an IPv6 literal keeps its brackets */
  host: string
}

/** Reads what somebody would like fetched. A refusal names its reason; never throws. */
export function readUrl(text: string): CrawlUrl | { refused: UrlRefusal } {
  if (text.length > MAX_URL_CHARS) return { refused: 'url-too-long' }
  if (!text.isWellFormed()) return { refused: 'not-well-formed' }
  const url = URL.parse(text)
  if (url === null) return { refused: 'not-a-url' }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return { refused: url.protocol === 'ftp:' ? 'ftp-not-supported' : 'scheme-not-supported' }
  }
  // Credentials would have to be dropped or sent; dropping them fetches another page than the one meant.
  if (url.username !== '' || url.password !== '') return { refused: 'user-info' }
  const host = url.hostname.endsWith('.') ? url.hostname.slice(0, -1) : url.hostname
  if (!isHost(host)) return { refused: 'bad-host' }
  const path = url.pathname + url.search
  if (path.length > MAX_PATH_BYTES) return { refused: 'url-too-long' } // ASCII by now: characters are octets
  return { origin: `${url.protocol}//${host}${url.port === '' ? '' : `:${url.port}`}`, path, host }
}

/** DNS limits that WHATWG URL does not enforce (RFC 1035 §2.3.4): labels 1–63, name ≤ 253. */
function isHost(host: string): boolean {
  if (host.startsWith('[')) return true
  if (host === '' || host.length > 253) return false
  return host.split('.').every((label) => label.length >= 1 && label.length <= 63)
}

/** The host part of an origin, without port: what decides the partition. */
export function hostOf(origin: string): string {
  const authority = origin.slice(origin.indexOf('//') + 2)
  const colon = authority.indexOf(':', authority.startsWith('[') ? authority.indexOf(']') : 0)
  return colon < 0 ? authority : authority.slice(0, colon)
}

/** A URL for logs and for outcomes of refused input: cut, credentials removed, control characters escaped. */
export function printableUrl(text: string, maxChars = 2_048): string {
  // What the URL parser would skip or read as a slash must not hide a password from us.
  const plain = text
    .slice(0, maxChars + 1)
    .replace(/[\t\n\r]/g, '')
    .replace(/^[\0-\x20]+/, '')
  const cut = text.length > maxChars ? `${plain.slice(0, maxChars)}…` : plain
  return cut
    .replace(/^([a-z][a-z0-9+.-]{0,20}:[\\/]*)[^\\/?#]*@/i, '$1')
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029\p{Cs}]/gu, (c) => `\\u${c.codePointAt(0)?.toString(16).padStart(4, '0')}`)
}
