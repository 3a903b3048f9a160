/** How each profile reads a file, as data. What it makes of the answers of a site is in policies.ts. */
import type { Grammar } from './line.ts'

/** How a file is read. A `Policy` is one, and knows more besides. */
export interface Reading {
  /**
   * How lines are read. 'google', as google/robotstxt: a NUL ends its line, VT and FF are blanks, a key that begins
   * with a known one (`disallowed:`) is taken for it, and octets that are no UTF-8 text are read as they are. 'rfc9309': UTF-16, and
   * gzip that nothing names, are read for what is inside.
   */
  readonly grammar: Grammar
  /** 'dashes': a name without a group falls back along its own dashes (coccocbot-web → coccocbot → *). */
  readonly agentFallback: 'exact' | 'dashes'
  /**
   * 'unreserved': both sides decode %-encoded unreserved octets and encode those that no URL holds, and %2A, %24 are the literal
   * characters (RFC 9309 §2.2.2, §2.2.3). 'as-written': the URL stays untouched and a pattern only gets upper-case hex, as google/robotstxt does.
   */
  readonly encoding: 'unreserved' | 'as-written'
  /** Is `disallow: about` read as `disallow: /about`? By the letter of RFC 9309 it is no rule (docs/decisions/0030-written-otherwise.md). */
  readonly slashIsMeant: boolean
  /** Do trailing `*` count as octets of a pattern? google/robotstxt counts them, which decides ties. */
  readonly trailingStarCounts: boolean
  /** `allow: …/index.htm[l]` also opens its folder (google/robotstxt). */
  readonly indexOpensFolder: boolean
  /** Does the profile know crawl-delay? When false, an agent keeps it only by `honourCrawlDelay`. */
  readonly crawlDelay: boolean
  /** Seconds above which a crawl-delay is clamped; absent: the policy has no cap. */
  readonly maxCrawlDelay?: number
}

const rfc9309: Reading = {
  grammar: 'rfc9309',
  agentFallback: 'exact',
  encoding: 'unreserved',
  slashIsMeant: false,
  trailingStarCounts: false,
  indexOpensFolder: false,
  crawlDelay: true,
}

const decorum: Reading = { ...rfc9309, agentFallback: 'dashes', slashIsMeant: true }

const google: Reading = {
  grammar: 'google',
  agentFallback: 'exact',
  encoding: 'as-written',
  slashIsMeant: false,
  trailingStarCounts: true,
  indexOpensFolder: true,
  crawlDelay: false,
}

export type ProfileName = 'decorum' | 'rfc9309' | 'google' | 'google-2022' | 'coccoc'

/** The readings by profile; `decorum` is the default. */
export const readings: Readonly<Record<ProfileName, Reading>> = {
  decorum,
  rfc9309,
  google,
  'google-2022': google,
  // The only one with a cap, and so with every field.
  coccoc: { ...decorum, maxCrawlDelay: 10 }, // "more than 10 seconds: 10 seconds"
}
