/** The parts that every role process needs around its work. Start at `openHealthServer`; `supervise` runs a role in several processes. */
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

/** The result of a service's `main`: the port of its health server, and a function that stops it in order. */
export type RunningService = {
  port: number
  stop(): Promise<void>
  /** how long requests in flight may still take when the service is stopped, ms */
  drainMs?: number
}
