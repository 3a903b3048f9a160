/** The input of one judgement: the options, and the exchanges read so far. */
import type { AgentFinder } from '../agents.ts'
import type { ClockStep, RobotsByOrigin, StopLine } from '../record.ts'
import type { Bodies } from './answers.ts'
import type { Exchanges } from './columns.ts'
import type { PaceGroups } from './judge-groups.ts'
import type { SitePolicies } from './judge-sites.ts'
import type { Lanes } from './lanes.ts'
import type { Meter } from './meter.ts'

export type JudgeOptions = {
  agents: AgentFinder
  /** how long new rules or a Retry-After may take to reach the other agents of the party, ms (1000) */
  ruleChangeMs?: number
  /** wait before the first retry of an unreachable robots.txt, ms; absent: as in the policy */
  robotsRetryMs?: number
  /** lanes that share a delay; absent: each lane is judged alone */
  paceGroups?: PaceGroups
  /** emergency stops of the fleet; absent: unknown */
  stops?: readonly StopLine[]
  /** policies of sites from the fleet's configuration; absent: unknown */
  sitePolicies?: SitePolicies
  /** number of examples kept for each offence (20) */
  examples?: number
  /** the record continues an older one, whose rules may be known for a day */
  continues?: boolean
  /** bodies of rules by origin, for logs without bodies */
  robotsByOrigin?: RobotsByOrigin
  /** number of lanes that are drawn in the report (0) */
  timelines?: number
  /** counts the work, for tests */
  meter?: Meter
}

export type Judged = {
  exchanges: Exchanges
  lanes: Lanes
  bodies: Bodies
  options: JudgeOptions
  leftOut: number
  clockSteps: readonly ClockStep[]
  files: readonly string[]
}
