/** The result of one exchange: an answer, no answer, or nothing sent. */
import type { Tolerated } from '@decorum/protocol'
import type { Dispatcher } from 'undici'
import { LARGE_HEAD_BYTES } from '../limits.ts'
import type { FetchedBody } from '../read-page.ts'
import type { Body } from './body.ts'

/** How far a connection has come; 'sent': the request has left. */
export type Phase = 'dns' | 'connect' | 'tls' | 'open' | 'sent'

export type Timing = NonNullable<FetchedBody['timing']>

export type Common = {
  /** ms since 1970 UTC, of this machine's clock */
  startedAt: number
  /** the last byte or the failure, on `clock.monotonic()` */
  endedAt: number
  timing: Timing
  /** the peer's address, '' when there was no connection */
  address: string
}

/** Header fields as received: order, case and repeats; bytes as Latin-1. */
export type Headers = FetchedBody['headers']

/** The protocol as outcomes and WARC records name it; over HTTP/1 the version is that of the status line. */
export type Protocol = 'http/1.0' | 'http/1.1' | 'h2'

export type Truncated = FetchedBody['truncated']

export type Answer = Common & {
  kind: 'answered'
  status: number
  /** the reason phrase as received, bytes as Latin-1; '' over HTTP/2 */
  statusText: string
  headers: Headers
  body: Body
  truncated: Truncated
  protocol: Protocol
  /** tolerated faults of the answer; usually none */
  tolerated: Tolerated[]
  /** e.g. `TLSv1.3`; absent over plain TCP */
  tls?: string
  /** trailer fields as received; absent where there are none, and in answers read by the second reader */
  trailers?: Headers
}

export type NoAnswer = Common & { kind: 'unanswered'; error: Error; phase: Phase }
/** Nothing left this machine, for a local reason: it says nothing about the site. */
export type NotSent = Common & { kind: 'not-sent'; why: string }
export type Exchange = Answer | NoAnswer | NotSent

/**
 * @param raw  as undici passes them: name, value, name, value …; for HTTP/2 an object, in which repeated fields are joined as Node's
 * http2 joins them
 */
export function readHeaders(raw: Dispatcher.DispatchController['rawHeaders']): Headers {
  const headers: Headers = []
  if (Array.isArray(raw)) for (let i = 0; i + 1 < raw.length; i += 2) headers.push([text(raw[i]), text(raw[i + 1])])
  else
    for (const [name, value] of Object.entries(raw ?? {}))
      for (const one of Array.isArray(value) ? value : [value]) headers.push([name, String(one ?? '')])
  return headers
}

/** Length of a field as HTTP/1.1 would write it, bytes. */
const lengthOfField = ([name, value]: Headers[number]): number => name.length + value.length + 4

export const lengthOf = (headers: Headers): number => headers.reduce((bytes, field) => bytes + lengthOfField(field), 0)

/** The fields of a large head that an outcome keeps: those, in order, that fit into LARGE_HEAD_BYTES. None is cut: half could mislead. */
export function fieldsThatFit(headers: Headers): Headers {
  let room = LARGE_HEAD_BYTES
  return headers.filter((field) => {
    const bytes = lengthOfField(field)
    if (bytes > room) return false
    room -= bytes
    return true
  })
}

const text = (value: Buffer | string | undefined): string =>
  typeof value === 'string' ? value : (value?.toString('latin1') ?? '')
