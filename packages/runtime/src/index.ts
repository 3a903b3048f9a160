/** What every role process has around its work. Start at `openHealthServer`; `supervise` runs a role in several processes. */
export { CRASH_POINTS, type CrashPoint, crashPoint, crashPointSoon, watchCrashPoints } from './crash-point.ts'
export { closeWithin } from './deadline.ts'
export { defined } from './defined.ts'
export { answersHealth, openHealthServer } from './health-server.ts'
export { keepDoing } from './housekeeping.ts'
export { listenError } from './listen-error.ts'
export { forPeople, lineForPeople, roleLog } from './log.ts'
export { counterOf, gaugeOf, gaugesOf, ledgerMetrics, processMetrics } from './metrics.ts'
export { outages } from './outage.ts'
export { Problem } from './problem.ts'
export { logOutages } from './redis.ts'
export { retry } from './retry.ts'
export { passed, type Since, sinceNow } from './since.ts'
export { type SupervisedRole, supervise } from './supervise.ts'
export { type Role, runSupervised } from './supervised.ts'
export { type OpenSpan, openTraces, type Traces } from './traces.ts'
export { endIfUnfit } from './unfit.ts'

/** What the `main` of a service returns: the port of its health server, and how to stop it in order. */
export type RunningService = {
  port: number
  stop(): Promise<void>
  /** what is in flight may take so long when it is asked to stop */
  drainMs?: number
}
