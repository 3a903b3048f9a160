/** What one judgement is given: the options, and the exchanges as they have been read. */
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
  /** how long after an answer another lane's request may still rest on what was known before it, ms (1000) */
  ruleChangeMs?: number
  /** first retry of an unreachable robots.txt, when not the policy's, ms */
  robotsRetryMs?: number
  /** lanes that share a delay; absent: each lane is judged by itself alone */
  paceGroups?: PaceGroups
  /** emergency stops of the fleet; absent: none is known */
  stops?: readonly StopLine[]
  /** policies of sites, as the fleet's configuration had them; absent: none is known */
  sitePolicies?: SitePolicies
  /** examples kept of each offence (20) */
  examples?: number
  /** the record goes on where an older one ended: rules may be known from there for a day */
  continues?: boolean
  /** bodies of rules by origin, for logs that hold none */
  robotsByOrigin?: RobotsByOrigin
  /** lanes that are drawn in the report (0) */
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
