/**
 * Sort-friendly form of a URL: the labels of the host in reverse order, so that an index is sorted by registered names.
 * warcio's own `getSurt` is not used, because it reverses IPv4 addresses and merges hosts with and without `www.`.
 */

/** `https://www.example.com:8080/a?b` → `com,example,www:8080)/a?b`. IP literals stay as they are. */
export function surt(url: string): string {
  const { hostname, port, pathname, search } = new URL(url)
  const isLiteral = hostname.startsWith('[') || /^[\d.]+$/.test(hostname)
  const host = isLiteral ? hostname : hostname.split('.').reverse().join(',')
  return `${host}${port === '' ? '' : `:${port}`})${(pathname + search).toLowerCase()}`
}
