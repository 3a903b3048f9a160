/** One page: its exchange, what is kept of the answer, and what is read from it. */

import type { Agent } from '@decorum/config'
import { type ArchiveRef, base32, meaningOf, type Order, orderUrl } from '@decorum/protocol'
import type { Fetched, UsedLease } from '@decorum/sending'
import { type Answer, decodedLength, isCoded, requestHead } from '@decorum/sending/bodies'
import { exchange, NORMAL_LOAD } from '@decorum/sending/http'
import { type KeepTools, keep } from '../sink/keep.ts'
import type { Page } from '../sink/sink.ts'
import type { Tools } from '../tools.ts'
import { DecodedStart, saysOf, startBytesFor } from './page-says.ts'
import { readAskedForLess, readFailure, readPage, readRedirect, revisitOf } from './read-page.ts'
import { shapedAsk } from './shaped-ask.ts'

export type PageTools = KeepTools &
  Pick<Tools, 'connections' | 'siteAnswers' | 'pageMaxBytes' | 'maxAttempts' | 'honourNoarchive'> & {
    ledger: Pick<Tools['ledger'], 'wall' | 'partitionOf'>
  }

export async function fetchPage(order: Order, agent: Agent, lease: UsedLease, tools: PageTools): Promise<Fetched> {
  const { connections, sink, ledger, siteAnswers, maxAttempts } = tools
  const { origin, path, request } = order
  const asked = shapedAsk(agent, request, { deadlineMs: lease.deadlineMs(), maxBytes: tools.pageMaxBytes })
  const result = await exchange({
    way: connections.lane(agent, origin),
    origin,
    path,
    ...asked,
    lastCheck: (address) => lease.lastCheck(address),
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
    const isKept = sink.keepsBodies && request?.method !== 'HEAD' // the answer to a HEAD is in its outcome as a whole
    const kept = () => pageOf(order, agent, asked.headers, result)
    const redirect = readRedirect(result, about)
    if (redirect !== undefined) {
      if (isKept) await keep(kept(), lease.keepMs(), tools)
      return redirect
    }
    const url = orderUrl(order)
    const start = new DecodedStart(result.headers)
    const saysAtOnce = isCoded(result.headers) ? undefined : saysOf(url, result, agent, start)
    // For a small page both are at hand, and awaiting them would cost as much as making the digest.
    const [digesting, decoded] = [body.digest(), decodedLength(result, (piece) => start.take(piece))]
    const digest = `sha1:${base32(digesting instanceof Promise ? await digesting : digesting)}`
    const decodedBytes = decoded instanceof Promise ? await decoded : decoded
    const says = isCoded(result.headers) ? saysOf(url, result, agent, start) : saysAtOnce
    const mayKeep = !tools.honourNoarchive || says?.robots?.includes('noarchive') !== true
    const revisit = revisitOf(order, result, digest)
    let archive: ArchiveRef | undefined
    if (isKept && mayKeep && revisit === undefined) archive = await keep(kept(), lease.keepMs(), tools)
    else if (isKept && mayKeep && revisit !== undefined && sink.keepsRevisits) {
      const payloadDigest = revisit === 'identical-payload-digest' ? digest : request?.knownDigest
      await keep({ ...kept(), revisit: { kind: revisit, digest: payloadDigest } }, lease.keepMs(), tools) // no page lies there
    }
    const fetched = readPage(result, about, { digest, decodedBytes, archive, says })
    siteAnswers.heard(origin, result.status, fetched.outcome.at)
    return fetched
  } finally {
    if (body.isKept) await body.discard().catch(() => {}) // a temporary file that cannot be closed does no harm
  }
}

function pageOf(order: Order, agent: Agent, headers: string[], answer: Answer): Page {
  const { origin, path, id, meta } = order
  const head = requestHead(origin, path, headers, answer.protocol)
  const page: Page = { kind: 'page', url: orderUrl(order), agent: agent.name, requestHead: head, answer, id }
  if (meta !== undefined) page.meta = meta
  return page
}
