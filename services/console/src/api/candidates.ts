/** Finds and cancels one candidate. */
import type { Agents } from '@decorum/config'
import type { LedgerWithViews } from '@decorum/ledger/views'
import type { CrawlUrl, Outcome } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import { Problem } from '@decorum/runtime/http-api'
import { type CandidateStatus, cancelCandidate, candidateStatus } from '../candidate-status.ts'
import { keysOf } from './act.ts'

export type CandidateRequest = { id: string; url?: CrawlUrl | undefined; agent?: string | undefined; crawl: string }

function whichOf(agents: Agents, { id, url, agent, crawl }: CandidateRequest) {
  const keys = keysOf(agents, agent)
  return keys instanceof Problem ? keys : { id, agents: keys, crawl, ...defined({ at: url }) }
}

export async function reportCandidate(
  ledger: LedgerWithViews,
  agents: Agents,
  requested: CandidateRequest,
): Promise<CandidateStatus | Problem> {
  const which = whichOf(agents, requested)
  if (which instanceof Problem) return which
  const { found, notSearched } = await candidateStatus(ledger, which)
  return found[0] ?? notFound(requested.id, notSearched)
}

export async function cancel(
  ledger: LedgerWithViews,
  agents: Agents,
  requested: CandidateRequest,
): Promise<{ outcome: Outcome } | Problem> {
  const which = whichOf(agents, requested)
  if (which instanceof Problem) return which
  const answer = await cancelCandidate(ledger, which)
  switch (answer.kind) {
    case 'cancelled':
      return { outcome: answer.outcome }
    case 'in-flight':
      return new Problem(409, 'in-flight', 'its request may have been sent already: its outcome will come')
    case 'absent': {
      const { status, notSearched } = answer
      if (status === undefined) return notFound(requested.id, notSearched)
      return new Problem(409, status.state, `it was not cancelled: ${status.sentence}`)
    }
    default:
      return answer satisfies never
  }
}

const notFound = (id: string, notSearched: string[]): Problem =>
  new Problem(404, 'no-such-candidate', `no candidate '${id}' was found. Not searched: ${notSearched.join('; ')}`)
