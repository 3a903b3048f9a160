/** Reads the load of a site from an answer. */
import type { SiteLoad } from '@decorum/ledger'
import { isRedirect, meaningOf } from '@decorum/protocol'
import { type RetryAfter, readRetryAfter } from '@decorum/robots'

export const NORMAL_LOAD: SiteLoad = { kind: 'normal' }

/** Retry-After as received, one line or several. */
type Lines = string | readonly string[] | undefined

/** The site's load, from an answer that is no redirect: Retry-After counts with any status (RFC 9110 §10.2.3). */
export function loadOf(status: number, retryAfter: Lines): SiteLoad {
  const requested = readRetryAfter(retryAfter)
  if (meaningOf(status) === 'asked-for-less') return { kind: 'asked-for-less', ...requested }
  return Object.keys(requested).length === 0 ? NORMAL_LOAD : { kind: 'asked-to-wait', ...requested }
}

/** Like `loadOf`, for a page: one 403 may be about the page, several in a row are about the crawler. */
export const loadOfPage: typeof loadOf = (status, retryAfter) =>
  status === 403 ? { kind: 'turned-away', ...readRetryAfter(retryAfter) } : loadOf(status, retryAfter)

/** The site's load, from an answer that another program received: a redirect's Retry-After concerns only that program's next request. */
export const loadReported = (status: number, retryAfter: Lines, read = loadOfPage): SiteLoad =>
  isRedirect(status) ? NORMAL_LOAD : read(status, retryAfter)

/** The wait that a load requests. */
export const waitOf = (load: SiteLoad): RetryAfter => {
  if (load.kind === 'normal' || load.kind === 'no-answer') return {}
  const { kind: _, ...requested } = load
  return requested
}

/** The part of an origin's answer that concerns its whole host: a request to slow down or to wait. */
export function loadOfHost(load: SiteLoad): SiteLoad {
  if (load.kind === 'asked-for-less' || load.kind === 'asked-to-wait') return load
  const requested = waitOf(load)
  return Object.keys(requested).length === 0 ? NORMAL_LOAD : { kind: 'asked-to-wait', ...requested }
}

/** Combines two loads: the stronger kind counts, with the longest wait of both. */
export function bothLoads(a: SiteLoad, b: SiteLoad): SiteLoad {
  const waits = [waitOf(a), waitOf(b)]
  const longest = (name: 'retryAfterMs' | 'retryAfterAt'): number => Math.max(...waits.map((wait) => wait[name] ?? 0))
  const both: RetryAfter = {}
  if (longest('retryAfterMs') > 0) both.retryAfterMs = longest('retryAfterMs')
  if (longest('retryAfterAt') > 0) both.retryAfterAt = longest('retryAfterAt')
  const unread = waits.find(({ retryAfterUnread }) => retryAfterUnread !== undefined)?.retryAfterUnread
  if (unread !== undefined) both.retryAfterUnread = unread
  const kind = HAS_MORE.find((one) => a.kind === one || b.kind === one)
  if (kind !== undefined) return { kind, ...both }
  if (Object.keys(both).length > 0) return { kind: 'asked-to-wait', ...both }
  return a.kind === 'no-answer' ? a : b
}
const HAS_MORE = ['asked-for-less', 'turned-away'] as const
