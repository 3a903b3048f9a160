/** One page: its exchange, what is kept of the answer, and what is read from it. */
import type { Agent } from '@decorum/config'
import { type Order, orderUrl } from '@decorum/protocol'
import type { Answer } from '../http/answer.ts'
import { decodedLength, isCoded } from '../http/decoded-length.ts'
import { exchange } from '../http/exchange.ts'
import { meaningOf, NORMAL_LOAD } from '../http/read-answer.ts'
import { headersOf, requestHead } from '../http/request-head.ts'
import type { Fetched, Held } from '../orders/complete.ts'
import type { Tools } from '../orders/tools.ts'
import { type KeepTools, keep } from '../sink/keep.ts'
import type { Page } from '../sink/sink.ts'
import { readAskedForLess, readFailure, readPage, readRedirect } from './read-page.ts'

export type PageTools = KeepTools &
  Pick<Tools, 'connections' | 'siteAnswers' | 'pageMaxBytes' | 'maxAttempts'> & {
    ledger: Pick<Tools['ledger'], 'wall' | 'partitionOf'>
  }

/** What a page needs of the lease of its order. */
export type PageHeld = {
  lease: Pick<Held['lease'], 'deadlineMs' | 'lastCheck' | 'confirm'>
  groups: Pick<Held['groups'], 'wrongAddress'>
}

export async function fetchPage(
  order: Order,
  agent: Agent,
  { lease, groups }: PageHeld,
  tools: PageTools,
): Promise<Fetched> {
  const { connections, sink, ledger, siteAnswers, maxAttempts } = tools
  const { origin, path } = order
  const result = await exchange({
    way: connections.lane(agent, origin),
    origin,
    path,
    headers: headersOf(agent),
    deadlineMs: lease.deadlineMs(),
    maxBytes: tools.pageMaxBytes,
    lastCheck: (address) => lease.lastCheck() ?? groups.wrongAddress(address),
    confirm: () => lease.confirm(),
    keepBody: (headers) => sink.keepsBodies || isCoded(headers),
  })
  if (result.kind === 'not-sent') return { what: 'not-sent', endedAt: result.endedAt, bytes: 0, load: NORMAL_LOAD }
  const about = { order, agent, maxAttempts, now: () => ledger.wall(ledger.partitionOf(origin)) }
  if (result.kind === 'unanswered') return readFailure(result, about)
  const { body } = result
  try {
    if (meaningOf(result.status) === 'asked-for-less') return readAskedForLess(result, about)
    const archive = sink.keepsBodies ? await keep(pageOf(order, agent, result), tools) : undefined
    const redirect = readRedirect(result, about)
    if (redirect !== undefined) return redirect
    // For a small page both are at hand, and awaiting them would cost as much as making the digest.
    const [digest, decoded] = [body.digest(), decodedLength(result)]
    const fetched = readPage(result, about, {
      digest: digest instanceof Promise ? await digest : digest,
      decodedBytes: decoded instanceof Promise ? await decoded : decoded,
      archive,
    })
    siteAnswers.heard(origin, result.status, fetched.outcome.at)
    return fetched
  } finally {
    if (body.isKept) await body.discard().catch(() => {}) // a temporary file that cannot be closed does no harm
  }
}

function pageOf(order: Order, agent: Agent, answer: Answer): Page {
  const { origin, path, id, meta } = order
  const head = requestHead(origin, path, headersOf(agent))
  const page: Page = { kind: 'page', url: orderUrl(order), agent: agent.name, requestHead: head, answer, id }
  if (meta !== undefined) page.meta = meta
  return page
}
