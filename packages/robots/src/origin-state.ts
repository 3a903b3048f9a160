/**
 * The history of one origin's robots.txt: facts only, no policy, no clock, no name (RFC 9309 §2.3, §2.4; docs/spec/robots.md §7).
 *
 * Agents with different policies share one origin, and their policies disagree on what is a failure (429, 206, 5xx under coccoc). So the
 * state has no 'outage'. For each kind of answer it keeps when it last came, when the next answer of another kind came, and how many came
 * since. Any policy can then compute its own outage exactly: it began with the answer after the last one which that policy does not call a
 * failure. At most twelve short records, whatever is sent.
 */
import { MAX_RETRY_AFTER_MS } from './limits.ts'
import type { AnswerKind } from './policies.ts'
import type { RetryAfter } from './retry-after.ts'

/** Milliseconds since 1970, UTC. */
export type Instant = number

export type UnansweredReason =
  | 'dns'
  | 'nxdomain'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'reset'
  | 'protocol'
  | 'decoding'
  | 'too-many-redirects'
  | 'redirect-loop'
  | 'blocked-address' // the address of the origin itself
  | 'blocked-port'
  | 'blocked-scheme' // of a redirect's target
  | 'blocked-hop' // the address, port or origin of a redirect's target, or a URL that its rules forbid
  | 'no-contact' // the agent names no contact, which a redirect's target requires: its own fault, so it never opens anything
  | 'no-room' // the body could not be stored: a fault of the fleet, so it never opens anything

/** Answers with a body. */
type GoodKind = 'ok' | 'success' | 'partial'

/** A well-fetched body: its content hash, the last time it was confirmed, and its validators. */
export interface Copy {
  readonly kind: GoodKind
  readonly hash: string
  readonly at: Instant
  readonly etag?: string
  readonly lastModified?: string
}

/**
 * One kind of answer: it last came at `at`. The first answer of another kind after it came at `nextAt`; `since` is the number of all
 * answers after it.
 */
export interface Heard {
  readonly at: Instant
  /** Freshness of that last answer, unclamped; absent when its headers had none. */
  readonly freshForMs?: number
  readonly nextAt?: Instant
  readonly since: number
}

/** Facts, JSON-serialisable. Start from `unknownOrigin`; change only with `step`; read with `judge`. */
export interface RobotsState {
  /** A robots fetch is in flight; it ends at `until` at the latest. */
  readonly question?: { readonly fence: number; readonly until: Instant }
  /** The latest answer. */
  readonly answer?: {
    readonly kind: AnswerKind
    readonly at: Instant
    readonly status?: number
    readonly reason?: UnansweredReason
    /** Freshness from the cache headers, unclamped. */
    readonly freshForMs?: number
    readonly jitter: number
  }
  /** The site asked for no robots fetch before this instant. Extended, never shortened, until a good answer. */
  readonly notBefore?: Instant
  /** The latest good body, whichever 2xx it came with; a conditional request has its validators. */
  readonly copy?: Copy
  /** The latest good body of each other kind: policies differ on which of them they obey. */
  readonly olderCopies?: { readonly [kind in GoodKind]?: Copy }
  /** All answers, by kind. */
  readonly heard?: { readonly [kind in AnswerKind]?: Heard }
  /** The first answer, and the number of answers. */
  readonly first?: { readonly at: Instant; readonly count: number }
  /** When a page of this origin last answered well; only a policy with 'open-if-site-answers' reads it. */
  readonly siteAnsweredAt?: Instant
}

export type RobotsEvent =
  | { kind: 'asked'; fence: number; until: Instant }
  | {
      kind: 'answered'
      status: number
      /** Content hash of the body; required for 2xx. */
      hash?: string
      /** From the cache headers, unclamped; absent when they have none. */
      freshForMs?: number
      /** The wait that the site asks for, ms, or its end on the clock of `now`; `step` limits it to a day. */
      retryAfterMs?: number
      retryAfterAt?: Instant
      etag?: string
      lastModified?: string
      /** [0, 1), drawn by the caller. */
      jitter: number
    }
  | { kind: 'unanswered'; reason: UnansweredReason; retryAfterMs?: number; retryAfterAt?: Instant; jitter: number }
  /** Optional: a page of this origin answered well. At most once an hour is enough. */
  | { kind: 'site-answered' }

/** Nothing is known yet. */
export const unknownOrigin: RobotsState = Object.freeze({})

/** The kind of answer for an HTTP status. 304 is not included: whether it renews a copy depends on the state. */
export function kindOfStatus(status: number): AnswerKind {
  if (status === 200) return 'ok'
  if (status === 206) return 'partial'
  if (status > 200 && status < 300) return 'success'
  if (status === 401 || status === 403) return 'forbidden'
  if (status === 429) return 'too-many-requests'
  if (status >= 400 && status < 500) return 'missing'
  if (status === 503) return 'busy'
  if (status >= 500 && status < 600) return 'server-error'
  return 'other'
}

/** The kind of answer for a failed exchange. */
export function kindOfReason(reason: UnansweredReason): AnswerKind {
  if (reason === 'too-many-redirects') return reason
  return reason === 'redirect-loop' || reason.startsWith('blocked-') ? 'bad-redirect' : 'no-answer'
}

/**
 * The state after an event.
 * @param now  when it happened, on the fleet's one clock (Redis)
 * @throws TypeError  a 2xx answer without the hash of its body: the caller's bug, not the site's
 * The caller has already checked the fence: a late answer under a stale fence must not be passed in.
 */
export function step(state: RobotsState, event: RobotsEvent, now: Instant): RobotsState {
  switch (event.kind) {
    case 'asked':
      // A lower fence belongs to a fetch that was overtaken; the one in flight continues.
      return state.question && event.fence < state.question.fence
        ? state
        : { ...state, question: { fence: event.fence, until: event.until } }
    case 'answered':
      return answered(state, event, now)
    case 'unanswered': {
      const kind = kindOfReason(event.reason)
      const answer = { kind, at: now, reason: event.reason, jitter: share(event.jitter) }
      return { ...addAnswer(state, kind, now), answer, ...hold(state, event, now) }
    }
    case 'site-answered':
      return { ...state, siteAnsweredAt: now }
    default:
      return event satisfies never
  }
}

type Answered = Extract<RobotsEvent, { kind: 'answered' }>

function answered(state: RobotsState, event: Answered, now: Instant): RobotsState {
  const confirmed = event.status === 304 ? state.copy : undefined // a 304 to an unconditional request confirms nothing
  const renewed =
    confirmed && (confirmed.etag !== undefined || confirmed.lastModified !== undefined) ? confirmed : undefined
  const kind = renewed ? renewed.kind : kindOfStatus(event.status)
  const freshForMs = event.freshForMs === undefined ? undefined : bounded(event.freshForMs)
  const answer = {
    kind,
    at: now,
    status: event.status,
    ...(freshForMs === undefined ? {} : { freshForMs }),
    jitter: share(event.jitter),
  }
  const base = isDefinite(kind) ? lifted(state) : state
  const next = { ...addAnswer(base, kind, now, freshForMs), answer, ...hold(base, event, now) }
  if (!isGood(kind)) return next

  const hash = renewed ? renewed.hash : event.hash
  if (hash === undefined) throw new TypeError(`answer ${event.status} lacks the hash of its body`)
  const etag = event.etag ?? renewed?.etag
  const lastModified = event.lastModified ?? renewed?.lastModified
  const copy: Copy = {
    kind,
    hash,
    at: now,
    ...(etag === undefined ? {} : { etag }),
    ...(lastModified === undefined ? {} : { lastModified }),
  }
  const older = { ...state.olderCopies, ...(state.copy ? { [state.copy.kind]: state.copy } : {}) }
  delete older[kind]
  const { olderCopies: _, ...rest } = next
  return { ...rest, copy, ...(Object.keys(older).length > 0 ? { olderCopies: older } : {}) }
}

function isGood(kind: AnswerKind): kind is GoodKind {
  return kind === 'ok' || kind === 'success' || kind === 'partial'
}

/** Whether an answer of this kind cancels an earlier Retry-After: the site has answered again, without asking to wait. */
function isDefinite(kind: AnswerKind): boolean {
  return isGood(kind) || kind === 'missing' || kind === 'forbidden'
}

function lifted(state: RobotsState): RobotsState {
  const { notBefore: _, ...rest } = state
  return rest
}

/** A length of time that JSON can hold: a header may have any value, and `Infinity` would be stored as null. */
function bounded(ms: number): number {
  return ms > 0 ? Math.min(ms, 1e15) : 0
}

function share(jitter: number): number {
  return jitter > 0 ? Math.min(jitter, 1) : 0
}

/** Adds an answer of a kind: the record of that kind is reset, the others count one more answer since. The robots fetch has ended. */
function addAnswer(state: RobotsState, kind: AnswerKind, now: Instant, freshForMs?: number): RobotsState {
  const { question: _, ...rest } = state
  const heard: { [kind in AnswerKind]?: Heard } = {}
  for (const [other, record] of Object.entries(state.heard ?? {}) as [AnswerKind, Heard][])
    heard[other] = { ...record, nextAt: record.nextAt ?? now, since: record.since + 1 }
  heard[kind] = { at: now, ...(freshForMs === undefined ? {} : { freshForMs }), since: 0 }
  return { ...rest, heard, first: { at: state.first?.at ?? now, count: (state.first?.count ?? 0) + 1 } }
}

/** Applies a Retry-After to `notBefore`, which is only extended, to at most a day from now, whatever the status. */
function hold(
  state: RobotsState,
  { retryAfterMs = 0, retryAfterAt = 0 }: RetryAfter,
  now: Instant,
): { notBefore?: Instant } {
  const ms = Math.min(Math.max(bounded(retryAfterMs), retryAfterAt - now), MAX_RETRY_AFTER_MS)
  return ms > 0 ? { notBefore: Math.max(state.notBefore ?? 0, now + ms) } : {}
}

/** Content hashes that this state may still need: bodies under any other hash may be deleted. */
export function hashesOf(state: RobotsState): string[] {
  const copies = [state.copy, ...Object.values(state.olderCopies ?? {})]
  return [...new Set(copies.flatMap((copy) => (copy ? [copy.hash] : [])))]
}
