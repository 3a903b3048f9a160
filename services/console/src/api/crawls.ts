/** Operations of the API on crawls. */
import { CrawlError, type CrawlRecord } from '@decorum/ledger'
import type { LedgerWithViews } from '@decorum/ledger/views'
import { DEFAULT_CRAWL } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import { Problem } from '@decorum/runtime/http-api'
import type { z } from 'zod'
import type { CrawlBody } from './questions.ts'

const STATES = { pause: 'paused', resume: 'running', cancel: 'cancelled' } as const

/** @param login  the operator, if the request does not name one */
export async function changeCrawl(
  ledger: LedgerWithViews,
  name: string,
  { action, weight, expiresAt, limits, settings, reason, by }: z.output<typeof CrawlBody>,
  login: string,
): Promise<{ name: string; record: CrawlRecord; unreached: number } | Problem> {
  const change = defined({ state: action && STATES[action], weight, expiresAt, limits, settings })
  if (Object.keys(change).length === 0) return new Problem(400, 'nothing-to-do', 'the body changes nothing')
  try {
    return { name, ...(await ledger.changeCrawl({ name, change, by: by ?? login, reason })) }
  } catch (error) {
    if (error instanceof CrawlError) return new Problem(409, 'not-done', error.message)
    throw error
  }
}

export const noSuchCrawl = (name: string): Problem => new Problem(404, 'no-such-crawl', `there is no crawl '${name}'`)

export async function forgetCrawl(
  ledger: LedgerWithViews,
  name: string,
): Promise<{ name: string; forgotten: true } | Problem> {
  const answer = await ledger.forgetCrawl(name)
  switch (answer) {
    case 'forgotten':
      return { name, forgotten: true }
    case 'absent':
      return noSuchCrawl(name)
    case 'stored':
      if (name === DEFAULT_CRAWL)
        return new Problem(409, 'not-done', `'${DEFAULT_CRAWL}' is the crawl of candidates that name none: it stays`)
      return new Problem(409, answer, `the crawl '${name}' holds URLs: cancel it first`)
    case 'read':
      return new Problem(409, answer, `groups read the crawl '${name}': forget them first`)
    default:
      return answer satisfies never
  }
}
