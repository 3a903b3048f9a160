/**
 * The meaning of an answer to a page, or of its absence, for the URL and for the load of the site: the same for fetchers of the fleet
 * and workers of pools. Pure.
 */
import type { Agent } from '@decorum/config'
import type { SiteLoad } from '@decorum/ledger'
import {
  type ArchiveRef,
  candidateOf,
  type FailureReason,
  meaningOf,
  type Order,
  type Outcome,
  type OutcomeBody,
  orderUrl,
  outcomeOf,
  PAGE_MAX_HOPS,
  type RedirectedOrder,
  type Tolerated,
  targetOf,
} from '@decorum/protocol'
import { readRetryAfter } from '@decorum/robots'
import { defined } from '@decorum/runtime'
import type { Happened } from './ledger.ts'
import { loadOf, loadOfPage, NORMAL_LOAD } from './load.ts'

/** Reasons for a missing answer, as the outcome of a page names them. The last two are final: another try cannot help. */
export const NO_ANSWER = [
  'dns',
  'connect',
  'tls',
  'timeout',
  'reset',
  'protocol',
  'blocked-address',
  'blocked-port',
] as const satisfies FailureReason[]
/** `nxdomain` and `no-contact` are separate here; the outcome of a page calls them dns and refused. */
export type Failure = (typeof NO_ANSWER)[number] | 'nxdomain' | 'no-contact'

/** Facts besides the answer that decide its meaning. */
export type AboutPage = {
  order: RedirectedOrder & Pick<Order, 'origin' | 'path' | 'attempt'>
  agent: Agent
  maxAttempts: number
  /** Redis's clock, ms */
  now(): number
  /** the lines of Retry-After, if there is an answer */
  retryAfter?: readonly string[]
  /** tolerated faults of the answer; absent: none */
  tolerated?: Tolerated[]
}

/** Without an outcome the URL is tried again. `what`: a failure or a kind of outcome, for metrics */
export type PageRead = Pick<Happened, 'load' | 'outcome' | 'candidate' | 'candidateAfter'> & { what: string }

export type FetchedBody = Extract<OutcomeBody, { kind: 'fetched' }>

/** A page that a worker of a pool has fetched and whose body it sent. */
export type PageOfWorker = Pick<Order, 'origin' | 'path' | 'id' | 'meta'> &
  Pick<FetchedBody, 'status' | 'headers' | 'truncated' | 'startedAt' | 'ms' | 'address'> & {
    agent: Agent
    /** the headers of the request, as sent */
    requestHeaders: [string, string][]
    /** the body of the answer without content coding */
    body: Buffer
  }
/** Keeps pages that workers fetched. */
export type PagesOfWorkers = {
  /** @returns where the page is kept; undefined when the sink does not report that. @throws when it cannot be kept */
  keep(page: PageOfWorker, signal: AbortSignal): Promise<ArchiveRef | undefined>
  /** @returns undefined when there is room, otherwise a promise that resolves when there is room again */
  room(): Promise<void> | undefined
  close(): Promise<void>
}

/** Without an answer the URL is tried again until its attempts are spent, unless another try cannot help. */
export function readFailure(what: Failure, why: string, about: AboutPage): PageRead {
  if (what === 'no-contact')
    return { what, load: NORMAL_LOAD, outcome: outcome(about, { kind: 'refused', reason: what }) }
  const isFinal = what === 'blocked-address' || what === 'blocked-port'
  const load: SiteLoad = isFinal ? NORMAL_LOAD : { kind: 'no-answer' }
  if (!isFinal && about.order.attempt < about.maxAttempts) return { what, load }
  return { what, load, outcome: failed(about, what === 'nxdomain' ? 'dns' : what, why) }
}

/** Reads a 429 or 503: the rate was wrong, not the page. */
export function readLessLoad(status: number, about: AboutPage): PageRead {
  const load = loadOf(status, about.retryAfter)
  const { attempt } = about.order
  const what = status === 429 ? 'rate-limited' : 'server-error'
  if (attempt < about.maxAttempts) return { what, load }
  return { what, load, outcome: failed(about, what, `status ${status} in ${attempt} attempts`, status) }
}

/** @returns undefined when the answer is no redirect, has no target, or is to be reported like any other page */
export function readRedirect(status: number, headers: FetchedBody['headers'], about: AboutPage): PageRead | undefined {
  const { order, agent } = about
  if (meaningOf(status) !== 'redirect' || order.request?.redirects === 'report') return undefined
  const target = targetOf(headers, orderUrl(order))
  if (target.kind === 'none') return undefined
  const failing = (what: 'bad-redirect' | 'too-many-redirects', why: string): PageRead => ({
    what,
    load: NORMAL_LOAD,
    outcome: failed(about, what, why, status),
  })
  if (target.kind === 'unusable') return failing('bad-redirect', target.why)
  // No cookie is kept, so the same request would be answered the same way again (docs/decisions/0030-written-otherwise.md).
  if (target.url === orderUrl(order)) return failing('too-many-redirects', 'it redirects to itself')
  if (order.hops >= PAGE_MAX_HOPS) return failing('too-many-redirects', `${order.hops} redirects before this one`)
  const candidate = candidateOf(order, agent.name, target.at)
  const marks = defined({ tolerated: about.tolerated })
  const body = { kind: 'redirected', status, to: target.url, candidate: candidate.id, ...marks } as const
  const candidateAfter = readRetryAfter(about.retryAfter) // it delays only the redirected request (RFC 9110 §10.2.3)
  return { what: body.kind, load: NORMAL_LOAD, outcome: outcome(about, body), candidate, candidateAfter }
}

/** Reads every answer but a followed redirect, a 429 and a 503. @param body  is changed: the target of a reported redirect is added */
export function readPage(body: FetchedBody, about: AboutPage): PageRead & { outcome: Outcome } {
  const { kind, status, headers } = body
  const target = meaningOf(status) === 'redirect' ? targetOf(headers, orderUrl(about.order)) : undefined
  if (target?.kind === 'target') body.to = target.url
  const load = target === undefined || target.kind === 'none' ? loadOfPage(status, about.retryAfter) : NORMAL_LOAD
  return { what: kind, load, outcome: outcome(about, body) }
}

function failed(about: AboutPage, reason: FailureReason, why: string, status?: number): Outcome {
  const detail = why.slice(0, 512)
  return outcome(about, { kind: 'failed', reason, detail, ...defined({ status, tolerated: about.tolerated }) })
}

function outcome({ order, agent, now }: AboutPage, body: OutcomeBody): Outcome {
  const { id, attempt, crawl, meta } = order
  return outcomeOf({ id, url: orderUrl(order), agent: agent.name, at: now(), attempts: attempt, crawl, meta }, body)
}
