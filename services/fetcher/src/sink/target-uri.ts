/**
 * The URI of a URL, as WARC-Target-URI has it and the index with it: WARC 1.1 (5.10) wants it escaped as RFC 3986 does. The URL
 * standard leaves more as it is: `|`, `[`, `]`, `^`, `{`, `}`, backquote and backslash here and there, and a `%` that begins no escape.
 * Replay tools take both for one URL (surt.ts), and the request record holds the path as it was sent.
 */

/** What is neither reserved nor unreserved in RFC 3986, or is only allowed around an address; and a `%` alone. */
const ESCAPED = /[^!#$%&'()*+,\-./0-9:;=?@A-Z_a-z~]|%(?![0-9a-f]{2})/gi
const ADDRESS = /^https?:\/\/\[[^\]/]*\]/

/** @param url  http or https, as the URL standard writes it */
export function uriOf(url: string): string {
  const rest = ADDRESS.exec(url)?.[0].length ?? 0
  return url.slice(0, rest) + url.slice(rest).replace(ESCAPED, escaped)
}

const escaped = (octet: string): string => `%${octet.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
