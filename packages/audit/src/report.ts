/** The result of an audit: the shape of `--json`. schema.ts is the same for programs. */
import type { Offence } from './offences.ts'

/** One offence: who, where, when, and its figures. */
export type Violation = {
  offence: Offence
  agent: string
  origin: string
  path: string
  /** ms since 1970 UTC, of the record */
  at: number
  /** in words, with the figures */
  because: string
  /** the line of the log, and the line of the earlier exchange that makes it an offence */
  line: LogLine
  after?: LogLine
}

/** `text`: as in the log, if it could be read again. */
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

/** Rules by which pages were judged: one body of one origin. */
export type RulesReport = {
  origin: string
  /** when it was first answered, ms since 1970 UTC */
  at: number
  /** the file, line by line: the first line is line 1 */
  lines: string[]
  /** lines that were left out at the end */
  linesLeftOut: number
  /** how often each line disallowed a URL that was requested */
  broken: { line: number; times: number }[]
}

/** The lines that were set aside, and why. */
export type SetAside = {
  /** lines that could not be read as a request */
  lines: number
  byReason: Record<string, number>
  examples: { file: string; line: number; why: string; text: string }[]
}

export type LogReport = { file: string; format: string; requests: number; notes: string[] }

/** A lane to draw: exchanges when there are few, counts per bucket when there are many. */
export type LaneTimeline = {
  agent: string
  origin: string
  from: number
  to: number
  exchanges: { start: number; end: number; path: string; status: number; offences: Offence[] }[]
  /** of equal length between from and to; empty if exchanges are given */
  buckets: { requests: number; violations: number }[]
}

export type Report = {
  /** version of this shape */
  version: 1
  verdict: 'clean' | 'violations' | 'partly-judged'
  requests: number
  /** requests of agents that were not to be judged */
  leftOut: number
  /** pages that could not be judged: their rules are not in the record, or the clock was set back */
  unjudged: number
  unjudgedBecause: { noRules: number; clock: number }
  setAside: SetAside
  /** lines without an HTTP request, as from port scanners */
  noRequest: number
  logs: LogReport[]
  /** all, or the 10,000 with most violations and requests */
  agents: AgentReport[]
  origins: number
  /** first start and last end, ms since 1970 UTC */
  from: number
  to: number
  spanMs: number
  /** robots fetches (each with its hops): all, and the largest number for one origin and party */
  robotsFetches: { all: number; most: number; mostAt?: string }
  /** requests that followed a redirect of a robots.txt, and how many of them went to another origin than the first request */
  hops: { requests: number; elsewhere: number }
  /** groups in which more than one origin was requested; absent when no groups were given */
  paceGroups?: number
  /** emergency stops that were judged; absent when none were given */
  stops?: number
  /** whether policies of sites were judged; absent when none were given */
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
