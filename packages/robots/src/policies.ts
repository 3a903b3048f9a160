/**
 * Profiles as data: how a file is parsed (readings.ts), the meaning of an answer, how long an outage forbids, and when robots.txt is
 * fetched again. Sources per row: RFC 9309; Google's page of 2022 and of today; Cốc Cốc's page. `docs/spec/robots.md` §3 to §6 is the
 * table.
 */

import { type ProfileName, type Reading, readings } from './readings.ts'

/**
 * The kinds of answers, as finely as any policy distinguishes them.
 * ok 200 · success 201–299 but 206 · partial 206 · forbidden 401, 403 · missing other 4xx · too-many-requests 429 ·
 * server-error 5xx but 503 · busy 503 · other 1xx, 3xx, above 599 · no-answer DNS, connect, TLS, time-out, reset,
 * broken framing or coding · too-many-redirects · bad-redirect a loop, or a hop to a blocked address, port or scheme.
 */
export type AnswerKind =
  | 'ok'
  | 'success'
  | 'partial'
  | 'forbidden'
  | 'missing'
  | 'too-many-requests'
  | 'server-error'
  | 'busy'
  | 'other'
  | 'no-answer'
  | 'too-many-redirects'
  | 'bad-redirect'

/** obey: the body has the rules. open: no restriction. unreachable: the rules are unknown, so the outage windows apply. */
export type Meaning = 'obey' | 'open' | 'unreachable'

/** A profile. Plain data: `{ ...policies.decorum, firstRetryMs: 5_000 }` is also a policy. */
export interface Policy extends Reading {
  readonly name: string

  readonly answers: Readonly<Record<AnswerKind, Meaning>>

  /** Everything is refused for this long after the first failure … */
  readonly denyForMs: number
  /** … then, until this long after the first failure, the last good copy is in force; without a copy, `withoutCopy` … */
  readonly staleForMs: number
  readonly withoutCopy: 'refuse' | 'open'
  /** … and after that: */
  readonly afterwards: 'refuse' | 'open' | 'copy-or-open' | 'open-if-site-answers'
  /** 'open-if-site-answers': maximum age of the last good page answer. */
  readonly siteAnsweredForMs: number

  /** Wait before the k-th retry of an outage: first · 2^(k−1), at most longest; busy (503) has a separate pair, never slower than this. */
  readonly firstRetryMs: number
  readonly longestRetryMs: number
  readonly firstBusyRetryMs: number
  readonly longestBusyRetryMs: number
  /** A retry is delayed by up to this share, never advanced. */
  readonly jitterShare: number

  /** A good answer is fresh for as long as its cache headers say, within [least, most]; most when they are absent (RFC 9309 §2.4). */
  readonly leastFreshMs: number
  readonly mostFreshMs: number
  /** After this share of the freshness robots.txt is fetched again, while the copy is still in force. */
  readonly refreshAtShare: number
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Longer than any crawl, and still an integer that JSON can hold. */
const FOREVER = Number.MAX_SAFE_INTEGER

const answersByRfc: Record<AnswerKind, Meaning> = {
  ok: 'obey',
  success: 'obey', //                     §2.3.1.1 "successful access": any 2xx
  partial: 'obey',
  forbidden: 'open', //                   §2.3.1.3 unavailable: 400–499
  missing: 'open',
  'too-many-requests': 'open',
  'server-error': 'unreachable', //       §2.3.1.4
  busy: 'unreachable',
  other: 'unreachable', //                draft-koster-rep-00: undefined statuses
  'no-answer': 'unreachable',
  'too-many-redirects': 'open', //        §2.3.1.2
  'bad-redirect': 'unreachable',
}

const rfc9309: Policy = {
  name: 'rfc9309',
  ...readings.rfc9309,
  answers: answersByRfc,
  denyForMs: DAY,
  staleForMs: 30 * DAY,
  withoutCopy: 'refuse',
  afterwards: 'open',
  siteAnsweredForMs: DAY,
  firstRetryMs: MINUTE,
  longestRetryMs: HOUR,
  firstBusyRetryMs: 30 * SECOND,
  longestBusyRetryMs: 5 * MINUTE,
  jitterShare: 0.1,
  leastFreshMs: 5 * MINUTE,
  mostFreshMs: DAY,
  refreshAtShare: 0.8,
}

const google: Policy = {
  ...rfc9309,
  name: 'google',
  ...readings.google,
  answers: { ...answersByRfc, 'too-many-requests': 'unreachable', 'bad-redirect': 'open' },
  denyForMs: 12 * HOUR,
  withoutCopy: 'open',
  afterwards: 'open-if-site-answers',
}

const decorum: Policy = {
  ...rfc9309,
  name: 'decorum',
  ...readings.decorum,
  answers: { ...answersByRfc, partial: 'unreachable', 'too-many-requests': 'unreachable' },
  denyForMs: 12 * HOUR,
  afterwards: 'refuse',
}

/** The profiles by name; `decorum` is the default. */
export const policies: Readonly<Record<ProfileName, Policy>> = {
  decorum,
  rfc9309,
  google,
  'google-2022': { ...google, name: 'google-2022', denyForMs: 30 * DAY, afterwards: 'copy-or-open' },
  coccoc: {
    ...rfc9309,
    name: 'coccoc',
    ...readings.coccoc,
    // "Any answer other than 200 OK": no restriction. No answer: the site is deferred for a while.
    answers: {
      ...answersByRfc,
      success: 'open',
      partial: 'open',
      'server-error': 'open',
      busy: 'open',
      other: 'open',
      'bad-redirect': 'open',
    },
    denyForMs: FOREVER,
    staleForMs: FOREVER,
    afterwards: 'refuse',
  },
}
