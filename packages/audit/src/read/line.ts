/** The kinds of log lines, in any format. */
import { pathOf, urlOf } from '../origin.ts'
import type { RequestLine, RobotsLine } from '../record.ts'

/** Why a line was set aside; the key of `setAside.byReason`. */
export type Reason = 'unreadable' | 'no-times' | 'no-origin' | 'bad-request' | 'too-long' | 'cut'

export type ReadLine =
  | { kind: 'request'; line: RequestLine; format: string }
  | { kind: 'robots'; line: RobotsLine }
  /** a request line that is not HTTP, as from port scanners */
  | { kind: 'no-request' }
  /** a comment, an empty line */
  | { kind: 'nothing' }
  | { kind: 'odd'; reason: Reason; why: string }

export const odd = (reason: Reason, why: string): ReadLine => ({ kind: 'odd', reason, why })
export const NO_REQUEST: ReadLine = { kind: 'no-request' }

/** Statuses of nginx: the client closed the connection; the server closed it without an answer. */
export const CLOSED_BY_CLIENT = 499
export const CLOSED_BY_SERVER = 444

export type Parts = {
  origin: string | undefined
  agent: string
  method: string
  /** path and query, or an absolute URL */
  target: string
  start: number
  end: number
  status: number
  retryAfter?: string | undefined
  location?: string | undefined
  /** unit to which the log's instants were rounded down, ms */
  resolution?: number
  format: string
}

const METHOD = /^[A-Z]{1,20}$/

/** One object shape for every format, for speed: a million of them are made. */
export function requestOf(parts: Parts): ReadLine {
  const { agent, method, target, start, end, status, retryAfter, location, resolution, format } = parts
  if (!METHOD.test(method)) return NO_REQUEST
  let { origin } = parts
  let path = target
  if (!target.startsWith('/')) {
    const url = urlOf(target)
    if (url === null || url.origin === 'null') return NO_REQUEST
    origin = url.origin
    path = pathOf(url)
  }
  if (origin === undefined)
    return odd('no-origin', 'it names no origin; add it to the log format (docs/audit.md), or give --origin')
  if (!Number.isFinite(start) || !Number.isFinite(end)) return odd('no-times', 'its times are no numbers')
  if (!Number.isInteger(status) || status < 0 || status > 999) return odd('bad-request', 'its status is no number')
  if (end < start) return odd('bad-request', 'it ends before it starts')
  const closed = status === CLOSED_BY_CLIENT || status === CLOSED_BY_SERVER
  const line: RequestLine = { kind: 'request', origin, agent, method, path, start, end, status: closed ? 0 : status }
  if (status === CLOSED_BY_CLIENT) line.cut = true
  if (retryAfter) line.retryAfter = retryAfter
  if (location) line.location = location
  if (resolution !== undefined) line.resolution = resolution
  return { kind: 'request', line, format }
}

/** Resolution of a log whose instants are whole seconds, ms: the true instants may be up to this much later. */
export const WHOLE_SECONDS = 999.999
