/** What an answer says about the load of its site. */
import type { SiteLoad } from '@decorum/ledger'
import { meaningOf } from '@decorum/protocol'
import { readRetryAfter } from '@decorum/robots'

export const NORMAL_LOAD: SiteLoad = { kind: 'normal' }

export function loadOf(status: number, retryAfter: string | null | undefined): SiteLoad {
  if (meaningOf(status) !== 'asked-for-less') return NORMAL_LOAD
  return { kind: 'asked-for-less', ...readRetryAfter(retryAfter ?? undefined) }
}

/** The same of a page: one 403 may be about the page, several in a row are about the crawler. */
export const loadOfPage: typeof loadOf = (status, retryAfter) =>
  status === 403 ? { kind: 'turned-away' } : loadOf(status, retryAfter)
