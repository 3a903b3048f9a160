/**
 * Turns for requests whose URLs are not stored: a caller waits in line with everybody else at the site, and is granted the leases of
 * one request. The permits service passes these leases on over HTTP; the proxy itself sends under them. Start at `openLines`; attempt.ts
 * is one attempt.
 */
export { admit, type Wish } from './admission.ts'
export {
  type Attempt,
  attempt,
  closedSince,
  forbidden,
  type Gate,
  type Granted,
  type GrantingTools,
  requestRobots,
  STOPPED_WAIT_MS,
  unreachableFor,
} from './attempt.ts'
export { agentOf, grantingTools, openLines } from './granting.ts'
export { type Housekeeping, startHousekeeping } from './housekeeping.ts'
export { openRobotsOrders } from './open-orders.ts'
export type { Judged } from './origins.ts'
export { Problem, type ProblemType } from './problem.ts'
export type { RobotsOrders } from './robots-orders.ts'
export { ANYBODY, checkCrawl, mayBe, permitTokens, type Token, tokenGiven } from './tokens.ts'
export { type Answer, type Caller, GoneError, type Lines, MOST_WAITING, type Refusal } from './waiting.ts'
