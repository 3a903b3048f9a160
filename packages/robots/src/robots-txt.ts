/** What a parsed robots.txt offers. */
import type { Agent } from './agent.ts'
import type { Policy } from './policies.ts'

/** A rule as the site wrote it. `line` is 1-based. */
export interface Rule {
  readonly type: 'allow' | 'disallow'
  readonly pattern: string
  readonly line: number
}

/** The user-agent lines that a verdict rests on: as written, and the line of the first. */
export interface Group {
  readonly agents: readonly string[]
  readonly line: number
}

export type VerdictReason =
  | 'robots.txt' // /robots.txt itself is always allowed
  | 'no-group' // no group names the agent, and there is none for everybody
  | 'no-match' // a group, but none of its rules matches
  | 'empty-rule' // none matches, but the group has a rule without a pattern, which forbids and allows nothing
  | 'rule'

/** The decision alone: what a crawler needs. */
export interface Verdict {
  readonly allowed: boolean
  readonly why: VerdictReason
  readonly rule?: Rule
  readonly group?: Group
}

/** A rule that matched, or would have been in question, and did not decide. */
export interface Loser extends Rule {
  readonly why: 'shorter' | 'tie-allow-wins' | 'tie-line-above-wins'
}

/** The decision, and what it was decided against. */
export interface Explanation extends Verdict {
  /** The path and query that were matched, as compared. */
  readonly path: string
  /** The token whose group was taken; '*' for everybody's; absent when there was none. */
  readonly token?: string
  /** Matching rules that lost, longest first; at most MAX_LOSERS of them. */
  readonly losers: readonly Loser[]
  readonly losersInAll: number
  /** The crawl-delay of the agent, with its source and its clamp. */
  readonly crawlDelay?: DelayExplanation
  /** What is odd about the agent that was given: a browser's User-Agent, with the token that was found in it. */
  readonly agentWarning?: string
}

/** A crawl-delay and where it came from. */
export interface DelayExplanation {
  /** As the site wrote it. */
  readonly seconds: number
  /** The same under the cap of the policy; equal to `seconds` when there is none or it is not reached. */
  readonly clampedSeconds: number
  /** The cap that clamped it; absent when none did. */
  readonly clampedBy?: number
  readonly written: string
  readonly line: number
  readonly token: string
  readonly group: Group
}

export type WarningKind =
  | 'misspelt-field' // read as the field that was meant
  | 'missing-colon' // read as if it stood there
  | 'unknown-field' // a record that this package does not act on
  | 'not-a-record' // a line without a colon, and not of two words
  | 'rule-before-group' // void: no user-agent line above
  | 'delay-before-group' // void likewise
  | 'agent-without-name' // a user-agent line that no crawler can mean
  | 'agent-with-extra' // only the leading token of a user-agent line counts
  | 'unreachable-group' // none of a group's names can be a crawler's
  | 'pattern-without-slash' // begins with neither '/' nor '*'
  | 'pattern-not-encoded' // holds octets that no URL holds as they are
  | 'crawl-delay-unusable' // no number of seconds
  | 'sitemap-unusable' // no absolute http(s) URL; `sitemapsAt` reads relative ones
  | 'line-too-long' // what is beyond 16,663 octets of a line does not exist
  | 'over-limit' // what is beyond 500 KiB is not read
  | 'too-many-rules' // what is beyond 20,000 rules does not count
  | 'looks-like-html' // a page rather than a robots.txt
  | 'not-text' // UTF-16, gzip without Content-Encoding, or something binary
  | 'more-warnings' // how many were left out

/** Something that the owner of the site should know. `line` is 1-based, 0 for the file as a whole. */
export interface Warning {
  readonly line: number
  readonly kind: WarningKind
  readonly text: string
}

/** A record that is reported and not acted on: request-rate, visit-time, host, clean-param, content-signal … */
export interface OtherRecord {
  readonly field: string
  readonly value: string
  readonly line: number
  /** The user-agent lines above it; empty above the first group. */
  readonly agents: readonly string[]
}

/** A group with its rules, in the order of the file. */
export interface GroupWithRules extends Group {
  readonly rules: readonly Rule[]
}

/** A file that answers for one origin alone: `undefined` for a URL of any other. */
export interface OriginRobots {
  readonly origin: string
  isAllowed(url: string | URL, agent: Agent): boolean | undefined
  decide(url: string | URL, agent: Agent): Verdict | undefined
  explain(url: string | URL, agent: Agent): Explanation | undefined
}

/** What `parseRules` gives. Immutable to its callers; safe to keep and to share. */
export interface RobotsRules {
  /** May this agent fetch this URL (absolute, or a path)? */
  isAllowed(url: string | URL, agent: Agent): boolean
  /** The same, with the rule and the group that decided. */
  decide(url: string | URL, agent: Agent): Verdict
  /** Seconds as the site wrote them, the largest when there are several; undefined when there is none for this agent. */
  crawlDelay(agent: Agent): number | undefined
  /** Absolute http(s) URLs as written, in the order of the file. */
  readonly sitemaps: string[]
}

/** A parsed file. Immutable to its callers; safe to keep and to share. */
export interface RobotsTxt extends RobotsRules {
  /** The same, with the losers. Slower: it looks at every rule that matches. */
  explain(url: string | URL, agent: Agent): Explanation
  /**
   * Seconds as the site wrote them, the largest when there are several; undefined when there is none for this agent.
   * With `clamped`, under the cap of the policy (`maxCrawlDelay`).
   */
  crawlDelay(agent: Agent, options?: { readonly clamped?: boolean }): number | undefined
  /** The groups of the file, each with its rules. */
  groups(): IterableIterator<GroupWithRules>
  /** The rules of the group that counts for this agent, in the order of the file. */
  rules(agent: Agent): IterableIterator<Rule>
  /** The same file for one origin (`https://host[:port]`, or any URL of it). @throws TypeError  no such URL */
  forOrigin(origin: string | URL): OriginRobots
  /**
   * All sitemaps as absolute URLs, in the order of the file: relative ones are read against its URL.
   * @param url  of the file, or of any page that it is for
   */
  sitemapsAt(url: string | URL): string[]
  /** What the owner of the site should know, at most 100 and the count of the others; `kind` is a closed list. */
  readonly warnings: Warning[]
  /** Records that are reported and not acted on, at most 1,000, each with the user-agent lines above it. */
  readonly records: OtherRecord[]
  /** The crawl-delay of this agent with its origin: the line, the text, and the token whose group holds it. */
  explainDelay(agent: Agent): DelayExplanation | undefined
  /** The file as the parser understood it, in plain records; two files with the same rules print the same. */
  toString(): string
  /** The policy under which this view reads the file, or one that reads alike. */
  readonly policy: Policy
  /** The same file read under another policy: nothing is parsed again. */
  under(policy: Policy): RobotsTxt
}
