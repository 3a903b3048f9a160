/** What an audit finds: the shape of `--json`. schema.ts is the same for programs. */
import type { Offence } from './offences.ts'

/** One offence: who, where, when, and the figures that show it. */
export type Violation = {
  offence: Offence
  agent: string
  origin: string
  path: string
  /** ms since 1970 UTC, of the record */
  at: number
  /** in words, with the figures */
  because: string
  /** the line of the log, and the line of the exchange that it is held against */
  line: LogLine
  after?: LogLine
}

/** `text`: as the log has it, where it could be read again. */
export type LogLine = { file: string; line: number; text?: string }

export type LaneReport = {
  agent: string
  origin: string
  requests: number
  /** requests for /robots.txt */
  robots: number
  /** least of (delay kept − delay owed), ms; absent with fewer than two requests, or when all overlap */
  smallestSlackMs?: number
  /** least and most delay owed, ms */
  delayMs: { least: number; most: number }
  /** requests that the agent gave up */
  cut: number
  offences: Partial<Record<Offence, number>>
}

export type AgentReport = {
  agent: string
  requests: number
  origins: number
  robots: number
  violations: number
  smallestSlackMs?: number
}

/** Rules that pages were judged by: one body of one origin. */
export type RulesReport = {
  origin: string
  /** when it was first answered, ms since 1970 UTC */
  at: number
  /** the file, line by line: the first line is line 1 */
  lines: string[]
  /** lines that were left out at the end */
  linesLeftOut: number
  /** how often a line of it disallowed a URL that was requested */
  broken: { line: number; times: number }[]
}

/** Why lines or pages were not judged. */
export type SetAside = {
  /** lines that could not be read as a request */
  lines: number
  byReason: Record<string, number>
  examples: { file: string; line: number; why: string; text: string }[]
}

export type LogReport = { file: string; format: string; requests: number; notes: string[] }

/** A lane drawn: exchanges where they are few, counts per bucket where they are many. */
export type LaneTimeline = {
  agent: string
  origin: string
  from: number
  to: number
  exchanges: { start: number; end: number; path: string; status: number; offences: Offence[] }[]
  /** of equal length between from and to; empty where exchanges are given */
  buckets: { requests: number; violations: number }[]
}

export type Report = {
  /** of this shape */
  version: 1
  verdict: 'clean' | 'violations' | 'partly-judged'
  requests: number
  /** requests of agents that were not to be judged */
  leftOut: number
  /** pages that could not be judged: their rules are not in the record, or the clock was set back */
  unjudged: number
  unjudgedBecause: { noRules: number; clock: number }
  setAside: SetAside
  /** lines that hold no HTTP request, as port scanners leave them */
  noRequest: number
  logs: LogReport[]
  /** all, or the 10,000 with most violations and requests */
  agents: AgentReport[]
  origins: number
  /** first start and last end, ms since 1970 UTC */
  from: number
  to: number
  spanMs: number
  /** robots fetches (each with its hops): all, and the most that one origin got from one party */
  robotsFetches: { all: number; most: number; mostAt?: string }
  /** requests made on a redirect of a robots.txt, and how many of them at another origin than the one first asked */
  hops: { requests: number; elsewhere: number }
  /** groups that were visited at more than one origin; absent when none were to be judged */
  paceGroups?: number
  /** emergency stops that were judged; absent when none were given */
  stops?: number
  /** policies of sites were judged; absent when none were given */
  sitePolicies?: true
  statuses: Record<string, number>
  smallestSlackMs?: number
  tolerance: { delayMs: number; afterCutMs: number; ruleChangeMs: number }
  violations: Record<Offence, number>
  total: number
  /** the first of each offence, in order of time */
  examples: Violation[]
  /** at most five, the worst first */
  worst: Violation[]
  /** all, or the 10,000 with most violations and least slack */
  lanes: LaneReport[]
  lanesLeftOut: number
  rules: RulesReport[]
  timelines?: LaneTimeline[]
}
