/** How long an answer says it stays good: Cache-Control, Expires and Age by the grammar of http-cache-semantics. */
import { SECOND } from '@decorum/protocol'
import CachePolicy from 'http-cache-semantics'

/** Headers that say something about freshness; a bare Last-Modified says nothing. */
const SPEAKS = /(^|[\s,])(max-age|no-store|no-cache|immutable|must-revalidate)($|[\s,=;])/i
const COUNTED = new Set(['cache-control', 'expires', 'age', 'date', 'pragma'])

/**
 * @param headers  as received, of a robots.txt answer
 * @returns        ms, unclamped; undefined when the headers do not say
 * Not `timeToLive()`: it adds stale-if-error, and whether a stale copy may be used is not the server's decision here.
 */
export function freshForMs(headers: readonly [string, string][]): number | undefined {
  const fields: Record<string, string> = {}
  for (const [given, value] of headers) {
    const name = given.toLowerCase()
    if (!COUNTED.has(name)) continue
    const before = fields[name]
    fields[name] = before === undefined ? value : `${before}, ${value}`
  }
  const { expires, pragma } = fields
  if (expires === undefined && pragma === undefined && !SPEAKS.test(fields['cache-control'] ?? '')) return undefined
  // Status 200: a 404 or a 304 stays good as long as its headers say, whatever a browser's cache would store.
  const policy = new CachePolicy(
    { url: '/robots.txt', method: 'GET', headers: {} },
    { status: 200, headers: fields },
    { shared: false, cacheHeuristic: 0 },
  )
  // Headers speak in whole seconds; what is missing from one is the time that this reading took.
  const ms = Math.ceil(Math.max(0, policy.maxAge() - policy.age())) * SECOND
  return Number.isFinite(ms) ? ms : undefined
}
