/** How each profile parses a file, as data. policies.ts has the meaning of a site's answers. */
import type { Grammar } from './line.ts'

/** How a file is parsed. A `Policy` includes this. */
export interface Reading {
  /**
   * The grammar of lines. 'google', as google/robotstxt: a NUL ends its line, VT and FF are blanks, a key that begins with a known one
   * (`disallowed:`) counts as that one, and bytes that are not UTF-8 text are parsed unchanged. 'rfc9309': UTF-16, and gzip without
   * Content-Encoding, are unpacked first.
   */
  readonly grammar: Grammar
  /** 'dashes': a name without a group falls back along its dashes (coccocbot-web → coccocbot → *). */
  readonly agentFallback: 'exact' | 'dashes'
  /**
   * 'unreserved': both sides decode %-encoded unreserved characters and encode those that no URL contains, and %2A, %24 are the literal
   * characters (RFC 9309 §2.2.2, §2.2.3). 'as-written': the URL stays unchanged and a pattern only gets upper-case hex, as in
   * google/robotstxt.
   */
  readonly encoding: 'unreserved' | 'as-written'
  /**
   * Whether `disallow: about` is read as `disallow: /about`. Strictly by RFC 9309 it is no rule (docs/decisions/0030-written-otherwise.md).
   */
  readonly slashIsMeant: boolean
  /** Whether trailing `*` count as bytes of a pattern. google/robotstxt counts them, which decides ties. */
  readonly trailingStarCounts: boolean
  /** Whether `allow: …/index.htm[l]` also allows its folder, as in google/robotstxt. */
  readonly indexOpensFolder: boolean
  /** Whether the profile obeys crawl-delay. If false, an agent obeys it only with `honourCrawlDelay`. */
  readonly crawlDelay: boolean
  /** Maximum crawl-delay in seconds; absent: the policy has no maximum. */
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
  // This reading has every field of `Reading`, the optional maximum too: view.ts compares the fields that it has.
  coccoc: { ...decorum, maxCrawlDelay: 10 }, // "more than 10 seconds: 10 seconds"
}
