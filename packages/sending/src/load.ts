/** What an answer says about the load of its site. */
import type { SiteLoad } from '@decorum/ledger'
import { meaningOf } from '@decorum/protocol'
import { parseRetryAfter } from '@decorum/robots'
import { defined } from '@decorum/runtime'

export const NORMAL_LOAD: SiteLoad = { kind: 'normal' }

/** @param now  Redis's clock, ms */
export function loadOf(status: number, retryAfter: string | null | undefined, now: number): SiteLoad {
  if (meaningOf(status) !== 'asked-for-less') return NORMAL_LOAD
  return { kind: 'asked-for-less', ...defined({ retryAfterMs: parseRetryAfter(retryAfter ?? undefined, now) }) }
}

/** The same of a page: one 403 may be about the page, several in a row are about the crawler. */
export const loadOfPage: typeof loadOf = (status, retryAfter, now) =>
  status === 403 ? { kind: 'turned-away' } : loadOf(status, retryAfter, now)
