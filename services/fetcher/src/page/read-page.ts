/** What an answer to a page, or its absence, says about the candidate and about the load of the site. Pure. */

import type { Agent } from '@decorum/config'
import {
  type ArchiveRef,
  candidateOf,
  isConditional,
  meaningOf,
  type Order,
  type Outcome,
  type OutcomeBody,
  orderUrl,
  outcomeOf,
  PAGE_MAX_HOPS,
  type PageSays,
  targetOf,
} from '@decorum/protocol'
import type { Fetched } from '@decorum/sending'
import type { Answer, NoAnswer } from '@decorum/sending/bodies'
import { failureOf, isFinal, loadOf, NORMAL_LOAD, TURNED_AWAY } from '@decorum/sending/http'
import type { Revisit } from '../sink/sink.ts'

/** What is read from an answer depends on. */
export type About = {
  order: Order
  agent: Agent
  maxAttempts: number
  /** Redis's clock, ms */
  now(): number
}

/** No answer: the URL is tried again until its attempts are spent, unless another try cannot help. */
export function readFailure({ error, phase, endedAt, timing }: NoAnswer, about: About): Fetched {
  const failure = failureOf(error, phase)
  const done: Fetched = { endedAt, tookMs: timing.totalMs, what: failure, bytes: 0, load: NORMAL_LOAD }
  if (failure === 'no-contact') return { ...done, outcome: outcome(about, { kind: 'refused', reason: failure }) }
  const isLast = isFinal(failure) || about.order.attempt >= about.maxAttempts
  if (!isFinal(failure)) done.load = { kind: 'no-answer' }
  if (isLast) done.outcome = failed(about, failure === 'nxdomain' ? 'dns' : failure, error.message)
  return done
}

/** 429 or 503: the rate was wrong, not the page. */
export function readAskedForLess(answer: Answer, about: About): Fetched {
  const { status } = answer
  const { attempt } = about.order
  const what = status === 429 ? 'rate-limited' : 'server-error'
  const done = { ...doneBy(answer), what, load: loadOf(answer) }
  if (attempt < about.maxAttempts) return done
  return { ...done, outcome: failed(about, what, `status ${status} in ${attempt} attempts`, status) }
}

/** undefined: the answer is no redirect, or one without a target or to be reported, which is a page like any other. */
export function readRedirect(answer: Answer, about: About): Fetched | undefined {
  const { order, agent } = about
  if (meaningOf(answer.status) !== 'redirect' || order.request?.redirects === 'report') return undefined
  const target = targetOf(answer.headers, orderUrl(order))
  if (target.kind === 'none') return undefined
  const { status } = answer
  const failing = (what: 'bad-redirect' | 'too-many-redirects', why: string): Fetched => ({
    ...doneBy(answer),
    what,
    outcome: failed(about, what, why, status),
  })
  if (target.kind === 'unusable') return failing('bad-redirect', target.why)
  if (order.hops >= PAGE_MAX_HOPS) return failing('too-many-redirects', `${order.hops} redirects before this one`)
  const candidate = candidateOf(order, agent.name, target.url)
  const body = { kind: 'redirected', status, to: target.url, candidate: candidate.id } as const
  return { ...doneBy(answer), what: 'redirected', outcome: outcome(about, body), candidate }
}

/** How an answer shows that the page is as the frontier knows it; undefined: it does not. @param digest  of its body */
export function revisitOf({ request }: Order, { status, truncated }: Answer, digest: string): Revisit | undefined {
  if (status === 304 && isConditional(request)) return 'server-not-modified'
  const isWhole = status >= 200 && status < 300 && truncated === false
  return isWhole && request?.knownDigest === digest ? 'identical-payload-digest' : undefined
}

/** Any other answer, whatever its status. */
export function readPage(
  answer: Answer,
  about: About,
  made: {
    digest: string
    decodedBytes: number | undefined
    archive: ArchiveRef | undefined
    says: PageSays | undefined
  },
): Fetched & { outcome: Outcome } {
  const { status, headers, body, truncated, startedAt, timing, address, protocol, tls } = answer
  const outcomeBody: Extract<OutcomeBody, { kind: 'fetched' }> = {
    kind: 'fetched',
    status,
    headers,
    bytes: body.bytes,
    truncated,
    digest: made.digest,
    startedAt,
    ms: Math.round(timing.totalMs),
    address,
    timing: inTenths(timing),
    protocol,
  }
  if (made.decodedBytes !== undefined) outcomeBody.decodedBytes = made.decodedBytes
  if (made.archive !== undefined) outcomeBody.archive = made.archive
  if (made.says !== undefined) outcomeBody.says = made.says
  if (tls !== undefined) outcomeBody.tls = tls
  const { request } = about.order
  if (revisitOf(about.order, answer, outcomeBody.digest) !== undefined) outcomeBody.unchanged = true
  if (request?.redirects === 'report' && meaningOf(status) === 'redirect') {
    const target = targetOf(headers, orderUrl(about.order))
    if (target.kind === 'target') outcomeBody.to = target.url
  }
  const load = status === 403 ? TURNED_AWAY : NORMAL_LOAD
  return { ...doneBy(answer), what: 'fetched', load, outcome: outcome(about, outcomeBody) }
}

const doneBy = ({ endedAt, timing, body }: Answer) => ({
  endedAt,
  tookMs: timing.totalMs,
  bytes: body.bytes,
  load: NORMAL_LOAD,
})

/** In tenths of a ms. */
function inTenths(timing: Answer['timing']): Answer['timing'] {
  const rounded: Answer['timing'] = { totalMs: tenths(timing.totalMs) }
  if (timing.dnsMs !== undefined) rounded.dnsMs = tenths(timing.dnsMs)
  if (timing.connectMs !== undefined) rounded.connectMs = tenths(timing.connectMs)
  if (timing.tlsMs !== undefined) rounded.tlsMs = tenths(timing.tlsMs)
  if (timing.firstByteMs !== undefined) rounded.firstByteMs = tenths(timing.firstByteMs)
  return rounded
}
const tenths = (ms: number): number => Math.round(ms * 10) / 10

type Failed = Extract<OutcomeBody, { kind: 'failed' }>

function failed(about: About, reason: Failed['reason'], why: string, status?: number): Outcome {
  const detail = why.slice(0, 512)
  return outcome(about, { kind: 'failed', reason, detail, ...(status !== undefined && { status }) })
}

function outcome({ order, agent, now }: About, body: OutcomeBody): Outcome {
  const { id, attempt, crawl, meta } = order
  const at = Math.round(now())
  return outcomeOf({ id, url: orderUrl(order), agent: agent.name, at, attempts: attempt, crawl, meta }, body)
}
