/** How long an answer stays fresh: Cache-Control, Expires and Age, as http-cache-semantics interprets them. */
import { SECOND } from '@decorum/protocol'
import CachePolicy from 'http-cache-semantics'

/** Directives about freshness. A Last-Modified alone says nothing about it. */
const DIRECTIVE = /(^|[\s,])(max-age|no-store|no-cache|immutable|must-revalidate)($|[\s,=;])/i
const COUNTED = new Set(['cache-control', 'expires', 'age', 'date', 'pragma'])

/**
 * @param headers  as received, of a robots.txt answer
 * @returns        ms, unclamped; undefined when the headers do not say
 * `timeToLive()` is not used, because it adds stale-if-error, and a policy decides here how long a stale copy may be used.
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
  if (expires === undefined && pragma === undefined && !DIRECTIVE.test(fields['cache-control'] ?? '')) return undefined
  // Status 200: a 404 or a 304 stays fresh as its headers say, whatever a browser's cache would store.
  const policy = new CachePolicy(
    { url: '/robots.txt', method: 'GET', headers: {} },
    { status: 200, headers: fields },
    { shared: false, cacheHeuristic: 0 },
  )
  // Headers give whole seconds: a fraction comes only from the time that this calculation takes, so it is rounded up.
  const ms = Math.ceil(Math.max(0, policy.maxAge() - policy.age())) * SECOND
  return Number.isFinite(ms) ? ms : undefined
}
