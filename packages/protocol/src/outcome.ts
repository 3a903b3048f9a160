/** ⑥ The outcome of a candidate: exactly one terminal outcome each (stream `outcomes`, field `o` = this as JSON). */

import { DEFAULT_CRAWL } from './crawl-name.ts'
import { isRecord } from './json.ts'
import type { FailureReason, Gate, InvalidReason, OutcomeKind, RefusedReason } from './reasons.ts'
import type { Tolerated } from './tolerated.ts'

export type { Tolerated }

export type RuleRef = { rule: string; line: number; group: string[] }
/**
 * The place of the exchange in the archive, in bytes; the range alone is a readable gzip member. `ref` is the same in one line that can be
 * resolved without other data (`openContent` of `@decorum/content`, `GET /v1/content?ref=` of fetchers and console). Only WARC archives
 * have one; outcomes of older fetchers have none.
 */
export type ArchiveRef = { file: string; offset: number; length: number; ref?: string }

/**
 * '' instead of false for a complete body: each member of an outcome has values of one JSON type, because programs that read tables infer
 * the type from the first lines.
 */
export const TRUNCATED = ['', 'length', 'time', 'disconnect', 'type'] as const
export type Truncated = (typeof TRUNCATED)[number]

/** The statements of a page in its headers and, for HTML, in its head. An absent member was not stated. */
export type PageStatements = {
  /** from X-Robots-Tag and meta robots, those for all agents and for this one: `noindex`, `nofollow`, `noarchive` …, sorted */
  robots?: string[]
  /** http or https, absolute, without fragment */
  canonical?: string
  /** a language tag in lower case */
  language?: string
  /** for HTML the encoding in which the page is read, otherwise that of Content-Type; in lower case */
  charset?: string
}

export type OutcomeBody =
  | {
      kind: 'fetched'
      status: number
      /** as received, in order, with their case */
      headers: [string, string][]
      /** bytes of the body on the wire: without the chunk frames, in its content coding */
      bytes: number
      /**
       * bytes after content decoding; without a coding the same as `bytes`, for a truncated body the readable part. Absent when it does not
       * decode, its coding is none of gzip, deflate, br, zstd, or it grew a hundredfold
       */
      decodedBytes?: number
      /** '': the body is complete; else why not. type: its Content-Type is not in the candidate's `accept`, so its body was not read */
      truncated: Truncated
      /** `sha1:` + base32 of the body's bytes on the wire, in the format of WARC payload digests */
      digest: string
      /** instant, ms since 1970 UTC, on the same clock as `at` */
      startedAt: number
      ms: number
      address: string
      archive?: ArchiveRef
      says?: PageStatements
      /** faults of the answer that were overlooked, as browsers do; absent: none */
      tolerated?: Tolerated[]
      /** the site answered 304 to the validators of the candidate, or with the bytes of its `knownDigest`; the page is not kept again */
      unchanged?: true
      /** the target of a redirect that the candidate wanted reported */
      to?: string
      /** durations of the phases, whole ms; a phase is absent when it did not take place (kept connection, IP literal) */
      timing?: { dnsMs?: number; connectMs?: number; tlsMs?: number; firstByteMs?: number; totalMs: number }
      /** `http/1.0`, `http/1.1` or `h2`; over TLS also its version, e.g. `TLSv1.3` */
      protocol?: string
      tls?: string
    }
  /** `candidate` is the id of the new candidate for `to` */
  | { kind: 'redirected'; status: number; to: string; candidate: string; tolerated?: Tolerated[] }
  | ({ kind: 'disallowed' } & RuleRef)
  /** with the status of the answer, if there was one, and its overlooked faults */
  | { kind: 'failed'; reason: FailureReason; status?: number; detail: string; tolerated?: Tolerated[] }
  | { kind: 'expired'; reason: Gate }
  | { kind: 'invalid'; reason: InvalidReason; detail?: string }
  | { kind: 'refused'; reason: RefusedReason }

/** Does not compile when an explained kind has no body, or the other way round. */
type SameKinds = [OutcomeKind] extends [OutcomeBody['kind']]
  ? [OutcomeBody['kind']] extends [OutcomeKind]
    ? true
    : false
  : false
true satisfies SameKinds

export type Outcome = OutcomeBody & {
  id: string
  url: string
  agent: string
  /** instant of writing, ms since 1970 UTC */
  at: number
  /** requests made for this candidate */
  attempts: number
  /** absent: the crawl `default` */
  crawl?: string
  meta?: Record<string, unknown>
}

/** The candidate of an outcome, when it ended, and after how many requests. */
export type OutcomeAbout = Omit<Outcome, keyof OutcomeBody | 'meta' | 'crawl'> & {
  crawl?: string | undefined
  meta?: Outcome['meta'] | undefined
}

/** The outcome of one candidate. `body` must not be used afterwards: the fields are added to it. */
export function outcomeOf({ id, url, agent, at, attempts, crawl, meta }: OutcomeAbout, body: OutcomeBody): Outcome {
  const outcome: Outcome = Object.assign(body, { id, url, agent, at: Math.round(at), attempts })
  if (crawl !== undefined && crawl !== DEFAULT_CRAWL) outcome.crawl = crawl
  if (meta !== undefined) outcome.meta = meta
  return outcome
}

/**
 * Parses an outcome from JSON, also of an earlier version, in which `truncated` was false for a complete body; undefined: the text holds
 * none.
 */
export function readOutcome(text: string): Outcome | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isRecord(value) || !('id' in value)) return undefined
  if (value.truncated === false) value.truncated = ''
  return value as Outcome
}
