/** What an answer says about the load of its site. */
import type { SiteLoad } from '@decorum/ledger'
import { isRedirect, meaningOf } from '@decorum/protocol'
import { type RetryAfter, readRetryAfter } from '@decorum/robots'

export const NORMAL_LOAD: SiteLoad = { kind: 'normal' }

/** The header as received, one line or several. */
type Lines = string | readonly string[] | undefined

/** Of an answer that leads nowhere else: a Retry-After counts beside any status (RFC 9110 §10.2.3). */
export function loadOf(status: number, retryAfter: Lines): SiteLoad {
  const asked = readRetryAfter(retryAfter)
  if (meaningOf(status) === 'asked-for-less') return { kind: 'asked-for-less', ...asked }
  return Object.keys(asked).length === 0 ? NORMAL_LOAD : { kind: 'asked-to-wait', ...asked }
}

/** The same of a page: one 403 may be about the page, several in a row are about the crawler. */
export const loadOfPage: typeof loadOf = (status, retryAfter) =>
  status === 403 ? { kind: 'turned-away', ...readRetryAfter(retryAfter) } : loadOf(status, retryAfter)

/** Of an answer that somebody else has received: beside a redirect, Retry-After concerns the request that they make next. */
export const loadReported = (status: number, retryAfter: Lines, read = loadOfPage): SiteLoad =>
  isRedirect(status) ? NORMAL_LOAD : read(status, retryAfter)

/** What a load asks to wait. */
export const waitOf = (load: SiteLoad): RetryAfter => {
  if (load.kind === 'normal' || load.kind === 'no-answer') return {}
  const { kind: _, ...asked } = load
  return asked
}

/** What is said about a host by an answer of one of its origins: a request for less or to wait is about all of it. */
export function loadOfHost(load: SiteLoad): SiteLoad {
  if (load.kind === 'asked-for-less' || load.kind === 'asked-to-wait') return load
  const asked = waitOf(load)
  return Object.keys(asked).length === 0 ? NORMAL_LOAD : { kind: 'asked-to-wait', ...asked }
}

/** Both of them: the longest wait counts, and a request for less more than one to wait. */
export function bothLoads(a: SiteLoad, b: SiteLoad): SiteLoad {
  const [one, other] = [waitOf(a), waitOf(b)]
  const both: RetryAfter = {}
  const retryAfterMs = Math.max(one.retryAfterMs ?? 0, other.retryAfterMs ?? 0)
  const retryAfterAt = Math.max(one.retryAfterAt ?? 0, other.retryAfterAt ?? 0)
  const unread = one.retryAfterUnread ?? other.retryAfterUnread
  if (retryAfterMs > 0) both.retryAfterMs = retryAfterMs
  if (retryAfterAt > 0) both.retryAfterAt = retryAfterAt
  if (unread !== undefined) both.retryAfterUnread = unread
  if (a.kind === 'asked-for-less' || b.kind === 'asked-for-less') return { kind: 'asked-for-less', ...both }
  return Object.keys(both).length === 0 ? NORMAL_LOAD : { kind: 'asked-to-wait', ...both }
}
