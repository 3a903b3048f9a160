/** One page: its exchange, the part of the answer that is kept, and the facts read from it. */

import type { Agent } from '@decorum/config'
import { type ArchiveRef, base32, isConditional, linesOf, meaningOf, type Order, orderUrl } from '@decorum/protocol'
import { defined } from '@decorum/runtime'
import {
  type Fetched,
  type FetchedBody,
  NORMAL_LOAD,
  readLessLoad,
  readFailure,
  readPage,
  readRedirect,
  type UsedLease,
} from '@decorum/sending'
import { type Answer, decodedLength, fieldsThatFit, isCoded, requestHead } from '@decorum/sending/bodies'
import { exchange, failureOf } from '@decorum/sending/http'
import { type KeepTools, keep } from '../sink/keep.ts'
import type { Page, Revisit } from '../sink/sink.ts'
import type { Tools } from '../tools.ts'
import { DecodedStart, statementsOf, startBytesFor } from './page-says.ts'
import { shapedRequest } from './shaped-ask.ts'

export type PageTools = KeepTools &
  Pick<Tools, 'connections' | 'siteAnswers' | 'pageMaxBytes' | 'maxAttempts'> & {
    ledger: Pick<Tools['ledger'], 'wall' | 'partitionOf' | 'clock'>
  }

export async function fetchPage(order: Order, agent: Agent, lease: UsedLease, tools: PageTools): Promise<Fetched> {
  const { connections, sink, ledger, siteAnswers, maxAttempts } = tools
  const { origin, path, request } = order
  const shaped = shapedRequest(agent, request, { deadlineMs: lease.deadlineMs(), maxBytes: tools.pageMaxBytes })
  const result = await exchange({
    way: connections.lane(agent, origin),
    origin,
    path,
    ...shaped,
    lastCheck: (address) => lease.lastCheck(address),
    confirm: () => lease.confirm(),
    keepBody: (received) => sink.keepsBodies || isCoded(received),
    startBytes: startBytesFor,
  })
  const now = (): number => ledger.wall(ledger.partitionOf(origin))
  // In the time of the outcome's `at`, which is Redis's clock, and not this machine's
  result.startedAt = Math.round(now() - (ledger.clock.monotonic() - result.endedAt) - result.timing.totalMs)
  if (result.kind === 'not-sent') return { what: 'not-sent', endedAt: result.endedAt, bytes: 0, load: NORMAL_LOAD }
  const most = Math.min(order.maxAttempts ?? maxAttempts, maxAttempts)
  const about = { order, agent, maxAttempts: most, now }
  const took = { endedAt: result.endedAt, tookMs: result.timing.totalMs }
  if (result.kind === 'unanswered') {
    const { error, phase } = result
    return { ...took, bytes: 0, ...readFailure(failureOf(error, phase), error.message, about) }
  }
  const { status, headers, body } = result
  const ofHead = result.tolerated.length > 0 ? result.tolerated : undefined
  const answered = { ...about, retryAfter: linesOf(headers, 'retry-after'), ...defined({ tolerated: ofHead }) }
  const done = { ...took, bytes: body.bytes }
  try {
    if (meaningOf(status) === 'asked-for-less') return { ...done, ...readLessLoad(status, answered) }
    const isKept = sink.keepsBodies && request?.method !== 'HEAD' // the outcome contains the whole answer to a HEAD
    const kept = () => pageOf(order, agent, shaped.headers, result)
    const redirect = readRedirect(status, headers, answered)
    if (redirect !== undefined) {
      if (isKept) await keep(kept(), lease.keepMs(), tools)
      return { ...done, ...redirect }
    }
    const url = orderUrl(order)
    const start = isCoded(headers) ? new DecodedStart(headers) : undefined
    const statesAtOnce = start === undefined ? statementsOf(url, headers, agent, body.start()) : undefined
    // For a small page neither is a promise, and awaiting them would cost as much as making the digest.
    const [digesting, decoded] = [body.digest(), decodedLength(ledger.clock, result, (piece) => start?.take(piece))]
    const digest = `sha1:${base32(digesting instanceof Promise ? await digesting : digesting)}`
    const { bytes: decodedBytes, tolerated: ofCoding, isCut } = decoded instanceof Promise ? await decoded : decoded
    if (isCut) result.truncated = 'disconnect' // readers of the kept page read the part that arrived, as for any page that broke off
    const says = start === undefined ? statesAtOnce : statementsOf(url, headers, agent, start.pieces())
    const mayKeep = !agent.honourNoarchive || says?.robots?.includes('noarchive') !== true
    const revisit = revisitOf(order, result, digest)
    let archive: ArchiveRef | undefined
    if (isKept && mayKeep && revisit === undefined) archive = await keep(kept(), lease.keepMs(), tools)
    else if (isKept && mayKeep && revisit !== undefined && sink.keepsRevisits) {
      const payloadDigest = revisit === 'identical-payload-digest' ? digest : request?.knownDigest
      await keep({ ...kept(), revisit: { kind: revisit, digest: payloadDigest } }, lease.keepMs(), tools) // its reference names no page
    }
    const unchanged = revisit === undefined ? undefined : true
    result.tolerated.push(...ofCoding)
    const tolerated = result.tolerated.length > 0 ? result.tolerated : undefined
    const found = defined({ decodedBytes, archive, says, unchanged, tls: result.tls, tolerated })
    const read = readPage(Object.assign(fetchedBody(result, digest), found), answered)
    if (read.outcome.kind === 'fetched' && tolerated?.includes('large-head'))
      read.outcome.headers = fieldsThatFit(headers)
    siteAnswers.record(origin, status, read.outcome.at)
    return Object.assign(read, done)
  } finally {
    if (body.isKept) await body.discard().catch(() => {}) // a temporary file that cannot be closed does no harm
  }
}

function pageOf(order: Order, agent: Agent, headers: string[], answer: Answer): Page {
  const { origin, path, id, meta } = order
  const head = requestHead(origin, path, headers, answer.protocol)
  const url = orderUrl(order)
  return { kind: 'page', url, agent: agent.name, requestHead: head, answer, id, ...defined({ meta }) }
}

/** The evidence in an answer that the page is unchanged; undefined: there is none. @param digest  digest of the body */
function revisitOf({ request }: Order, { status, truncated }: Answer, digest: string): Revisit | undefined {
  if (status === 304 && isConditional(request)) return 'server-not-modified'
  const isWhole = status >= 200 && status < 300 && truncated === ''
  return isWhole && request?.knownDigest === digest ? 'identical-payload-digest' : undefined
}

function fetchedBody(answer: Answer, digest: string): FetchedBody {
  const { status, headers, body, truncated, startedAt, timing, address, protocol } = answer
  return {
    kind: 'fetched',
    status,
    headers,
    bytes: body.bytes,
    truncated,
    digest,
    startedAt,
    ms: Math.round(timing.totalMs),
    address,
    timing: inWholeMs(timing),
    protocol,
  }
}

/** Numbers in outcomes are integers: polars infers an integer column from its first lines, and fails at the first other number. */
function inWholeMs(timing: Answer['timing']): Answer['timing'] {
  const rounded = { ...timing }
  for (const phase in rounded) {
    const ms = rounded[phase as keyof typeof rounded]
    if (ms !== undefined) rounded[phase as keyof typeof rounded] = Math.round(ms)
  }
  return rounded
}
