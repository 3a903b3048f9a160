/** What an audit finds: the shape of `--json`. */

/** The ways of being impolite. */
export const OFFENCES = {
  overlap: 'a request began while another of its lane was open',
  'short-silence': 'a request came before the silence owed was over',
  forbidden: 'the rules in force forbid the URL',
  'before-rules': 'a page was asked for before robots.txt had been answered',
  'rules-unreachable': 'a page was asked for while robots.txt was unreachable',
  'in-back-off': 'a request came before a Retry-After was over',
  'rules-too-old': 'a page was asked for under rules that were due to be asked for again',
  'robots-overlap': 'two fetches of one robots.txt were open at once',
  'robots-too-often': 'robots.txt was asked for again too soon',
  'pace-group': 'a request came while the clock that several lanes share was shut',
} as const
export type Offence = keyof typeof OFFENCES

/** One offence: who, where, when, and the figures that show it. */
export type Violation = {
  offence: Offence
  visitor: string
  origin: string
  path: string
  /** ms since 1970 UTC, of the record */
  at: number
  /** in words, with the figures */
  because: string
}

export type LaneReport = {
  visitor: string
  origin: string
  requests: number
  robots: number
  /** least of (silence kept − silence owed), ms; absent with fewer than two requests, or when all overlap */
  smallestSlackMs?: number
  /** most and least silence owed, ms */
  owedMs: { least: number; most: number }
  /** requests that the visitor gave up */
  cut: number
  offences: Partial<Record<Offence, number>>
}

export type Report = {
  requests: number
  /** of visitors that were not to be judged */
  leftOut: number
  /** page requests whose rules the record does not hold */
  unjudged: number
  /** requests made on a redirect of another origin's robots.txt, and how many of them a strict reader would object to */
  guests: { requests: number; atBadTime: number }
  visitors: string[]
  origins: number
  /** first start to last end, ms */
  spanMs: number
  /** robots.txt fetches (whole redirect chains): all, and the most that one origin got from one party */
  robotsFetches: { all: number; most: number; mostAt?: string }
  /** groups with a clock of their own that were visited at more than one origin; absent when none were to be judged */
  paceGroups?: number
  statuses: Record<string, number>
  smallestSlackMs?: number
  tolerance: { silenceMs: number; afterCutMs: number; ruleChangeMs: number }
  violations: Record<Offence, number>
  total: number
  /** the first of each offence, in order of time */
  examples: Violation[]
  lanes: LaneReport[]
}
