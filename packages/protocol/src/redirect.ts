/** The meaning of a status for a page, the target of its Location header as browsers read it, and the candidate made of that target. */
import type { Candidate } from './candidate.ts'
import { crawlField } from './crawl.ts'
import { octetsEncoded, single } from './headers.ts'
import { hopId } from './hop-id.ts'
import type { Order } from './order.ts'
import { type CrawlUrl, domainOf, MAX_URL_CHARS, printableUrl, readUrl } from './origin.ts'
import { shapeOfTarget } from './request-shape.ts'

/** Most redirects of a page; each is a separate request (docs/spec/design.md §5). */
export const PAGE_MAX_HOPS = 10

export type Meaning = 'asked-for-less' | 'redirect' | 'fetched'

/** The meaning of a status for a page: a request for less, a redirect, or any other answer. */
export function meaningOf(status: number): Meaning {
  if (status === 429 || status === 503) return 'asked-for-less'
  return isRedirect(status) ? 'redirect' : 'fetched'
}

export const isRedirect = (status: number): boolean =>
  status === 301 || status === 302 || status === 303 || status === 307 || status === 308

export type Target =
  | { kind: 'none' }
  | { kind: 'target'; at: CrawlUrl; url: string }
  | { kind: 'unusable'; why: string /** e.g. `scheme-not-supported` */; refused: string }

/**
 * @param headers  as received; bytes as Latin-1
 * @param base     the URL that was requested
 */
export function targetOf(headers: readonly [string, string][], base: string): Target {
  const location = single(headers, 'location')
  if (location === undefined || location === '') return { kind: 'none' }
  if (location === null) return { kind: 'unusable', why: 'two different Location headers', refused: 'not-a-url' }
  if (location.length > MAX_URL_CHARS)
    return { kind: 'unusable', why: `a Location of ${location.length} bytes`, refused: 'url-too-long' }
  const url = URL.parse(octetsEncoded(location), base)
  const at = url === null ? { refused: 'not-a-url' as const } : readUrl(url.href)
  if ('refused' in at)
    return { kind: 'unusable', why: `Location: ${printableUrl(location, 256)} (${at.refused})`, refused: at.refused }
  return { kind: 'target', at, url: at.origin + at.path }
}

/** The members of an order that a redirect's target inherits. */
export type RedirectedOrder = Pick<
  Order,
  'from' | 'origin' | 'id' | 'hops' | 'fence' | 'priority' | 'expiresAt' | 'meta' | 'request'
> & {
  crawl?: string | undefined
}

/** `from`: the domain whose redirects led here; a frontier never sets it. */
export type RedirectTarget = Candidate & { id: string; from?: string }

/** The candidate of a redirect's target: like the redirected one, one hop further. */
export function candidateOf(order: RedirectedOrder, agent: string, at: CrawlUrl): RedirectTarget {
  const own = domainOf(order.origin)
  const from = order.from ?? (domainOf(at.origin) === own ? undefined : own)
  return {
    ...(from === undefined ? {} : { from }),
    id: hopId(order.id, order.hops, order.fence),
    url: at.origin + at.path,
    agent,
    hops: order.hops + 1,
    priority: order.priority,
    ...crawlField(order.crawl),
    ...(order.expiresAt === undefined ? {} : { expiresAt: order.expiresAt }),
    ...(order.meta === undefined ? {} : { meta: order.meta }),
    ...shapeOfTarget(order.request),
  }
}
