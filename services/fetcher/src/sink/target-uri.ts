/**
 * The URI of a URL, for WARC-Target-URI and the index: WARC 1.1 (5.10) requires RFC 3986 escapes. The URL standard leaves more characters
 * unescaped: `|`, `[`, `]`, `^`, `{`, `}`, backquote and backslash in some places, and a `%` that begins no escape. Replay tools treat
 * both as one URL (surt.ts), and the request record contains the path as sent.
 */

/** Characters that are neither reserved nor unreserved in RFC 3986, or are only allowed around an address; and a lone `%`. */
const ESCAPED = /[^!#$%&'()*+,\-./0-9:;=?@A-Z_a-z~]|%(?![0-9a-f]{2})/gi
const ADDRESS = /^https?:\/\/\[[^\]/]*\]/

/** @param url  http or https, as the URL standard writes it */
export function uriOf(url: string): string {
  const rest = ADDRESS.exec(url)?.[0].length ?? 0
  return url.slice(0, rest) + url.slice(rest).replace(ESCAPED, escaped)
}

const escaped = (octet: string): string => `%${octet.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
