/** One page: its exchange, what is kept of the answer, and what is read from it. */
import type { Agent } from '@decorum/config'
import { isConditional, type Order, orderUrl } from '@decorum/protocol'
import type { Answer } from '../http/answer.ts'
import { decodedLength, isCoded } from '../http/decoded-length.ts'
import { exchange } from '../http/exchange.ts'
import { meaningOf, NORMAL_LOAD } from '../http/read-answer.ts'
import { requestHead } from '../http/request-head.ts'
import type { Fetched, Held } from '../orders/complete.ts'
import type { Tools } from '../orders/tools.ts'
import { type KeepTools, keep } from '../sink/keep.ts'
import type { Page } from '../sink/sink.ts'
import { DecodedStart, saysOf, startBytesFor } from './page-says.ts'
import { readAskedForLess, readFailure, readPage, readRedirect } from './read-page.ts'
import { shapedAsk } from './shaped-ask.ts'

export type PageTools = KeepTools &
  Pick<Tools, 'connections' | 'siteAnswers' | 'pageMaxBytes' | 'maxAttempts' | 'honourNoarchive'> & {
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
  const { origin, path, request } = order
  const asked = shapedAsk(agent, request, { deadlineMs: lease.deadlineMs(), maxBytes: tools.pageMaxBytes })
  const result = await exchange({
    way: connections.lane(agent, origin),
    origin,
    path,
    ...asked,
    lastCheck: (address) => lease.lastCheck() ?? groups.wrongAddress(address),
    confirm: () => lease.confirm(),
    keepBody: (headers) => sink.keepsBodies || isCoded(headers),
    startBytes: startBytesFor,
  })
  if (result.kind === 'not-sent') return { what: 'not-sent', endedAt: result.endedAt, bytes: 0, load: NORMAL_LOAD }
  const most = Math.min(order.maxAttempts ?? maxAttempts, maxAttempts)
  const about = { order, agent, maxAttempts: most, now: () => ledger.wall(ledger.partitionOf(origin)) }
  if (result.kind === 'unanswered') return readFailure(result, about)
  const { body } = result
  try {
    if (meaningOf(result.status) === 'asked-for-less') return readAskedForLess(result, about)
    const isKept = sink.keepsBodies && hasBody(order, result)
    const archived = () => (isKept ? keep(pageOf(order, agent, asked.headers, result), tools) : undefined)
    const redirect = readRedirect(result, about)
    if (redirect !== undefined) {
      await archived()
      return redirect
    }
    const start = new DecodedStart(result.headers)
    // For a small page both are at hand, and awaiting them would cost as much as making the digest.
    const [digest, decoded] = [body.digest(), decodedLength(result, (piece) => start.take(piece))]
    const decodedBytes = decoded instanceof Promise ? await decoded : decoded
    const says = saysOf(orderUrl(order), result, agent, start)
    const mayKeep = !tools.honourNoarchive || says?.robots?.includes('noarchive') !== true
    const fetched = readPage(result, about, {
      digest: digest instanceof Promise ? await digest : digest,
      decodedBytes,
      archive: mayKeep ? await archived() : undefined,
      says,
    })
    siteAnswers.heard(origin, result.status, fetched.outcome.at)
    return fetched
  } finally {
    if (body.isKept) await body.discard().catch(() => {}) // a temporary file that cannot be closed does no harm
  }
}

/** The answer to a HEAD and a 304 to validators have none: all that they say is in the outcome. */
const hasBody = ({ request }: Order, { status }: Answer): boolean =>
  request?.method !== 'HEAD' && !(status === 304 && isConditional(request))

function pageOf(order: Order, agent: Agent, headers: string[], answer: Answer): Page {
  const { origin, path, id, meta } = order
  const head = requestHead(origin, path, headers)
  const page: Page = { kind: 'page', url: orderUrl(order), agent: agent.name, requestHead: head, answer, id }
  if (meta !== undefined) page.meta = meta
  return page
}
