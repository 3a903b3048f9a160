/** What an answer to a robots.txt says about its origin: an event for the origin's state, with the rules when it brought any. */

import { hash } from 'node:crypto'
import { single } from '@decorum/protocol'
import { ROBOTS_MAX_BYTES, type RobotsEvent, readRetryAfter, type UnansweredReason } from '@decorum/robots'
import { defined } from '@decorum/runtime'
import type { Answer } from '../http/answer.ts'
import { codingOf, decode } from '../http/decode.ts'
import { freshForMs } from './freshness.ts'

/** What was read. `bytes`: the decoded body of a good answer, at most one byte more than ROBOTS_MAX_BYTES. */
export type RobotsReading = { event: RobotsEvent; what: string; detail: string; bytes?: Uint8Array }

export type ReadTools = {
  /** [0, 1), for the time of the next try */
  jitter: () => number
}

/**
 * The last answer of a chain of redirects. Only a complete body that decodes counts, because half a file could lack the rule
 * that forbids.
 * @param isFirst        no redirect came before it
 * @param isConditional  the first request had a validator
 */
export async function readRobots(
  { status, headers, truncated, body }: Answer,
  { isFirst, isConditional }: { isFirst: boolean; isConditional: boolean },
  { jitter }: ReadTools,
): Promise<RobotsReading> {
  const retry = readRetryAfter(single(headers, 'retry-after') ?? undefined)
  const unanswered = (reason: UnansweredReason, detail: string): RobotsReading => ({
    what: reason,
    detail,
    event: { kind: 'unanswered', reason, ...retry, jitter: jitter() },
  })
  // A validator belongs to the URL that sent it. The next robots fetch starts at the first URL of the chain again, where a
  // validator of another URL could confirm what the first one never said.
  const etag = isFirst ? validator(headers, 'etag') : undefined
  const lastModified = isFirst ? validator(headers, 'last-modified') : undefined
  const event: Extract<RobotsEvent, { kind: 'answered' }> = {
    kind: 'answered',
    status,
    jitter: jitter(),
    ...retry,
    ...defined({ freshForMs: freshForMs(headers), etag, lastModified }),
  }
  const said = { what: `status-${Math.floor(status / 100)}xx`, detail: `status ${status}` }
  if (status < 200 || status > 299) {
    // A 304 confirms the copy only as the answer to the conditional request, which is the first of the chain.
    return status === 304 && !(isFirst && isConditional)
      ? unanswered('protocol', 'a 304 to an unconditional request')
      : { ...said, event }
  }
  if (truncated === 'time') return unanswered('timeout', 'the body was not complete in time')
  if (truncated === 'disconnect') return unanswered('reset', 'the body broke off')
  try {
    const coding = codingOf(single(headers, 'content-encoding'))
    const decoded = await decode(body.read(), coding, READ_BYTES, truncated === false)
    const bytes = decoded.cut === 'ratio' || truncated === 'length' ? wholeLines(decoded.bytes) : decoded.bytes
    return { ...said, bytes, event: { ...event, hash: hash('sha256', bytes, 'hex').slice(0, 32) } }
  } catch (error) {
    return unanswered('decoding', (error as Error).message)
  }
}

/** One byte more than counts: it tells the parser that the line at the limit was cut, so that it is dropped. */
const READ_BYTES = ROBOTS_MAX_BYTES + 1

/** Drops a line that was cut before the limit of the rules: half a line could say the opposite. */
function wholeLines(bytes: Buffer): Buffer {
  if (bytes.length >= READ_BYTES) return bytes // the parser drops it
  return bytes.subarray(0, Math.max(bytes.lastIndexOf(0x0a), bytes.lastIndexOf(0x0d)) + 1)
}

/** A validator is sent back as it came, so it has to be something that can be sent in a header. */
function validator(headers: readonly [string, string][], name: string): string | undefined {
  const value = single(headers, name)
  return value != null && value.length > 0 && value.length <= 256 && /^[\x20-\x7e]+$/.test(value) ? value : undefined
}
