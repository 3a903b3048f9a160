/** ⑤ One page: a request under its lease, and what the lane and the candidate are told of it. */

import type { Agent } from '@decorum/config'
import type { SiteLoad } from '@decorum/ledger'
import {
  type ArchiveRef,
  type Candidate,
  type Order,
  type Outcome,
  type OutcomeBody,
  orderUrl,
} from '@decorum/protocol'
import type { LaneConnections } from '../http/connections.ts'
import { decodedLength, isCoded } from '../http/decoded-length.ts'
import { base32 } from '../http/digest.ts'
import { type Answer, exchange, type NoAnswer } from '../http/exchange.ts'
import { failureOf, isFinal, meaningOf, moodOf } from '../http/read-answer.ts'
import { candidateOf, type Target, targetOf } from '../http/redirect.ts'
import { headersOf, requestHead } from '../http/request-head.ts'
import { PAGE_MAX_HOPS } from '../limits.ts'
import type { Lease } from '../orders/lease.ts'
import { type Page, type Sink, storeInTime } from '../sink/sink.ts'

export type PageTools = {
  connections: LaneConnections
  sink: Sink
  pageMaxBytes: number
  maxAttempts: number
  /** Redis's clock, ms */
  now: () => number
  /** the sink could not keep a page */
  onSinkError: (error: unknown) => void
}

export type PageResult = {
  load: SiteLoad
  /** undefined: the URL stays at the head of its lane */
  outcome?: Outcome
  candidate?: Candidate & { id: string }
  /** the last byte or the failure, on `performance.now()` */
  endedAt: number
  /** the exchange, ms; absent when nothing was sent */
  tookMs?: number
  /** for counting: what happened, and octets of the body */
  what: string
  bytes: number
}

/** What a page needs of its lease. */
export type PageLease = Pick<Lease, 'deadlineMs' | 'lastCheck' | 'confirm'>

export async function fetchPage(order: Order, agent: Agent, lease: PageLease, tools: PageTools): Promise<PageResult> {
  const headers = headersOf(agent)
  const result = await exchange({
    way: tools.connections.lane(agent, order.origin),
    origin: order.origin,
    path: order.path,
    headers,
    deadlineMs: lease.deadlineMs(),
    maxBytes: tools.pageMaxBytes,
    lastCheck: () => lease.lastCheck(),
    confirm: () => lease.confirm(),
    keepBody: (answer) => tools.sink.keepsBodies || isCoded(answer),
  })
  if (result.kind === 'not-sent') return { load: FINE, endedAt: result.endedAt, what: 'not-sent', bytes: 0 }
  if (result.kind === 'unanswered') return unanswered(order, agent, result, tools)
  const { body } = result
  try {
    const meaning = meaningOf(result.status)
    if (meaning === 'asked-for-less') return tooFast(order, agent, result, tools)
    const target = meaning === 'redirect' ? targetOf(result.headers, orderUrl(order)) : NO_TARGET
    const archive = tools.sink.keepsBodies ? await keep(order, agent, result, tools) : undefined
    if (target.kind !== 'none') return redirected(order, agent, result, target, tools)
    // Most digests and lengths are at hand: an await costs as much as a small page's digest.
    const [digest, decoded] = [body.digest(), decodedLength(result)]
    const told = fetched(
      result,
      digest instanceof Promise ? await digest : digest,
      decoded instanceof Promise ? await decoded : decoded,
      archive,
    )
    return { ...doneBy(result), load: FINE, what: 'fetched', outcome: outcome(order, agent, tools, told) }
  } finally {
    if (body.isKept) await body.discard().catch(() => {}) // a temporary file that cannot be closed harms nobody
  }
}

const FINE: SiteLoad = { kind: 'normal' }
const NO_TARGET = { kind: 'none' } as const

const doneBy = ({ endedAt, timing, body }: Answer) => ({ endedAt, tookMs: timing.totalMs, bytes: body.bytes })

/** 429 or 503: it is the rate that was wrong, not the page. */
function tooFast(order: Order, agent: Agent, answer: Answer, tools: PageTools): PageResult {
  const { status } = answer
  const what = status === 429 ? 'rate-limited' : 'server-error'
  const done = { ...doneBy(answer), load: moodOf(answer, tools.now()), what }
  if (order.attempt < tools.maxAttempts) return done
  const detail = `status ${status} in ${order.attempt} attempts`
  return { ...done, outcome: outcome(order, agent, tools, { kind: 'failed', reason: what, status, detail }) }
}

function redirected(
  order: Order,
  agent: Agent,
  answer: Answer,
  target: Exclude<Target, { kind: 'none' }>,
  tools: PageTools,
): PageResult {
  const { status } = answer
  const done = { ...doneBy(answer), load: FINE }
  const failing = (what: 'bad-redirect' | 'too-many-redirects', why: string): PageResult => ({
    ...done,
    what,
    outcome: failed(order, agent, tools, what, why, status),
  })
  if (target.kind === 'unusable') return failing('bad-redirect', target.why)
  if (order.hops >= PAGE_MAX_HOPS) return failing('too-many-redirects', `${order.hops} redirects before this one`)
  const candidate = candidateOf(order, agent.name, target.url)
  const to = { kind: 'redirected', status, to: target.url, candidate: candidate.id } as const
  return { ...done, what: 'redirected', outcome: outcome(order, agent, tools, to), candidate }
}

function fetched(
  answer: Answer,
  digest: Uint8Array,
  decodedBytes: number | undefined,
  archive: ArchiveRef | undefined,
): OutcomeBody {
  const { status, headers, body, truncated, startedAt, timing, address, tls } = answer
  const told: Extract<OutcomeBody, { kind: 'fetched' }> = {
    kind: 'fetched',
    status,
    headers,
    bytes: body.bytes,
    truncated,
    digest: `sha1:${base32(digest)}`,
    startedAt,
    ms: Math.round(timing.totalMs),
    address,
    timing: rounded(timing),
    protocol: 'http/1.1',
  }
  if (decodedBytes !== undefined) told.decodedBytes = decodedBytes
  if (archive !== undefined) told.archive = archive
  if (tls !== undefined) told.tls = tls
  return told
}

/** In tenths of a ms. */
function rounded(timing: Answer['timing']): Answer['timing'] {
  const whole: Answer['timing'] = { totalMs: tenths(timing.totalMs) }
  if (timing.dnsMs !== undefined) whole.dnsMs = tenths(timing.dnsMs)
  if (timing.connectMs !== undefined) whole.connectMs = tenths(timing.connectMs)
  if (timing.tlsMs !== undefined) whole.tlsMs = tenths(timing.tlsMs)
  if (timing.firstByteMs !== undefined) whole.firstByteMs = tenths(timing.firstByteMs)
  return whole
}
const tenths = (ms: number): number => Math.round(ms * 10) / 10

function unanswered(
  order: Order,
  agent: Agent,
  { error, phase, endedAt, timing }: NoAnswer,
  tools: PageTools,
): PageResult {
  const failure = failureOf(error, phase)
  const done = { endedAt, tookMs: timing.totalMs, what: failure, bytes: 0 }
  if (failure === 'no-contact') {
    return {
      ...done,
      load: { kind: 'normal' },
      outcome: outcome(order, agent, tools, { kind: 'refused', reason: 'no-contact' }),
    }
  }
  const reason = failure === 'nxdomain' ? 'dns' : failure
  if (isFinal(failure))
    return { ...done, load: { kind: 'normal' }, outcome: failed(order, agent, tools, reason, error.message) }
  const load: SiteLoad = { kind: 'no-answer' }
  return order.attempt < tools.maxAttempts
    ? { ...done, load }
    : { ...done, load, outcome: failed(order, agent, tools, reason, error.message) }
}

type Reason = Extract<OutcomeBody, { kind: 'failed' }>['reason']

const failed = (
  order: Order,
  agent: Agent,
  tools: PageTools,
  reason: Reason,
  detail: string,
  status?: number,
): Outcome =>
  outcome(order, agent, tools, {
    kind: 'failed',
    reason,
    ...(status === undefined ? {} : { status }),
    detail: detail.slice(0, 512),
  })

function outcome(order: Order, agent: Agent, tools: PageTools, body: OutcomeBody): Outcome {
  const whose = {
    id: order.id,
    url: orderUrl(order),
    agent: agent.name,
    at: Math.round(tools.now()),
    attempts: order.attempt,
  }
  const told: Outcome = Object.assign(body, whose)
  if (order.meta !== undefined) told.meta = order.meta
  return told
}

async function keep(
  order: Order,
  agent: Agent,
  answer: Answer,
  { sink, onSinkError }: PageTools,
): Promise<ArchiveRef | undefined> {
  const url = orderUrl(order)
  const head = requestHead(order.origin, order.path, headersOf(agent))
  const page: Omit<Page, 'answer'> = { kind: 'page', url, agent: agent.name, requestHead: head, id: order.id }
  if (order.meta !== undefined) page.meta = order.meta
  try {
    return await storeInTime(sink, { ...page, answer })
  } catch (error) {
    onSinkError(error)
    return undefined
  }
}
