/** Sort-friendly URI: the host's labels turned round, so that an index lies in order of registered names. */

/** `https://www.example.com:8080/a?b` → `com,example,www:8080)/a?b`. IP literals stay as they are. */
export function surt(url: string): string {
  const { hostname, port, pathname, search } = new URL(url)
  const isLiteral = hostname.startsWith('[') || /^[\d.]+$/.test(hostname)
  const host = isLiteral ? hostname : hostname.split('.').reverse().join(',')
  return `${host}${port === '' ? '' : `:${port}`})${(pathname + search).toLowerCase()}`
}
