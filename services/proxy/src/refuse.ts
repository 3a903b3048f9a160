/** An answer of the proxy itself: a problem (RFC 9457), with the reason in Proxy-Status (RFC 9209). */

import { LedgerUnavailableError } from '@decorum/ledger'
import { PROBLEM_TYPE, problemBody } from '@decorum/protocol'
import type { UnansweredReason } from '@decorum/robots'
import { GoneError, Problem, type ProblemType, type Wish } from '@decorum/sending/granting'
import type { Logger } from 'pino'
import type { Reply } from './message.ts'

/** An answer for the client: `error` is the type of RFC 9209, `detail` a sentence. */
export type Refusal = { status: number; type: string; error: ErrorType; detail: string; more?: Record<string, unknown> }

/** The word under which a refusal is counted: its type, or the reason of a request that is never granted. */
export const kindOf = ({ type, more = {} }: Refusal): string =>
  type === 'refused' && typeof more.reason === 'string' ? more.reason : type

/** Error types of Proxy-Status (RFC 9209 §2.3). */
export type ErrorType =
  | 'connection_limit_reached'
  | 'connection_refused'
  | 'connection_terminated'
  | 'destination_ip_prohibited'
  | 'destination_unavailable'
  | 'dns_error'
  | 'http_protocol_error'
  | 'http_request_denied'
  | 'http_request_error'
  | 'http_response_timeout'
  | 'proxy_internal_error'
  | 'proxy_loop_detected'
  | 'tls_certificate_error'

/** Answers by type of problem. Requests that are never granted get the default, 403: crawlers treat no other status as final. */
const BY_TYPE: Partial<Record<ProblemType, [status: number, error: ErrorType]>> = {
  'bad-request': [400, 'http_request_error'],
  'unknown-agent': [400, 'http_request_error'],
  unauthorized: [407, 'http_request_denied'],
  quota: [503, 'connection_limit_reached'],
  busy: [503, 'connection_limit_reached'],
  'ledger-away': [503, 'destination_unavailable'],
}
const GUARDED = new Set(['guarded-address', 'guarded-port'])

/** The answer to the client for an error. */
export function refusalOf(error: unknown, log: Pick<Logger, 'error'>): Refusal {
  if (error instanceof Problem) return ofProblem(error)
  if (error instanceof GoneError) return ofProblem(new Problem('busy', 'this process is about to end: ask again'))
  if (error instanceof LedgerUnavailableError)
    return ofProblem(new Problem('ledger-away', 'Redis does not answer: ask again'))
  log.error({ err: error }, 'a request failed')
  const detail = 'the log of this process says why'
  return { status: 500, type: 'internal', error: 'proxy_internal_error', detail }
}

function ofProblem({ type, message, more }: Problem): Refusal {
  const [failedAs, why] = FAILED[String(more.reason)] ?? []
  if (type === 'unreachable' && failedAs !== undefined && why !== undefined)
    return { status: failedAs, type, error: why, detail: message, more }
  const guarded = GUARDED.has(String(more.reason)) ? 'destination_ip_prohibited' : 'http_request_denied'
  const [status, error] = BY_TYPE[type] ?? [403, guarded]
  return { status, type, error, detail: message, more }
}

/** Answers by reason of failure, for a request that was, or should have been, sent. */
const FAILED: Record<string, [status: number, error: ErrorType]> = {
  dns: [502, 'dns_error'],
  nxdomain: [502, 'dns_error'],
  connect: [502, 'connection_refused'],
  tls: [502, 'tls_certificate_error'],
  timeout: [504, 'http_response_timeout'],
  reset: [502, 'connection_terminated'],
  protocol: [502, 'http_protocol_error'],
  'blocked-address': [403, 'destination_ip_prohibited'],
  'blocked-port': [403, 'destination_ip_prohibited'],
  'no-contact': [403, 'http_request_denied'],
}

export function refuse(reply: Reply, { status, type, error, detail, more = {} }: Refusal): void {
  if (reply.headersSent) {
    reply.destroy()
    return
  }
  const body = JSON.stringify({ ...problemBody(status, type, detail), ...more })
  const headers = ['content-type', PROBLEM_TYPE, 'content-length', String(Buffer.byteLength(body))]
  headers.push('proxy-status', statusField(error, detail))
  if (status === 407) headers.push('proxy-authenticate', 'Basic realm="decorum"')
  if (status === 503) headers.push('retry-after', retryAfter(more.retryAfterMs))
  reply.head(status, '', headers, true)
  reply.end(body)
}

/**
 * Failures that a client without a proxy would have met at once: the site's name does not exist, nothing listens, or its certificate is
 * wrong. If the site answers with an error, the request waits.
 */
export const whyUnreachable = (reason: UnansweredReason, { origin, url }: Wish): Problem | undefined =>
  Object.hasOwn(FAILED, reason)
    ? new Problem('unreachable', `the robots.txt of ${origin} could not be fetched: ${reason}`, { url, reason })
    : undefined

/** The refusal of a request whose site could not be reached, or gave no answer. @param reason  as @decorum/sending names it */
export function failed({ message }: Error, reason: string, origin: string): Refusal {
  const [status, error] = FAILED[reason] ?? [502, 'connection_terminated']
  return { status, type: reason, error, detail: `${origin}: ${message}` }
}

const retryAfter = (ms: unknown): string => String(Math.max(1, Math.ceil(Number(ms ?? 1_000) / 1_000)))

/** The value of Proxy-Status: a list with one item. The sentence becomes a string of RFC 8941, which is printable ASCII. */
const statusField = (error: ErrorType, detail: string): string =>
  `decorum; error=${error}; details="${detail.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`

/** The whole answer as text, for a client whose tunnel is refused. */
export function refusalText({ status, type, error, detail, more = {} }: Refusal): string {
  const body = JSON.stringify({ ...problemBody(status, type, detail), ...more })
  const lines = [
    `HTTP/1.1 ${status} Refused`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `proxy-status: ${statusField(error, detail)}`,
    'connection: close',
  ]
  if (status === 407) lines.push('proxy-authenticate: Basic realm="decorum"')
  if (status === 503) lines.push(`retry-after: ${retryAfter(more.retryAfterMs)}`)
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
