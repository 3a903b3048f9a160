/** Where an answer points: the Location header as browsers read it, and the candidate that it becomes. */
import { isUtf8 } from 'node:buffer'
import {
  type Candidate,
  type CrawlUrl,
  crawlField,
  hopId,
  MAX_URL_CHARS,
  type Order,
  printableUrl,
  readUrl,
  shapeOfTarget,
} from '@decorum/protocol'
import { single } from './answer.ts'

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
  // Raw bytes in Location are UTF-8 in practice; others are taken as they are.
  const bytes = Buffer.from(location, 'latin1')
  const text = isUtf8(bytes) ? bytes.toString('utf8') : location
  const url = URL.parse(text, base)
  const at = url === null ? { refused: 'not-a-url' as const } : readUrl(url.href)
  if ('refused' in at)
    return { kind: 'unusable', why: `Location: ${printableUrl(text, 256)} (${at.refused})`, refused: at.refused }
  return { kind: 'target', at, url: at.origin + at.path }
}

/** The candidate that a redirect's target becomes: like the one that was redirected, one hop further. */
export function candidateOf(order: Order, agent: string, url: string): Candidate & { id: string } {
  return {
    id: hopId(order.id, order.hops, order.fence),
    url,
    agent,
    hops: order.hops + 1,
    priority: order.priority,
    ...crawlField(order.crawl),
    ...(order.expiresAt === undefined ? {} : { expiresAt: order.expiresAt }),
    ...(order.meta === undefined ? {} : { meta: order.meta }),
    ...shapeOfTarget(order.request),
  }
}
