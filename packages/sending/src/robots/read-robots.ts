/** Turns an answer to a robots.txt into an event for the origin's state, with the rules if it contained any. */

import { hash } from 'node:crypto'
import { type Clock, codingsOf, linesOf, single } from '@decorum/protocol'
import { isCutShort, ROBOTS_MAX_BYTES, type RobotsEvent, readRetryAfter, type UnansweredReason } from '@decorum/robots'
import { defined } from '@decorum/runtime'
import type { Answer } from '../http/answer.ts'
import { decode } from '../http/decode.ts'
import { freshForMs } from './freshness.ts'

/** The result of reading. `bytes`: the decoded body of a good answer, at most one byte more than ROBOTS_MAX_BYTES. */
export type RobotsReading = { event: RobotsEvent; what: string; detail: string; bytes?: Uint8Array }

export type ReadTools = {
  /** its `random` spreads the times of the next tries */
  clock: Clock
}

/**
 * Reads the last answer of a chain of redirects. Only a complete body that decodes counts, because half a file could lack the rule
 * that forbids.
 * @param isFirst        no redirect came before it
 * @param isConditional  the first request had a validator
 */
export async function readRobots(
  answer: Answer,
  { isFirst, isConditional }: { isFirst: boolean; isConditional: boolean },
  { clock }: ReadTools,
): Promise<RobotsReading> {
  const { status, headers, truncated, body } = answer
  const { retryAfterUnread: _, ...retry } = readRetryAfter(linesOf(headers, 'retry-after'))
  const unanswered = (reason: UnansweredReason, detail: string): RobotsReading => ({
    what: reason,
    detail,
    event: { kind: 'unanswered', reason, ...retry, jitter: clock.random() },
  })
  // A validator belongs to the URL that sent it. The next robots fetch starts at the first URL of the chain again, where a
  // validator of another URL could confirm a copy that the first one never sent.
  const etag = isFirst ? validator(headers, 'etag') : undefined
  const lastModified = isFirst ? validator(headers, 'last-modified') : undefined
  const event: Extract<RobotsEvent, { kind: 'answered' }> = {
    kind: 'answered',
    status,
    jitter: clock.random(),
    ...retry,
    ...defined({ freshForMs: freshForMs(headers), etag, lastModified }),
  }
  const failure = { what: `status-${Math.floor(status / 100)}xx`, detail: `status ${status}` }
  if (status < 200 || status > 299) {
    // A 304 confirms the copy only as the answer to the conditional request, which is the first of the chain.
    return status === 304 && !(isFirst && isConditional)
      ? unanswered('protocol', 'a 304 to an unconditional request')
      : { ...failure, event }
  }
  if (truncated === 'time') return unanswered('timeout', 'the body was not complete in time')
  if (truncated === 'disconnect') return unanswered('reset', 'the body broke off')
  try {
    const decoded = await decode(body.read(), codingsOf(headers), READ_BYTES, truncated === '')
    answer.tolerated.push(...decoded.tolerated)
    if (decoded.cut === 'coding') return unanswered('decoding', 'the body ends before its content coding does')
    // A page with a wrong checksum is read, as browsers do. Damaged rules could lack the one that forbids.
    if (decoded.tolerated.includes('coding-bad-checksum'))
      return unanswered('decoding', 'the checksum behind the content coding is not that of the data')
    const bytes = decoded.cut === 'ratio' || truncated === 'length' ? wholeLines(decoded.bytes) : decoded.bytes
    if (isCutShort(bytes)) return unanswered('decoding', 'gzip that no Content-Encoding names, and without its end')
    return { ...failure, bytes, event: { ...event, hash: hash('sha256', bytes, 'hex').slice(0, 32) } }
  } catch (error) {
    return unanswered('decoding', (error as Error).message)
  }
}

/** One byte above the limit: from it the parser sees that the line at the limit was cut, and drops that line. */
const READ_BYTES = ROBOTS_MAX_BYTES + 1

/** Drops a line that was cut before the limit of the rules: half a line could say the opposite. */
function wholeLines(bytes: Buffer): Buffer {
  if (bytes.length >= READ_BYTES) return bytes // the parser drops it
  return bytes.subarray(0, Math.max(bytes.lastIndexOf(0x0a), bytes.lastIndexOf(0x0d)) + 1)
}

/** A validator is sent back as received, so it must be valid in a header. */
function validator(headers: readonly [string, string][], name: string): string | undefined {
  const value = single(headers, name)
  return value != null && value.length > 0 && value.length <= 256 && /^[\x20-\x7e]+$/.test(value) ? value : undefined
}
