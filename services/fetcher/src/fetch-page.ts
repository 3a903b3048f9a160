/** ⑤ One page: a request under its lease, and what the lane and the candidate are told of it. */
import type { Mood } from '@decorum/ledger'
import {
  type Agent,
  type ArchiveRef,
  type Candidate,
  type Order,
  type Outcome,
  type OutcomeBody,
  orderUrl,
} from '@decorum/protocol'
import { parseRetryAfter } from '@decorum/robots'
import type { LaneConnections } from './connections.ts'
import { decodedLength, isCoded } from './decoded-length.ts'
import { base32 } from './digest.ts'
import { type Answer, exchange, type NoAnswer } from './exchange.ts'
import type { Lease } from './lease.ts'
import { PAGE_MAX_HOPS } from './limits.ts'
import { failureOf, isFinal, meaningOf, single } from './read-answer.ts'
import { candidateOf, targetOf } from './redirect.ts'
import { headersOf, requestHead } from './request-head.ts'
import { type Page, type Sink, storeInTime } from './sink.ts'

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
  mood: Mood
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

export async function fetchPage(order: Order, agent: Agent, lease: Lease, tools: PageTools): Promise<PageResult> {
  const headers = headersOf(agent)
  const result = await exchange({
    way: tools.connections.lane(agent, order.origin),
    origin: order.origin,
    path: order.path,
    headers,
    deadlineMs: lease.deadlineMs(),
    maxBytes: tools.pageMaxBytes,
    lastCheck: lease.lastCheck,
    keepBody: (answer) => tools.sink.keepsBodies || isCoded(answer),
  })
  if (result.kind === 'answered') return answered(order, agent, result, tools)
  if (result.kind === 'not-sent') return { mood: { kind: 'fine' }, endedAt: result.endedAt, what: 'not-sent', bytes: 0 }
  return unanswered(order, agent, result, tools)
}

async function answered(order: Order, agent: Agent, answer: Answer, tools: PageTools): Promise<PageResult> {
  const { status, headers, body, endedAt, timing } = answer
  const meaning = meaningOf(status)
  const done = { endedAt, tookMs: timing.totalMs, bytes: body.bytes }
  try {
    if (meaning === 'too-fast') {
      const what = status === 429 ? 'rate-limited' : 'server-error'
      const retryAfterMs = parseRetryAfter(single(headers, 'retry-after') ?? undefined, tools.now())
      const mood: Mood = { kind: 'too-fast', ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
      if (order.attempt < tools.maxAttempts) return { ...done, mood, what }
      const detail = `status ${status} in ${order.attempt} attempts`
      return {
        ...done,
        mood,
        what,
        outcome: outcome(order, agent, tools, { kind: 'failed', reason: what, status, detail }),
      }
    }
    const url = orderUrl(order)
    const mood: Mood = { kind: 'fine' }
    const target = meaning === 'redirect' ? targetOf(headers, url) : undefined
    const archive = await keep(order, agent, answer, tools)
    if (target?.kind === 'unusable') {
      return {
        ...done,
        mood,
        what: 'bad-redirect',
        outcome: failed(order, agent, tools, 'bad-redirect', target.why, status),
      }
    }
    if (target?.kind === 'target') {
      if (order.hops >= PAGE_MAX_HOPS) {
        const detail = `${order.hops} redirects before this one`
        return {
          ...done,
          mood,
          what: 'too-many-redirects',
          outcome: failed(order, agent, tools, 'too-many-redirects', detail, status),
        }
      }
      const candidate = candidateOf(order, agent.name, target.url)
      const to = { kind: 'redirected', status, to: target.url, candidate: candidate.id } as const
      return { ...done, mood, what: 'redirected', outcome: outcome(order, agent, tools, to), candidate }
    }
    const told = fetched(answer, await body.digest(), await decodedLength(answer), archive)
    return { ...done, mood, what: 'fetched', outcome: outcome(order, agent, tools, told) }
  } finally {
    if (body.isKept) await body.discard().catch(() => {}) // a temporary file that cannot be closed harms nobody
  }
}

function fetched(
  answer: Answer,
  digest: Uint8Array,
  decodedBytes: number | undefined,
  archive: ArchiveRef | undefined,
): OutcomeBody {
  const { status, headers, body, truncated, startedAt, timing, address, tls } = answer
  return {
    kind: 'fetched',
    status,
    headers,
    bytes: body.bytes,
    ...(decodedBytes === undefined ? {} : { decodedBytes }),
    truncated,
    digest: `sha1:${base32(digest)}`,
    startedAt,
    ms: Math.round(timing.totalMs),
    address,
    ...(archive === undefined ? {} : { archive }),
    timing: rounded(timing),
    protocol: 'http/1.1',
    ...(tls === undefined ? {} : { tls }),
  }
}

const rounded = (timing: Answer['timing']): Answer['timing'] => {
  const whole = { ...timing }
  for (const phase of Object.keys(whole) as (keyof typeof whole)[])
    whole[phase] = Math.round((timing[phase] ?? 0) * 10) / 10
  return whole
}

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
      mood: { kind: 'fine' },
      outcome: outcome(order, agent, tools, { kind: 'refused', reason: 'no-contact' }),
    }
  }
  const reason = failure === 'nxdomain' ? 'dns' : failure
  if (isFinal(failure))
    return { ...done, mood: { kind: 'fine' }, outcome: failed(order, agent, tools, reason, error.message) }
  const mood: Mood = { kind: 'no-answer' }
  return order.attempt < tools.maxAttempts
    ? { ...done, mood }
    : { ...done, mood, outcome: failed(order, agent, tools, reason, error.message) }
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
  return Object.assign(body, whose, order.meta === undefined ? undefined : { meta: order.meta })
}

async function keep(
  order: Order,
  agent: Agent,
  answer: Answer,
  { sink, onSinkError }: PageTools,
): Promise<ArchiveRef | undefined> {
  if (!sink.keepsBodies) return undefined
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
