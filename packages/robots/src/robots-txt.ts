/** The interface of a parsed robots.txt. */
import type { Agent } from './agent.ts'
import type { Policy } from './policies.ts'

/** A rule as the site wrote it. `line` is 1-based. */
export interface Rule {
  readonly type: 'allow' | 'disallow'
  readonly pattern: string
  readonly line: number
}

/** The user-agent lines on which a verdict is based: as written, and the line of the first. */
export interface Group {
  readonly agents: readonly string[]
  readonly line: number
}

export type VerdictReason =
  | 'robots.txt' // /robots.txt itself is always allowed
  | 'no-group' // no group names the agent, and none is for '*'
  | 'no-match' // a group, but none of its rules matches
  | 'empty-rule' // none matches, but the group has a rule without a pattern, which forbids and allows nothing
  | 'rule'

/** Only the decision, which is enough for a crawler. */
export interface Verdict {
  readonly allowed: boolean
  readonly why: VerdictReason
  readonly rule?: Rule
  readonly group?: Group
}

/** A rule that matched, or could have, and did not decide. */
export interface Loser extends Rule {
  readonly why: 'shorter' | 'tie-allow-wins' | 'tie-line-above-wins'
}

/** The decision, and the rules that lost. */
export interface Explanation extends Verdict {
  /** The path and query that were matched, as compared. */
  readonly path: string
  /** The token whose group was used; '*' for the group for all; absent when there was none. */
  readonly token?: string
  /** Matching rules that lost, longest first; at most MAX_LOSERS. */
  readonly losers: readonly Loser[]
  readonly losersInAll: number
  /** The crawl-delay of the agent, with its source and its limit. */
  readonly crawlDelay?: DelayExplanation
  /** A warning about the given agent: a browser's User-Agent, with the token that was found in it. */
  readonly agentWarning?: string
}

/** A crawl-delay and its source. */
export interface DelayExplanation {
  /** As the site wrote it. */
  readonly seconds: number
  /** The same within the maximum of the policy; equal to `seconds` when there is none or it is not reached. */
  readonly clampedSeconds: number
  /** The maximum that reduced it; absent when none did. */
  readonly clampedBy?: number
  readonly written: string
  readonly line: number
  readonly token: string
  readonly group: Group
}

export type WarningKind =
  | 'misspelt-field' // read as the field that was probably meant
  | 'missing-colon' // read as if it were there
  | 'unknown-field' // a record that this package ignores
  | 'not-a-record' // a line without a colon, and not of two words
  | 'rule-before-group' // ignored: no user-agent line above
  | 'delay-before-group' // ignored likewise
  | 'agent-without-name' // a user-agent line that no crawler can match
  | 'agent-with-extra' // only the leading token of a user-agent line counts
  | 'unreachable-group' // none of a group's names can be a crawler's
  | 'pattern-without-slash' // begins with neither '/' nor '*'
  | 'pattern-not-encoded' // contains characters that a URL always encodes
  | 'crawl-delay-unusable' // not a number of seconds
  | 'sitemap-unusable' // not an absolute http(s) URL; `sitemapsAt` reads relative ones
  | 'line-too-long' // bytes of a line beyond 16,663 are ignored
  | 'over-limit' // bytes beyond 500 KiB are not read
  | 'too-many-rules' // rules beyond 20,000 do not count
  | 'looks-like-html' // a page instead of a robots.txt
  | 'not-text' // UTF-16, gzip without Content-Encoding, or binary data
  | 'more-warnings' // the number of warnings left out

/** Advice for the owner of the site. `line` is 1-based, 0 for the file as a whole. */
export interface Warning {
  readonly line: number
  readonly kind: WarningKind
  readonly text: string
}

/** A record that is reported but ignored: request-rate, visit-time, host, clean-param, content-signal … */
export interface OtherRecord {
  readonly field: string
  readonly value: string
  readonly line: number
  /** The user-agent lines above it; empty before the first group. */
  readonly agents: readonly string[]
}

/** A group with its rules, in the order of the file. */
export interface GroupWithRules extends Group {
  readonly rules: readonly Rule[]
}

/** A file for one origin only: `undefined` for a URL of another origin. */
export interface OriginRobots {
  readonly origin: string
  isAllowed(url: string | URL, agent: Agent): boolean | undefined
  decide(url: string | URL, agent: Agent): Verdict | undefined
  explain(url: string | URL, agent: Agent): Explanation | undefined
}

/** The result of `parseRules`. Callers cannot change it; safe to keep and to share. */
export interface RobotsRules {
  /** Whether this agent may fetch this URL (absolute, or a path). */
  isAllowed(url: string | URL, agent: Agent): boolean
  /** The same, with the rule and the group that decided. */
  decide(url: string | URL, agent: Agent): Verdict
  /** Seconds as the site wrote them, the largest when there are several; undefined when there is none for this agent. */
  crawlDelay(agent: Agent): number | undefined
  /** Absolute http(s) URLs as written, in the order of the file. */
  readonly sitemaps: string[]
}

/** A parsed file. Callers cannot change it; safe to keep and to share. */
export interface RobotsTxt extends RobotsRules {
  /** As `decide`, with the rules that lost. Slower: it evaluates every rule. */
  explain(url: string | URL, agent: Agent): Explanation
  /**
   * Seconds as the site wrote them, the largest when there are several; undefined when there is none for this agent. With `clamped`, within
   * the maximum of the policy (`maxCrawlDelay`).
   */
  crawlDelay(agent: Agent, options?: { readonly clamped?: boolean }): number | undefined
  /** The groups of the file, each with its rules. */
  groups(): IterableIterator<GroupWithRules>
  /** The rules of the group that applies to this agent, in the order of the file. */
  rules(agent: Agent): IterableIterator<Rule>
  /** The same file for one origin (`https://host[:port]`, or any URL of it). @throws TypeError  no such URL */
  forOrigin(origin: string | URL): OriginRobots
  /**
   * All sitemaps as absolute URLs, in the order of the file: relative ones are resolved against its URL.
   * @param url  URL of the file, or of any page of its origin
   */
  sitemapsAt(url: string | URL): string[]
  /** Advice for the owner of the site, at most 100 warnings and the number of the others; `kind` is a closed list. */
  readonly warnings: Warning[]
  /** Records that are reported but ignored, at most 1,000, each with the user-agent lines above it. */
  readonly records: OtherRecord[]
  /** The crawl-delay of this agent with its source: the line, the text, and the token of its group. */
  explainDelay(agent: Agent): DelayExplanation | undefined
  /** The file as the parser understood it, in plain records; two files with the same rules print the same. */
  toString(): string
  /** The policy under which this view parses the file, or an equivalent one. */
  readonly policy: Policy
  /** The same file under another policy: it is not parsed again. */
  under(policy: Policy): RobotsTxt
}
