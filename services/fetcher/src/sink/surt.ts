/**
 * The key by which replay tools look a URL up (SURT). pywb, cdxj-indexer and outbackcdx make it with the rules of the Internet Archive:
 * webarchive-commons in Java, `surt` on PyPI. Tools do not find an index with any other key, so their rules are followed exactly, also where
 * they are odd: `/%2F` and `/` are one key. test/fetcher/unit/surt-cases.py writes the table of the test with the library from PyPI.
 *
 * The steps, in order: every escape is decoded until none is left, and characters that are not printable ASCII are escaped once; the path
 * loses `.`, `..` and empty segments; the host loses `www.`; path and query become lower case and lose session ids; the path loses
 * its last slash; the arguments of the query are sorted.
 */

/** @param url  http or https as the URL standard writes it, possibly with more characters escaped; without fragment */
export function surtOf(url: string): string {
  const hostAt = url.indexOf('//') + 2
  const pathAt = url.indexOf('/', hostAt)
  const queryAt = url.indexOf('?', pathAt)
  const path = queryAt < 0 ? url.slice(pathAt) : url.slice(pathAt, queryAt)
  const query = queryAt < 0 ? '' : queryKey(url.slice(queryAt + 1))
  return `${hostKey(url.slice(hostAt, pathAt))})${pathKey(path)}${query === '' ? '' : `?${query}`}`
}

/** The URL standard omits default ports; `surt` omits port 0 as well. */
const AUTHORITY = /^(?:[^@]*@)?(\[[^\]]*\]|[^:]*)(?::0*([1-9]\d*))?/

function hostKey(authority: string): string {
  const [, given = '', port] = AUTHORITY.exec(authority) ?? []
  const host = unescaped(given.replace(/^\[|\]$/g, ''))
    .toLowerCase()
    .replaceAll('..', '.')
    .replace(/^\.+|\.+$/g, '')
    .replace(/^www\d*\./, '')
  const labels = host.split('.').reverse().join(',')
  return port === undefined ? labels : `${labels}:${port}`
}

/** Session ids of ASP.NET without cookies: `/(S(…))/page.aspx` and `/(…)/page.aspx`, with 24 letters or digits each. */
const PATH_SESSIONS = [
  /^(.*\/)\((?:[a-z]\([0-9a-z]{24}\))+\)\/([^?]+\.aspx.*)$/,
  /^(.*\/)\([0-9a-z]{24}\)\/([^?]+\.aspx.*)$/,
]

function pathKey(given: string): string {
  let path = escapedOnce(withoutDots(unescaped(given))).toLowerCase()
  if (path.includes('.aspx')) for (const session of PATH_SESSIONS) path = path.replace(session, '$1$2')
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/** Removes `.`, `..` and empty segments; a `..` at the root stays, and so does a slash at the end. */
function withoutDots(path: string): string {
  if (!path.includes('//') && !path.includes('/.')) return path
  const kept: string[] = []
  for (const segment of path.split('/').slice(1)) {
    if (segment === '.') continue
    if (segment === '..' && kept.length > 0) kept.pop()
    else kept.push(segment)
  }
  const last = kept.pop() ?? ''
  return `/${kept.map((segment) => (segment === '' ? '' : `${segment}/`)).join('')}${last}`
}

const QUERY_SESSIONS = [
  /^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$/i,
  /^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$/i,
  /^(.*)sid=[0-9a-z]{32}(?:&(.*))?$/i,
  /^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$/i,
  /^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$/i,
]
/** A substring common to these patterns: most queries need no further checks. */
const SESSION = /sid=|aspsessionid|cftoken=|jsessionid=/i

function queryKey(given: string): string {
  let query = escapedOnce(unescaped(given))
  if (SESSION.test(query))
    for (const session of QUERY_SESSIONS)
      query = query.replace(session, (_, before: string, behind = '') => before + behind)
  query = query.toLowerCase()
  if (!query.includes('&')) return query
  // A name without a value comes before the same name with a value, and both come before longer names
  return query
    .split('&')
    .map((argument) => argument.replace('=', '\0'))
    .sort()
    .map((argument) => argument.replace('\0', '='))
    .join('&')
}

const HEX: readonly number[] = Array.from({ length: 256 }, (_, byte) => {
  const digit = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(digit) ? -1 : digit
})
const PERCENT = 0x25

/**
 * The bytes as Latin-1, with escapes decoded until none is left. An escape that decoding completes is decoded at once, so that
 * `%25252541` takes one pass; escapes never overlap, so the order of decoding does not matter.
 */
function unescaped(text: string): string {
  if (!text.includes('%')) return text
  const bytes = Buffer.from(text, 'latin1')
  let end = 0
  for (const byte of bytes) {
    bytes[end++] = byte
    while (end >= 3 && bytes[end - 3] === PERCENT) {
      const [high = -1, low = -1] = [HEX[bytes[end - 2] as number], HEX[bytes[end - 1] as number]]
      if (high < 0 || low < 0) break
      bytes[end - 3] = high * 16 + low
      end -= 2
    }
  }
  return bytes.toString('latin1', 0, end)
}

const escapedOnce = (text: string): string =>
  text.replace(
    /[^\x21\x22\x24\x26-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
